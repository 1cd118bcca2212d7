//! Whether a value is what a question asks for.
//!
//! A consent is a yes or a no. Options are checked for a selection, and of a JSON Schema what forms are made of: `type`,
//! `enum`, `const`, `required`, `properties`, `additionalProperties: false`, `items` and bounds of
//! lengths and numbers. What else a schema says (`$ref`, `anyOf`, `pattern`) is not judged here.

use selvedge_protocol::journal::Event;
use selvedge_protocol::json::{Node, NodeKind, Raw, same_value};

/// How deep a schema is followed.
const DEPTH: usize = 32;

/// What is wrong with a value, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct Misfit {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

fn misfit(pointer: &str, message: impl Into<String>) -> Misfit {
    Misfit { pointer: pointer.to_owned(), message: message.into() }
}

/// Checks an answer against its question.
pub fn question(asked: &Event<'_>, value: Node<'_, '_>) -> Result<(), Misfit> {
    let options = asked.get("options").filter(|options| options.is_array()).and_then(Raw::doc);
    if let Some(options) = options
        && asked.get("inputType").is_some_and(|ty| ty.is("selection"))
    {
        let many = asked.at("metadata", "/multiple").and_then(|many| many.bool());
        selection(options.root(), many == Some(true), value)?;
    }
    match asked.get("schema").and_then(Raw::doc) {
        Some(own) => schema(own.root(), value, "", DEPTH),
        None if is_consent(asked) => consent(value),
        None => Ok(()),
    }
}

/// Whether nothing but a yes or a no is asked for. Of a budget, it may be said how much more.
fn is_consent(asked: &Event<'_>) -> bool {
    asked.get("inputType").is_some_and(|ty| ty.is("confirmation"))
        && asked.get("options").is_none()
        && asked.at("metadata", "/budget").is_none()
}

/// What is no answer at all must not pass for a no. Any other word than a yes is one.
fn consent(value: Node<'_, '_>) -> Result<(), Misfit> {
    let said = value.bool().or_else(|| value.get("approved")?.bool());
    let word = value.str().is_some_and(|word| !word.trim().is_empty());
    match said.is_some() || word {
        true => Ok(()),
        false => Err(misfit("", "the answer must be true or false")),
    }
}

/// One of the options, or several where that is asked for.
fn selection(options: Node<'_, '_>, many: bool, value: Node<'_, '_>) -> Result<(), Misfit> {
    if options.children().any(|option| is_option(option, value)) {
        return Ok(());
    }
    if !value.is_array() {
        return Err(misfit("", "the answer is none of the options"));
    }
    let count = value.children().count();
    if !many && count != 1 {
        return Err(misfit("", "one option is to be chosen"));
    }
    for (i, chosen) in value.children().enumerate() {
        if !options.children().any(|option| is_option(option, chosen)) {
            return Err(misfit(&format!("/{i}"), "this is none of the options"));
        }
    }
    Ok(())
}

/// Whether a value stands for an option: it is the same, or names what the option is known by.
fn is_option(option: Node<'_, '_>, value: Node<'_, '_>) -> bool {
    let known_by = ["id", "value", "name", "label"];
    let named = |name: &str| {
        let own = option.get(name)?;
        let given = if value.is_object() { value.get(name)? } else { value };
        Some(same_value(own, given))
    };
    // Of an object, the first name that both have decides.
    same_value(option, value)
        || option.is_object()
            && if value.is_object() {
                known_by.iter().find_map(|name| named(name)) == Some(true)
            } else {
                known_by.iter().any(|name| named(name) == Some(true))
            }
}

fn schema(schema: Node<'_, '_>, value: Node<'_, '_>, at: &str, depth: usize) -> Result<(), Misfit> {
    if depth == 0 || !schema.is_object() {
        return Ok(());
    }
    if let Some(types) = schema.get("type") {
        let fits = |ty: Node<'_, '_>| ty.str().is_none_or(|ty| is_type(&ty, value));
        let any = if types.is_array() { types.children().any(fits) } else { fits(types) };
        if !any {
            return Err(misfit(at, format!("expected {}", types.raw())));
        }
    }
    if let Some(all) = schema.get("enum").filter(|all| all.is_array())
        && !all.children().any(|one| same_value(one, value))
    {
        return Err(misfit(at, "this is none of the values that the schema lists"));
    }
    if schema.get("const").is_some_and(|only| !same_value(only, value)) {
        return Err(misfit(at, "this is not the value that the schema names"));
    }
    bounds(schema, value, at)?;
    match value.kind() {
        NodeKind::Object => members(schema, value, at, depth),
        NodeKind::Array => match schema.get("items") {
            Some(items) => value.children().enumerate().try_for_each(|(i, item)| {
                self::schema(items, item, &format!("{at}/{i}"), depth - 1)
            }),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn members(
    schema: Node<'_, '_>,
    value: Node<'_, '_>,
    at: &str,
    depth: usize,
) -> Result<(), Misfit> {
    for name in schema.get("required").into_iter().flat_map(Node::children) {
        let Some(name) = name.str() else { continue };
        if value.get(&name).is_none() {
            return Err(misfit(&format!("{at}/{}", escape(&name)), format!("`{name}` is missing")));
        }
    }
    let known = schema.get("properties");
    let closed = schema.get("additionalProperties").and_then(Node::bool) == Some(false);
    for (name, member) in value.members() {
        let name = name.str().unwrap_or_default();
        let at = format!("{at}/{}", escape(&name));
        match known.and_then(|known| known.get(&name)) {
            Some(own) => self::schema(own, member, &at, depth - 1)?,
            None if closed => {
                return Err(misfit(&at, format!("the schema has no `{name}`")));
            }
            None => {}
        }
    }
    Ok(())
}

fn bounds(schema: Node<'_, '_>, value: Node<'_, '_>, at: &str) -> Result<(), Misfit> {
    let bound = |name: &str| schema.get(name).and_then(Node::f64);
    let (size, least, most) = match value.kind() {
        NodeKind::Number => (value.f64().unwrap_or(0.0), "minimum", "maximum"),
        NodeKind::Plain | NodeKind::Escaped => {
            (value.str().map_or(0, |text| text.chars().count()) as f64, "minLength", "maxLength")
        }
        NodeKind::Array => (value.children().count() as f64, "minItems", "maxItems"),
        _ => return Ok(()),
    };
    if bound(least).is_some_and(|bound| size < bound)
        || bound(most).is_some_and(|bound| size > bound)
    {
        return Err(misfit(at, "this is too small, too large, too short or too long"));
    }
    Ok(())
}

fn is_type(name: &str, value: Node<'_, '_>) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.bool().is_some(),
        "number" => value.kind() == NodeKind::Number,
        "integer" => {
            value.kind() == NodeKind::Number && value.f64().is_some_and(|n| n.fract() == 0.0)
        }
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        // A type that nobody knows is not judged.
        _ => true,
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use selvedge_protocol::json::Doc;

    use super::*;

    fn check(asked: &str, value: &str) -> Result<(), String> {
        let asked = Doc::parse(asked).unwrap();
        let value = Doc::parse(value).unwrap();
        let asked = Event::parse(asked.root()).unwrap();
        question(&asked, value.root()).map_err(|misfit| misfit.pointer)
    }

    #[test]
    fn a_consent_is_a_yes_or_a_no() {
        let consent = r#"{"kind":"input-required","inputType":"confirmation"}"#;
        for right in ["true", "false", "\"yes\"", "\"rather not\"", r#"{"approved":false}"#] {
            assert_eq!(check(consent, right), Ok(()), "{right}");
        }
        for wrong in ["null", "1", "[]", "[true]", "{}", "\" \"", r#"{"approved":"yes"}"#] {
            assert_eq!(check(consent, wrong), Err(String::new()), "{wrong}");
        }
        let budget =
            r#"{"kind":"input-required","inputType":"confirmation","metadata":{"budget":{}}}"#;
        assert_eq!(check(budget, "12"), Ok(()));
    }

    #[test]
    fn a_selection_is_one_of_the_options() {
        let plain = r#"{"kind":"input-required","inputType":"selection","options":["a","b"]}"#;
        assert_eq!(check(plain, "\"a\""), Ok(()));
        assert_eq!(check(plain, "[\"b\"]"), Ok(()));
        for wrong in ["\"c\"", "null", "{}", "[\"a\",\"b\"]", "[]", "1"] {
            assert_eq!(check(plain, wrong), Err(String::new()), "{wrong}");
        }
        let many = r#"{"kind":"input-required","inputType":"selection","metadata":{"multiple":true},"options":[{"id":"x","name":"X"},{"id":"y","name":"Y"}]}"#;
        for right in ["\"x\"", "[\"x\",\"Y\"]", "[]", r#"[{"id":"y"}]"#, r#"{"id":"x","extra":1}"#]
        {
            assert_eq!(check(many, right), Ok(()), "{right}");
        }
        assert_eq!(check(many, r#"["x",{"id":"z","name":"X"}]"#), Err("/1".into()));
        let open = r#"{"kind":"input-required","inputType":"clarification","options":["a"]}"#;
        assert_eq!(check(open, "\"anything\""), Ok(()), "suggestions bind nobody");
    }

    #[test]
    fn a_form_has_what_its_schema_asks_for() {
        let form = r#"{"kind":"input-required","inputType":"data","schema":{"type":"object","required":["n"],"additionalProperties":false,"properties":{"n":{"type":"integer","minimum":1},"s":{"enum":["a","b"]},"l":{"type":"array","items":{"type":["string","null"]},"maxItems":2}}}}"#;
        assert_eq!(check(form, r#"{"n":1.0,"s":"a","l":["x",null]}"#), Ok(()));
        for (wrong, pointer) in [
            ("[]", ""),
            ("{}", "/n"),
            (r#"{"n":"1"}"#, "/n"),
            (r#"{"n":1.5}"#, "/n"),
            (r#"{"n":0}"#, "/n"),
            (r#"{"n":1,"s":"c"}"#, "/s"),
            (r#"{"n":1,"l":["a",3]}"#, "/l/1"),
            (r#"{"n":1,"l":["a","b","c"]}"#, "/l"),
            (r#"{"n":1,"a/b":1}"#, "/a~1b"),
        ] {
            assert_eq!(check(form, wrong), Err(pointer.to_owned()), "{wrong}");
        }
        let odd = r#"{"kind":"input-required","inputType":"data","schema":{"type":7,"required":"x","properties":[],"enum":{}}}"#;
        assert_eq!(check(odd, "{\"a\":1}"), Ok(()), "a schema that is none binds nobody");
    }
}

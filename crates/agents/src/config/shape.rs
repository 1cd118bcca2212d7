//! What the schema says of a file, in words and at its place.

use serde_json::Value;

use super::findings::Page;
use crate::tool::schema::{Bound, Effort, Misfit, Schema, Wrong};

/// What one file may take: more than arguments of a tool, since it is the operator's own.
const EFFORT: Effort = Effort { steps: 50_000_000, misfits: 1000 };

/// A schema, ready to check files.
pub(super) struct Shape {
    schema: Value,
    /// Nothing if the schema is none, which a test rules out.
    rules: Option<Schema>,
}

impl Shape {
    /// Ready to check against a schema.
    pub(super) fn new(schema: Value) -> Self {
        let rules = Schema::new(&schema).ok();
        Self { schema, rules }
    }

    /// Finds everything in a page that the schema does not allow.
    pub(super) fn check(&self, page: &mut Page) {
        let Some(rules) = &self.rules else {
            page.error("config-syntax", "", "the schema cannot be read");
            return;
        };
        let found = rules.misfits(&page.source.value, EFFORT);
        for misfit in &found {
            let Told { code, pointer, spot, message } = self.tell(misfit, &page.source.value);
            match spot {
                Spot::Name => page.error_of_name(code, &pointer, message),
                Spot::Value => page.error(code, &pointer, message),
            }
        }
    }

    fn tell(&self, misfit: &Misfit, whole: &Value) -> Told {
        let pointer = misfit.pointer.clone();
        let (above, name) = parted(&pointer);
        match &misfit.wrong {
            Wrong::NotAllowed => {
                let known = self.schema_of(above).map(|above| self.names(above));
                let known = known.unwrap_or_default();
                let hint = did_you_mean(&name, known.iter().map(String::as_str));
                let message = format!("there is no field `{}` here{hint}", shown(&name));
                Told { code: "config-unknown-field", pointer, spot: Spot::Name, message }
            }
            Wrong::Missing => Told {
                code: "config-missing-field",
                pointer: above.to_owned(),
                spot: Spot::Name,
                message: format!("`{name}` is missing"),
            },
            wrong => {
                let here = self.schema_of(&pointer);
                let found = whole.pointer(&pointer).unwrap_or(&Value::Null);
                let message = here.and_then(|here| self.expected(here, found));
                let message = message.unwrap_or_else(|| plain(wrong));
                Told { code: "config-value", pointer, spot: Spot::Value, message }
            }
        }
    }

    /// What a value should have been, where the schema has better words than its keywords.
    fn expected(&self, here: &Value, found: &Value) -> Option<String> {
        let choices = self.choices(here);
        if !choices.is_empty() {
            let list = choices.iter().map(|choice| format!("`{choice}`"));
            let list = list.collect::<Vec<_>>().join(", ");
            return Some(match found.as_str() {
                Some(text) => {
                    let hint = did_you_mean(text, choices.iter().copied());
                    format!("`{}` is none of {list}{hint}", shown(text))
                }
                None => format!("must be one of {list}"),
            });
        }
        // A table's title names it; a value's says what it must be.
        let title = self.keyword(here, "title").and_then(Value::as_str);
        title.filter(|_| self.keyword(here, "properties").is_none()).map(|t| format!("must be {t}"))
    }

    /// The schema of the value at a pointer.
    fn schema_of(&self, pointer: &str) -> Option<&Value> {
        let mut here = &self.schema;
        for token in pointer.split('/').skip(1) {
            let name = token.replace("~1", "/").replace("~0", "~");
            here = self.member(here, &name)?;
        }
        Some(here)
    }

    fn member<'a>(&'a self, schema: &'a Value, name: &str) -> Option<&'a Value> {
        let properties = self.keyword(schema, "properties");
        properties
            .and_then(|properties| properties.get(name))
            .or_else(|| self.keyword(schema, "items").filter(|_| name.parse::<usize>().is_ok()))
            .or_else(|| self.keyword(schema, "additionalProperties"))
            .or_else(|| {
                let forms = self.keyword(schema, "anyOf")?.as_array()?;
                forms.iter().find_map(|form| self.member(form, name))
            })
    }

    fn names(&self, schema: &Value) -> Vec<String> {
        let properties = self.keyword(schema, "properties").and_then(Value::as_object);
        properties.map(|members| members.keys().cloned().collect()).unwrap_or_default()
    }

    /// The words that a value can be.
    fn choices<'a>(&'a self, schema: &'a Value) -> Vec<&'a str> {
        if let Some(words) = self.keyword(schema, "enum").and_then(Value::as_array) {
            return words.iter().filter_map(Value::as_str).collect();
        }
        let forms = self.keyword(schema, "oneOf").and_then(Value::as_array);
        let forms = forms.map(Vec::as_slice).unwrap_or_default();
        let word = |form: &'a Value| form.get("const").and_then(Value::as_str);
        forms.iter().filter_map(word).collect()
    }

    /// A keyword of a schema, or of the one that it refers to.
    fn keyword<'a>(&'a self, schema: &'a Value, name: &str) -> Option<&'a Value> {
        let referred = || {
            let path = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
            self.schema.pointer(path)?.get(name)
        };
        schema.get(name).or_else(referred)
    }
}

struct Told {
    code: &'static str,
    pointer: String,
    spot: Spot,
    message: String,
}

enum Spot {
    Name,
    Value,
}

/// What a schema wants, without the value, which may be long or secret.
fn plain(wrong: &Wrong) -> String {
    match wrong {
        Wrong::Type { wanted, .. } => {
            let name = match wanted.first().map(String::as_str) {
                Some("string") => "a text",
                Some("integer") => "a whole number",
                Some("number") => "a number",
                Some("boolean") => "`true` or `false`",
                Some("array") => "a list",
                _ => "a table",
            };
            format!("must be {name}")
        }
        Wrong::Number(Bound::Above, limit) => format!("must be more than {limit}"),
        Wrong::Few { .. } => "must not be empty".to_owned(),
        Wrong::Many { most, .. } => format!("must have at most {most} entries"),
        Wrong::Pattern(pattern) => format!("must match {pattern}"),
        Wrong::None | Wrong::Value(_) => "this value is not allowed here".to_owned(),
        other => other.to_string(),
    }
}

/// A pointer to what holds something, and the name of that in it.
fn parted(pointer: &str) -> (&str, String) {
    let (above, name) = pointer.rsplit_once('/').unwrap_or(("", pointer));
    (above, name.replace("~1", "/").replace("~0", "~"))
}

/// A text as it is quoted: not too long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// `; did you mean …?`, if something is near enough.
pub(super) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> String {
    // A long name costs time with each that is known, and is near to none.
    if name.len() > 64 {
        return String::new();
    }
    let near = known.map(|other| (strsim::damerau_levenshtein(name, other), other)).min();
    match near {
        Some((far, other)) if far <= 1 + name.len() / 4 => format!("; did you mean `{other}`?"),
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;

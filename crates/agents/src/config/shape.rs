//! What the schema says of a file, in words and at its place.

use std::sync::Arc;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use serde_json::Value;

use super::findings::Page;
use super::source::join;

/// A schema, ready to check files.
pub(super) struct Shape {
    schema: Value,
    /// Nothing if the schema is none, which a test rules out.
    validator: Option<Arc<Validator>>,
}

impl Shape {
    /// Ready to check against a schema.
    pub(super) fn new(schema: Value) -> Self {
        let validator = jsonschema::validator_for(&schema).ok().map(Arc::new);
        Self { schema, validator }
    }

    /// Finds everything in a page that the schema does not allow.
    pub(super) fn check(&self, page: &mut Page) {
        let Some(validator) = &self.validator else {
            page.error("config-syntax", "", "the schema cannot be read");
            return;
        };
        let value = std::mem::take(&mut page.source.value);
        let mut told = Vec::new();
        for error in validator.iter_errors(&value) {
            self.tell(&error, &mut told);
        }
        page.source.value = value;
        for told in told {
            match told.spot {
                Spot::Name => page.error_of_name(told.code, &told.pointer, told.message),
                Spot::Value => page.error(told.code, &told.pointer, told.message),
            }
        }
    }

    fn tell(&self, error: &ValidationError<'_>, told: &mut Vec<Told>) {
        let pointer = error.instance_path().as_str().to_owned();
        let here = self.schema_of(&pointer);
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known = here.map(|here| self.names(here)).unwrap_or_default();
                for name in unexpected {
                    let hint = did_you_mean(name, known.iter().map(String::as_str));
                    told.push(Told {
                        code: "config-unknown-field",
                        pointer: join(&pointer, name),
                        spot: Spot::Name,
                        message: format!("there is no field `{}` here{hint}", shown(name)),
                    });
                }
            }
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                told.push(Told {
                    code: "config-missing-field",
                    pointer,
                    spot: Spot::Name,
                    message: format!("`{name}` is missing"),
                });
            }
            kind => {
                let message = here
                    .and_then(|here| self.expected(here, error.instance()))
                    .unwrap_or_else(|| plain(kind));
                told.push(Told { code: "config-value", pointer, spot: Spot::Value, message });
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

/// What a keyword says, without the value, which may be long or secret.
pub(super) fn plain(kind: &ValidationErrorKind) -> String {
    match kind {
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
            let name = match kind.as_str() {
                "string" => "a text",
                "integer" => "a whole number",
                "number" => "a number",
                "boolean" => "`true` or `false`",
                "array" => "a list",
                _ => "a table",
            };
            format!("must be {name}")
        }
        ValidationErrorKind::Minimum { limit } => format!("must be at least {limit}"),
        ValidationErrorKind::Maximum { limit } => format!("must be at most {limit}"),
        ValidationErrorKind::ExclusiveMinimum { limit } => format!("must be more than {limit}"),
        ValidationErrorKind::MinItems { .. }
        | ValidationErrorKind::MinLength { .. }
        | ValidationErrorKind::MinProperties { .. } => "must not be empty".to_owned(),
        ValidationErrorKind::MaxItems { limit } | ValidationErrorKind::MaxProperties { limit } => {
            format!("must have at most {limit} entries")
        }
        ValidationErrorKind::Pattern { pattern } => format!("must match {pattern}"),
        ValidationErrorKind::AnyOf { .. } | ValidationErrorKind::Enum { .. } => {
            "this value is not allowed here".to_owned()
        }
        other => format!("is not what `{}` of the schema allows", other.keyword()),
    }
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

//! Reading a schema into rules.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SchemaError;
use super::pattern::Pattern;

/// One schema: what a value must be. All rules hold.
#[derive(Debug, Default)]
pub(super) struct Node(pub(super) Vec<Rule>);

/// Where a schema is among all.
pub(super) type At = usize;

/// Something that a value must be.
#[derive(Debug)]
pub(super) enum Rule {
    Never,
    Type(Vec<String>),
    OneOfValues(Vec<Value>),
    /// In place: of the same value.
    All(Vec<At>),
    Any(Vec<At>),
    One(Vec<At>),
    Not(At),
    If {
        test: At,
        then: Option<At>,
        otherwise: Option<At>,
    },
    /// A number, how it is compared, and with what.
    Number(Bound, f64),
    Text(Size),
    Pattern(Pattern),
    Items {
        first: Vec<At>,
        rest: Option<At>,
    },
    Count(Size),
    Unique,
    Contains {
        what: At,
        least: u64,
        most: u64,
    },
    Properties {
        known: HashMap<String, At>,
        patterns: Vec<(Pattern, At)>,
        rest: Option<At>,
    },
    Names(At),
    Members(Size),
    Required(Vec<String>),
    /// With a member come others, or a schema.
    With(String, Vec<String>, Option<At>),
}

/// How many, from and to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size(pub(super) u64, pub(super) u64);

/// How a number is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they say what they are")]
pub enum Bound {
    AtLeast,
    AtMost,
    Above,
    Below,
    MultipleOf,
}

/// The names of types.
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

pub(super) struct Compiler<'s> {
    whole: &'s Value,
    nodes: Vec<Node>,
    /// Schemas that were begun, by their place.
    known: HashMap<String, At>,
}

impl<'s> Compiler<'s> {
    pub(super) fn compile(whole: &'s Value) -> Result<Vec<Node>, SchemaError> {
        let mut compiler = Self { whole, nodes: Vec::new(), known: HashMap::new() };
        compiler.schema(whole, "")?;
        Ok(compiler.nodes)
    }

    fn schema(&mut self, schema: &'s Value, at: &str) -> Result<At, SchemaError> {
        if let Some(known) = self.known.get(at) {
            return Ok(*known);
        }
        let own = self.nodes.len();
        self.nodes.push(Node::default());
        // Before what is in it, which may refer to it.
        self.known.insert(at.to_owned(), own);
        let rules = match schema {
            Value::Bool(true) => Vec::new(),
            Value::Bool(false) => vec![Rule::Never],
            Value::Object(members) => self.rules(members, at)?,
            _ => return Err(broken(at, "a schema is an object or a boolean")),
        };
        if let Some(node) = self.nodes.get_mut(own) {
            node.0 = rules;
        }
        Ok(own)
    }

    fn rules(
        &mut self,
        schema: &'s Map<String, Value>,
        at: &str,
    ) -> Result<Vec<Rule>, SchemaError> {
        let mut rules = Vec::new();
        for (key, value) in schema {
            let here = format!("{at}/{}", escaped(key));
            match key.as_str() {
                "$ref" => rules.push(Rule::All(vec![self.referred(value, &here)?])),
                "type" => rules.push(Rule::Type(types(value, &here)?)),
                "enum" => {
                    let values = value.as_array().ok_or_else(|| broken(&here, "must be a list"))?;
                    rules.push(Rule::OneOfValues(values.clone()));
                }
                "const" => rules.push(Rule::OneOfValues(vec![value.clone()])),
                "allOf" => rules.push(Rule::All(self.list(value, &here)?)),
                "anyOf" => rules.push(Rule::Any(self.list(value, &here)?)),
                "oneOf" => rules.push(Rule::One(self.list(value, &here)?)),
                "not" => rules.push(Rule::Not(self.schema(value, &here)?)),
                "if" => rules.push(Rule::If {
                    test: self.schema(value, &here)?,
                    then: self.member(schema, "then", at)?,
                    otherwise: self.member(schema, "else", at)?,
                }),
                "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                    rules.extend(bound(schema, key, value, &here)?);
                }
                "pattern" => rules.push(Rule::Pattern(Pattern::new(text(value, &here)?))),
                "minLength" | "minItems" | "minProperties" => {
                    rules.push(size(key, Size(count(value, &here)?, u64::MAX)));
                }
                "maxLength" | "maxItems" | "maxProperties" => {
                    rules.push(size(key, Size(0, count(value, &here)?)));
                }
                "uniqueItems" if *value == Value::Bool(true) => rules.push(Rule::Unique),
                "contains" => {
                    let least = member_count(schema, "minContains", at, 1)?;
                    let most = member_count(schema, "maxContains", at, u64::MAX)?;
                    rules.push(Rule::Contains { what: self.schema(value, &here)?, least, most });
                }
                "propertyNames" => rules.push(Rule::Names(self.schema(value, &here)?)),
                "required" => rules.push(Rule::Required(texts(value, &here)?)),
                "dependentRequired" | "dependentSchemas" | "dependencies" => {
                    for (name, needs) in object(value, &here)? {
                        let here = format!("{here}/{}", escaped(name));
                        rules.push(match needs {
                            Value::Array(_) => Rule::With(name.clone(), texts(needs, &here)?, None),
                            _ => {
                                let needs = self.schema(needs, &here)?;
                                Rule::With(name.clone(), Vec::new(), Some(needs))
                            }
                        });
                    }
                }
                _ => {}
            }
        }
        rules.extend(self.items(schema, at)?);
        rules.extend(self.properties(schema, at)?);
        Ok(rules)
    }

    /// `prefixItems` and `items`; in older schemas `items` and `additionalItems`.
    fn items(
        &mut self,
        schema: &'s Map<String, Value>,
        at: &str,
    ) -> Result<Option<Rule>, SchemaError> {
        let old = schema.get("items").is_some_and(Value::is_array);
        let (first, rest) = match old {
            true => ("items", "additionalItems"),
            false => ("prefixItems", "items"),
        };
        let first = match schema.get(first) {
            Some(list) => self.list(list, &format!("{at}/{first}"))?,
            None => Vec::new(),
        };
        let rest = self.member(schema, rest, at)?;
        Ok((!first.is_empty() || rest.is_some()).then_some(Rule::Items { first, rest }))
    }

    fn properties(
        &mut self,
        schema: &'s Map<String, Value>,
        at: &str,
    ) -> Result<Option<Rule>, SchemaError> {
        let (mut known, mut patterns) = (HashMap::new(), Vec::new());
        for (keyword, is_pattern) in [("properties", false), ("patternProperties", true)] {
            let Some(value) = schema.get(keyword) else { continue };
            let here = format!("{at}/{keyword}");
            for (name, value) in object(value, &here)? {
                let own = self.schema(value, &format!("{here}/{}", escaped(name)))?;
                match is_pattern {
                    true => patterns.push((Pattern::new(name), own)),
                    false => drop(known.insert(name.clone(), own)),
                }
            }
        }
        let rest = self.member(schema, "additionalProperties", at)?;
        let some = !known.is_empty() || !patterns.is_empty() || rest.is_some();
        Ok(some.then_some(Rule::Properties { known, patterns, rest }))
    }

    fn member(
        &mut self,
        schema: &'s Map<String, Value>,
        key: &str,
        at: &str,
    ) -> Result<Option<At>, SchemaError> {
        schema.get(key).map(|value| self.schema(value, &format!("{at}/{key}"))).transpose()
    }

    fn list(&mut self, value: &'s Value, at: &str) -> Result<Vec<At>, SchemaError> {
        let list = value.as_array().ok_or_else(|| broken(at, "must be a list of schemas"))?;
        list.iter().enumerate().map(|(i, value)| self.schema(value, &format!("{at}/{i}"))).collect()
    }

    /// The schema that is referred to, in the same document.
    fn referred(&mut self, value: &Value, at: &str) -> Result<At, SchemaError> {
        let pointer = text(value, at)?.strip_prefix('#');
        let pointer = pointer.filter(|pointer| pointer.is_empty() || pointer.starts_with('/'));
        let pointer = pointer.ok_or_else(|| broken(at, "only places in this schema are known"))?;
        let found = self.whole.pointer(pointer);
        let found = found.ok_or_else(|| broken(at, "there is nothing at that place"))?;
        self.schema(found, pointer)
    }
}

fn bound(
    schema: &Map<String, Value>,
    key: &str,
    value: &Value,
    at: &str,
) -> Result<Option<Rule>, SchemaError> {
    // In the oldest schemas these say how the other is meant.
    let is_strict = |key| schema.get(key) == Some(&Value::Bool(true));
    let bound = match key {
        "exclusiveMinimum" | "exclusiveMaximum" if value.is_boolean() => return Ok(None),
        "minimum" if is_strict("exclusiveMinimum") => Bound::Above,
        "maximum" if is_strict("exclusiveMaximum") => Bound::Below,
        "minimum" => Bound::AtLeast,
        "maximum" => Bound::AtMost,
        "exclusiveMinimum" => Bound::Above,
        "exclusiveMaximum" => Bound::Below,
        _ => Bound::MultipleOf,
    };
    let number = value.as_f64().ok_or_else(|| broken(at, "must be a number"))?;
    if bound == Bound::MultipleOf && number <= 0.0 {
        return Err(broken(at, "must be above 0"));
    }
    Ok(Some(Rule::Number(bound, number)))
}

fn size(key: &str, size: Size) -> Rule {
    match key {
        "minLength" | "maxLength" => Rule::Text(size),
        "minItems" | "maxItems" => Rule::Count(size),
        _ => Rule::Members(size),
    }
}

fn types(value: &Value, at: &str) -> Result<Vec<String>, SchemaError> {
    let names = match value {
        Value::String(name) => vec![name.clone()],
        _ => texts(value, at)?,
    };
    match names.iter().find(|name| !TYPES.contains(&name.as_str())) {
        Some(name) => Err(broken(at, &format!("there is no type `{name}`"))),
        None => Ok(names),
    }
}

fn texts(value: &Value, at: &str) -> Result<Vec<String>, SchemaError> {
    let list = value.as_array().map(|list| list.iter().map(Value::as_str));
    let texts = list.and_then(|list| list.map(|text| text.map(str::to_owned)).collect());
    texts.ok_or_else(|| broken(at, "must be a list of texts"))
}

fn text<'v>(value: &'v Value, at: &str) -> Result<&'v str, SchemaError> {
    value.as_str().ok_or_else(|| broken(at, "must be a text"))
}

fn object<'v>(value: &'v Value, at: &str) -> Result<&'v Map<String, Value>, SchemaError> {
    value.as_object().ok_or_else(|| broken(at, "must be an object"))
}

fn member_count(
    schema: &Map<String, Value>,
    key: &str,
    at: &str,
    default: u64,
) -> Result<u64, SchemaError> {
    schema.get(key).map_or(Ok(default), |value| count(value, &format!("{at}/{key}")))
}

fn count(value: &Value, at: &str) -> Result<u64, SchemaError> {
    // Some write 1.0.
    let whole = value.as_f64().filter(|number| *number >= 0.0 && number.fract() == 0.0);
    whole.map(|number| number as u64).ok_or_else(|| broken(at, "must be a whole number"))
}

/// A name in a pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn broken(at: &str, reason: &str) -> SchemaError {
    let mut at = at.to_owned();
    at.truncate(at.floor_char_boundary(200));
    SchemaError::Broken { at, reason: reason.to_owned() }
}

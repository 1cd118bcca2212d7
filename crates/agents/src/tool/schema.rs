//! Whether a value fits a JSON Schema.
//!
//! Our own, small: arguments of tools use a part of JSON Schema, and schemas come from strangers.
//! Keywords that only describe (`format`, `title`, …) are not looked at; `docs/adr/0016` has the
//! list of those that are.
//!
//! Invariant: a schema is read once, when its tool is built; nothing is fetched for it, a check
//! takes a bounded number of steps, and what is said about a value is short.

mod check;
mod compile;
mod pattern;

use serde_json::Value;

use self::check::Check;
use self::compile::{Compiler, Node};

/// Bytes of a schema.
const SCHEMA: usize = 64 << 10;
/// How deep a schema may be nested.
const DEPTH: usize = 64;

/// Why something is no schema for a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum SchemaError {
    #[error("the schema must be an object")]
    NotAnObject,
    #[error("the schema has {size} bytes, more than {SCHEMA}")]
    TooLarge { size: usize },
    #[error("the schema is nested deeper than {DEPTH}")]
    TooDeep,
    #[error("the schema is broken at `{at}`: {reason}")]
    Broken { at: String, reason: String },
}

/// A schema that values are checked against.
#[derive(Debug)]
pub struct Schema {
    /// All schemas in it; the first is the whole.
    nodes: Vec<Node>,
}

impl Schema {
    /// Reads a schema; refuses what is broken, too large, or refers to other documents.
    pub fn new(schema: &Value) -> Result<Self, SchemaError> {
        if !schema.is_object() {
            return Err(SchemaError::NotAnObject);
        }
        if !within(schema, DEPTH) {
            return Err(SchemaError::TooDeep);
        }
        let size = schema.to_string().len();
        if size > SCHEMA {
            return Err(SchemaError::TooLarge { size });
        }
        Ok(Self { nodes: Compiler::compile(schema)? })
    }

    /// Whether a value fits; says what is wrong in words for a model.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        Check::run(&self.nodes, value)
    }
}

/// Whether a value is nested at most so deep.
fn within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| within(item, depth - 1)),
        Value::Object(members) => depth > 0 && members.values().all(|item| within(item, depth - 1)),
        _ => true,
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;

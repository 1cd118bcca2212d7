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
mod wrong;

pub(crate) use self::check::Effort;
pub use self::compile::Bound;
pub use self::wrong::{Misfit, Wrong};

use serde_json::Value;

use self::check::Check;
use self::compile::{Compiler, Node};

/// Bytes of a schema.
const SCHEMA: usize = 64 << 10;
/// How deep a schema may be nested.
const DEPTH: usize = 64;
/// Steps of checking arguments.
const STEPS: u32 = 200_000;
/// Complaints to a model about one value.
const COMPLAINTS: usize = 5;
/// Bytes of one complaint.
const COMPLAINT: usize = 300;

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
        let effort = Effort { steps: STEPS, misfits: COMPLAINTS + 1 };
        let found = self.misfits(value, effort);
        if found.is_empty() {
            return Ok(());
        }
        let more = if found.len() > COMPLAINTS { "; and more" } else { "" };
        let said: Vec<String> = found.iter().take(COMPLAINTS).map(complaint).collect();
        Err(format!("{}{more}", said.join("; ")))
    }

    /// What is wrong with a value, as far as the effort goes.
    pub(crate) fn misfits(&self, value: &Value, effort: Effort) -> Vec<Misfit> {
        Check::run(&self.nodes, value, effort)
    }
}

/// What is wrong, in short words.
fn complaint(Misfit { pointer, wrong }: &Misfit) -> String {
    let mut said = match &**pointer {
        "" => format!("the arguments: {wrong}"),
        at => {
            let at = at.get(..at.floor_char_boundary(COMPLAINT / 2)).unwrap_or("");
            format!("`{at}` {wrong}")
        }
    };
    if said.len() > COMPLAINT {
        said.truncate(said.floor_char_boundary(COMPLAINT));
        said.push('…');
    }
    said
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

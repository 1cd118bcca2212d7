//! Reading what a provider wrote: members of the type they must have, or none at all.

use selvedge_protocol::journal::fold::Tokens;
use serde_json::Value;

use super::Failure;

/// A JSON object of a provider. A member that is `null` is not there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Object<'a>(pub(super) &'a Value);

impl<'a> Object<'a> {
    pub(super) fn of(value: &'a Value) -> Result<Self, Failure> {
        if value.is_object() { Ok(Self(value)) } else { Err(wrong("an object", value)) }
    }

    /// A member, whatever it is.
    pub(super) fn get(self, key: &str) -> Option<&'a Value> {
        self.0.get(key).filter(|value| !value.is_null())
    }

    pub(super) fn text(self, key: &str) -> Result<Option<&'a str>, Failure> {
        self.get(key).map(|value| value.as_str().ok_or_else(|| wrong(key, value))).transpose()
    }

    pub(super) fn object(self, key: &str) -> Result<Option<Self>, Failure> {
        match self.get(key) {
            Some(value) if value.is_object() => Ok(Some(Self(value))),
            Some(value) => Err(wrong(key, value)),
            None => Ok(None),
        }
    }

    pub(super) fn list(self, key: &str) -> Result<&'a [Value], Failure> {
        match self.get(key) {
            Some(Value::Array(items)) => Ok(items),
            Some(value) => Err(wrong(key, value)),
            None => Ok(&[]),
        }
    }

    /// A place in a row.
    pub(super) fn index(self, key: &str) -> Result<Option<u64>, Failure> {
        self.get(key).map(|value| value.as_u64().ok_or_else(|| wrong(key, value))).transpose()
    }

    /// Tokens at a JSON pointer; usage is never a reason to fail.
    pub(super) fn count(self, pointer: &str) -> u64 {
        self.0.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// Tokens of one model call.
pub(super) fn tokens(input: u64, output: u64, cached: u64, reasoning: u64) -> Tokens {
    Tokens { input, output, cached, reasoning, calls: 1, cost: 0.0 }
}

fn wrong(key: &str, value: &Value) -> Failure {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    Failure::nonsense(format!("the stream has {found} where `{key}` belongs"))
}

//! Values that several tables have.

use std::borrow::Cow;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// What may be spent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// Tokens, in and out.
    #[schemars(range(min = 1))]
    pub tokens: Option<u64>,
    /// Money, in the currency of the models' prices.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub cost: Option<f64>,
    /// Time at work; waiting for people is not counted.
    pub time: Option<Period>,
}

/// One name, or several in order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "a name, or a list of names")]
pub enum Names {
    /// One.
    One(String),
    /// Several, the first that can.
    Several(#[schemars(length(min = 1))] Vec<String>),
}

impl Names {
    /// All of them.
    pub fn all(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// A text that is sent along, and may be a secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "a text, `{ env = \"VARIABLE\" }` or `{ file = \"PATH\" }`")]
pub enum Text {
    /// As it stands here.
    Plain(String),
    /// From somewhere that is not this file.
    Hidden(Hidden),
}

/// A text that stands somewhere else.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("minProperties" = 1))]
pub struct Hidden {
    /// The variable that has it.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub env: Option<String>,
    /// The file that has it; white space around it is not part of it.
    pub file: Option<String>,
    /// What stands before it, such as `Bearer `.
    pub prefix: String,
}

/// A length of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Period(pub Duration);

impl JsonSchema for Period {
    fn schema_name() -> Cow<'static, str> {
        "Period".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "title": "a time above zero, such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"1d\"",
            "type": "string",
            "pattern": "^[1-9][0-9]{0,8}(ms|s|m|h|d)$"
        })
    }
}

impl TryFrom<String> for Period {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let bad = "not a time such as `30s`";
        let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or(bad)?;
        let (count, unit) = text.split_at(unit);
        let count: u64 = count.parse().map_err(|_| bad)?;
        let each = match unit {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return Err(bad),
        };
        count.checked_mul(each).filter(|ms| *ms > 0).map(Duration::from_millis).map(Self).ok_or(bad)
    }
}

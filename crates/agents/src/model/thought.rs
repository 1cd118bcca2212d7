//! Thoughts that are shared: their types, as the document has them.

use schemars::JsonSchema;
use serde::Deserialize;

/// A whole thought that others get to see.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thought {
    /// Of which sort it is.
    pub ty: ThoughtType,
    /// How much it tells.
    pub verbosity: Verbosity,
    /// What is thought.
    pub text: String,
    /// How sure, from 0 to 1.
    pub confidence: Option<f64>,
    /// What else was considered.
    pub alternatives: Vec<String>,
    /// Another thought or a tool call, by its id.
    pub related_to: Option<String>,
}

/// Of which sort a thought is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the document's words")]
pub enum ThoughtType {
    Planning,
    #[default]
    Reasoning,
    Reflection,
    Decision,
    Observation,
    Strategy,
}

impl ThoughtType {
    /// Its name in `thought-stream`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planning => "planning",
            Self::Reasoning => "reasoning",
            Self::Reflection => "reflection",
            Self::Decision => "decision",
            Self::Observation => "observation",
            Self::Strategy => "strategy",
        }
    }
}

/// How much a thought tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the document's words")]
pub enum Verbosity {
    Brief,
    #[default]
    Normal,
    Detailed,
}

impl Verbosity {
    /// Its name in `thought-stream`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brief => "brief",
            Self::Normal => "normal",
            Self::Detailed => "detailed",
        }
    }
}

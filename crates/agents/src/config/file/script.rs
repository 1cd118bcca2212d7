//! `script` of an agent, or a file with one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Intent, Period};
use crate::model::{Price, ThoughtType, Verbosity};
pub use crate::script::Reply;

/// What an agent without a model says.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// How long a word takes; no time, if it is not said.
    pub pace: Option<Period>,
    /// What a million words would cost, for demonstrations of what costs.
    pub price: Option<Price>,
    /// What to say to what; the first rule that fits.
    #[schemars(length(min = 1))]
    pub rules: Vec<Rule>,
}

/// What to say to something.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Fits if what the user said last has this in it, upper or lower case; empty fits always.
    #[serde(default)]
    pub when: String,
    /// Fits if the id of what the user said last, an answer included, begins with this; empty fits
    /// always.
    #[serde(default)]
    pub when_id: String,
    /// What to say at each model call of the turn; the last again if there are more.
    #[schemars(length(min = 1))]
    pub lines: Vec<Line>,
}

/// What is said at one model call. `{input}` is what the user said last.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("minProperties" = 1))]
pub struct Line {
    /// A thought.
    pub think: String,
    /// Whole thoughts that are shared, of every sort.
    pub thoughts: Vec<Thought>,
    /// The answer.
    pub say: String,
    /// Tools to call.
    pub calls: Vec<Call>,
    /// Fails instead, after what was said.
    pub fail: Option<Fail>,
    /// What the answer advances, as an envelope; what was asked for, if it is not said.
    pub intent: Option<Intent>,
    /// How sure it is, from 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// Why it is as sure as that.
    pub rationale: String,
    /// What may be done next.
    pub next: Vec<Proposal>,
    /// What the answer is, where a protocol tells the two apart; the result of a task, if it is not
    /// said.
    pub reply: Reply,
    /// How long it takes before anything is said.
    pub pause: Option<Period>,
}

/// What may be done next.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// What it advances.
    pub intent: Intent,
    /// What is to be done.
    pub task: String,
    /// With what.
    #[serde(default)]
    pub args: Map<String, Value>,
}

/// A whole thought that is shared.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Thought {
    /// Of which sort it is; `reasoning` if it is not said.
    #[serde(default, rename = "type")]
    pub ty: ThoughtType,
    /// How much it tells; `normal` if it is not said.
    #[serde(default)]
    pub verbosity: Verbosity,
    /// What is thought.
    pub text: String,
    /// How sure.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: Option<f64>,
    /// What else was considered.
    #[serde(default)]
    pub alternatives: Vec<String>,
    /// Another thought or a tool call, by its id.
    pub related_to: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// The tool, by the name that a model would call it by.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

/// How a model can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fail {
    /// It has too much to do.
    Busy,
    /// It cannot be reached.
    Connection,
    /// It fails by itself.
    Provider,
    /// The key is not valid.
    Unauthorized,
    /// The conversation is too long.
    TooLong,
    /// It does not take the request.
    Refused,
    /// The agent does not take the task.
    Rejected,
}

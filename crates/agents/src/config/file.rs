//! The format of a configuration file: what can be written, as types.
//!
//! The JSON Schema that editors get, that is printed, and that files are checked against is made
//! from these types, so it cannot differ from what is read.

mod agent;
mod auth;
mod model;
mod script;
mod shared;
mod tool;

use std::collections::BTreeMap;

use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde_json::Value;

pub use agent::{Agent, AgentKind, AttributionName, LimitsTable, OthersToolsName, WhileWaiting};
pub use auth::{Auth, AuthType};
pub use model::{Effort, Model, Price, Provider, Thinking, Timeouts};
pub use script::{Call, Fail, Line, Proposal, Reply, Rule, Script, Thought};
pub use shared::{Bounds, Hidden, Names, Period, Text};
pub use tool::{InterruptedName, Method, Server, Tool, ToolKind, UrgencyName};

/// Entries of a section.
pub(super) const MOST: usize = 1000;

/// Agents, the models and tools they use, how they are routed, and what they may spend.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(title = "selvedge.toml")]
pub struct File {
    /// Models, by the names that agents call them by.
    #[schemars(extend("maxProperties" = MOST))]
    pub models: BTreeMap<String, Model>,
    /// Agents, by their ids in threads.
    #[schemars(extend("maxProperties" = MOST))]
    pub agents: BTreeMap<String, Agent>,
    /// MCP servers, by name. Agents use their tools as `NAME/tool` or `NAME/*`.
    #[schemars(extend("maxProperties" = MOST))]
    pub mcp: BTreeMap<String, Server>,
    /// Tools, by the names that models call them by.
    #[schemars(extend("maxProperties" = MOST))]
    pub tools: BTreeMap<String, Tool>,
    /// Where envelopes go.
    pub router: Router,
    /// What may be spent before someone is asked.
    pub budget: Budget,
}

/// Where envelopes go.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Router {
    /// Which agent takes an intent. Intents that are not here go by the rules of the envelope's
    /// document: `plan`, `reflect` and `finalize` to the agent `gpt5` or the first with a GPT,
    /// `decompose`, `summarize` and `analyze` to `claude` or the first with a Claude, `execute`,
    /// `tool.call` and `retrieve` to `gemini` or the first with a Gemini.
    pub rules: BTreeMap<Intent, String>,
    /// Confidence below this is reflected on by another model; 0.5 if it is not said.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: Option<f64>,
    /// Hops of one envelope, at most; 8 if it is not said.
    #[schemars(range(min = 1, max = 1000))]
    pub hops: Option<u32>,
    /// Tasks that may come of one envelope, at most; 64 if it is not said.
    #[schemars(range(min = 1, max = 10000))]
    pub tasks: Option<u32>,
    /// What becomes of `next_actions`: agents here claim those that a rule names them for, or they
    /// wait for whoever asks.
    pub next_actions: NextActions,
    /// What answers name as their parents: the envelope they answer, or all before it, as the
    /// document's mux does, which also gives one answer to one envelope and looks at nothing twice.
    pub mode: Mode,
}

/// What becomes of next actions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NextActions {
    /// Agents here claim them, by the rules.
    #[default]
    Claim,
    /// They wait for whoever asks.
    Queue,
}

/// What answers name as their parents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The envelope that they answer.
    #[default]
    Parent,
    /// All before them.
    MuxV1,
}

/// What a message is for: the envelope's verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the document's words")]
pub enum Intent {
    Plan,
    Decompose,
    Execute,
    Route,
    Retrieve,
    Analyze,
    Summarize,
    Reflect,
    Finalize,
    #[serde(rename = "tool.call")]
    ToolCall,
}

impl Intent {
    /// Its name in an envelope.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Decompose => "decompose",
            Self::Execute => "execute",
            Self::Route => "route",
            Self::Retrieve => "retrieve",
            Self::Analyze => "analyze",
            Self::Summarize => "summarize",
            Self::Reflect => "reflect",
            Self::Finalize => "finalize",
            Self::ToolCall => "tool.call",
        }
    }
}

/// What may be spent before someone is asked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// In one thread.
    pub thread: Bounds,
    /// By one task and all its subtasks.
    pub task: Bounds,
    /// By each agent in one thread, where the agent has no budget of its own.
    pub agent: Bounds,
}

/// The JSON Schema of the format.
pub fn schema() -> Value {
    schema_of::<File>()
}

/// The JSON Schema of a file with a script.
pub(super) fn script_schema() -> Value {
    schema_of::<Script>()
}

fn schema_of<T: JsonSchema>() -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    schema
}

/// Takes `null` out of a schema: what may be left out is not said, and TOML has no word for it.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(members) => {
            members.retain(|name, value| !(name == "default" && value.is_null()));
            let is_null =
                |kind: &Value| kind == "null" || kind.get("type").is_some_and(|t| t == "null");
            for keyword in ["type", "anyOf"] {
                let Some(Value::Array(kinds)) = members.get_mut(keyword) else { continue };
                kinds.retain(|kind| !is_null(kind));
                if let [only] = &mut **kinds {
                    let only = only.take();
                    match only {
                        Value::Object(only) => {
                            members.remove(keyword);
                            members.extend(only);
                        }
                        only => {
                            members.insert(keyword.to_owned(), only);
                        }
                    }
                }
            }
            members.values_mut().for_each(without_null);
        }
        _ => {}
    }
}

//! `[agents.NAME]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Bounds, Names, Period, Script, Text};

/// An agent.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Agent {
    /// Who thinks.
    pub kind: AgentKind,
    /// What it is good for, for the agents that may call it.
    pub description: Option<String>,
    /// For `model`: the model, and others that take over when it fails.
    pub model: Option<Names>,
    /// For `model`: comes before everything in every request.
    pub system: Option<String>,
    /// For `model`: the file that has `system`.
    pub system_file: Option<String>,
    /// For `model` and `script`: what it may use. `NAME` is a tool of this file, `SERVER/NAME` of
    /// an MCP server, `artifacts/NAME`, `ask/NAME` and `thoughts/NAME` built-in ones, `agents/NAME`
    /// another agent. `*` stands for any characters of a name.
    #[schemars(length(max = 1000))]
    pub tools: Vec<String>,
    /// For `model` and `script`: what keeps it from going on for ever.
    pub limits: LimitsTable,
    /// For `model` and `script`: how others' messages say whose they are.
    pub attribution: AttributionName,
    /// For `model` and `script`: what it is told of others' tool calls.
    pub others_tools: OthersToolsName,
    /// For `model` and `script`: the agent that answers first what this one asks and a user need
    /// not; `user` for nobody. If it is not said, the agent that called this one.
    pub coordinator: Option<String>,
    /// For `model` and `script`: how long that may take before the user is asked; 2 minutes if it
    /// is not said.
    pub coordinator_timeout: Option<Period>,
    /// For `model` and `script`: whether it is written down, for operators, why it does what.
    pub trace: bool,
    /// What it may spend in one thread.
    pub budget: Option<Bounds>,
    /// What a message of the user does while a task of this agent waits for an answer.
    pub while_waiting: WhileWaiting,
    /// For `script`: what it says.
    pub script: Option<Script>,
    /// For `script`: the file that has the script, as TOML.
    pub script_file: Option<String>,
    /// For `worker`: how long a task is a worker's until it must say that it is still there; a
    /// minute if it is not said.
    pub lease: Option<Period>,
    /// For `a2a`, `agent-api` and `aitp`: where it is.
    pub url: Option<String>,
    /// For `a2a`, `agent-api` and `aitp`: the variable that has the key.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub key_env: Option<String>,
    /// For `a2a`, `agent-api` and `aitp`: the file that has the key.
    pub key_file: Option<String>,
    /// For `a2a`, `agent-api` and `aitp`: headers of every request.
    pub headers: BTreeMap<String, Text>,
    /// For `a2a`, `agent-api` and `aitp`: how long it may be silent.
    pub timeout: Option<Period>,
    /// For `aitp`: the assistant that is to run.
    pub assistant: Option<String>,
    /// For `a2a`, `agent-api` and `aitp`: whether the URL may lead into private networks.
    pub allow_private: bool,
}

/// Who thinks for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// A model.
    #[default]
    Model,
    /// Nobody: it says what is written down.
    Script,
    /// A program that claims its tasks over HTTP.
    Worker,
    /// An agent elsewhere, over A2A.
    A2a,
    /// An agent elsewhere, over the Agent API.
    AgentApi,
    /// An agent elsewhere, over AITP.
    Aitp,
}

impl AgentKind {
    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Script => "script",
            Self::Worker => "worker",
            Self::A2a => "a2a",
            Self::AgentApi => "agent-api",
            Self::Aitp => "aitp",
        }
    }
}

/// Bounds of one turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsTable {
    /// Model calls.
    #[schemars(range(min = 1))]
    pub iterations: Option<u32>,
    /// Times that one model is asked the same.
    #[schemars(range(min = 1))]
    pub tries: Option<u32>,
    /// The wait before the second time; it doubles each time.
    pub backoff: Option<Period>,
    /// The longest wait before another time.
    pub backoff_max: Option<Period>,
    /// Time at work, an hour if it is not said; waiting for people and for other agents is not
    /// counted.
    pub timeout: Option<Period>,
    /// Time of one model call; 15 minutes if it is not said.
    pub call_timeout: Option<Period>,
}

/// How a message says whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AttributionName {
    /// `{agent:Name}: text`.
    #[default]
    Prefix,
    /// `Name wrote:` and the text as a quotation.
    Quote,
    /// `<message from="Name">text</message>`.
    Xml,
    /// The text alone.
    None,
}

/// What is told of others' tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OthersToolsName {
    /// Nothing.
    #[default]
    Hide,
    /// That a tool was used, and how it went.
    Summarise,
    /// Its arguments and its result.
    Show,
}

/// What a message of the user does while a task waits for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhileWaiting {
    /// It is taken up when the task has ended.
    #[default]
    Queue,
    /// It is the answer.
    Answer,
    /// It cancels the task and begins another.
    Cancel,
}

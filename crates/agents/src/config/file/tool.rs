//! `[mcp.NAME]` and `[tools.NAME]`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Auth, Period, Text};

/// An MCP server: a command to start, or a URL.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Server {
    /// The program to start.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables, besides `PATH` and `HOME`.
    pub env: BTreeMap<String, Text>,
    /// The folder that it runs in; the one of this file, if it is not said.
    pub folder: Option<String>,
    /// Where it is.
    pub url: Option<String>,
    /// Headers of every request.
    pub headers: BTreeMap<String, Text>,
    /// How long it may take to start.
    pub start_timeout: Option<Period>,
    /// How long a tool may take.
    pub timeout: Option<Period>,
    /// What to do if one of its tools ran when we stopped. If it is not said, what the server
    /// calls harmless runs again.
    pub interrupted: Option<InterruptedName>,
    /// Whether a user must agree each time before one of its tools is used.
    pub consent: bool,
    /// With `url`: what the user must give before one of its tools is used. The server must list
    /// its tools without it.
    pub auth: Option<Auth>,
    /// How long someone who is asked may take; as long as they like if it is not said.
    pub answer_within: Option<Period>,
    /// How urgent an answer is.
    pub urgency: Option<UrgencyName>,
}

/// A tool of our own.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tool {
    /// Who does it.
    pub kind: ToolKind,
    /// What it does, for the model.
    #[schemars(length(min = 1))]
    pub description: String,
    /// JSON Schema of its arguments, an object; a tool without one takes none, and an agent takes
    /// `prompt`.
    pub schema: Option<Map<String, Value>>,
    /// The file that has the schema, as JSON.
    pub schema_file: Option<String>,
    /// Whether a user must agree each time before it is used.
    #[serde(default)]
    pub consent: bool,
    /// How long someone who is asked may take; as long as they like if it is not said.
    pub answer_within: Option<Period>,
    /// How urgent an answer is.
    pub urgency: Option<UrgencyName>,
    /// How long it may take; 2 minutes if it is not said.
    pub timeout: Option<Period>,
    /// What to do if it ran when we stopped.
    #[serde(default)]
    pub interrupted: InterruptedName,
    /// For `http`: where to send the arguments. `{name}` is filled with that argument.
    pub url: Option<String>,
    /// For `http`: how; `POST` if it is not said.
    pub method: Option<Method>,
    /// For `http`: headers of every request.
    #[serde(default)]
    pub headers: BTreeMap<String, Text>,
    /// For `http`: whether the URL may lead into private networks.
    #[serde(default)]
    pub allow_private: bool,
    /// For `http`: what the user must give before it is used.
    pub auth: Option<Auth>,
    /// For `agent`: which.
    pub agent: Option<String>,
}

/// How urgent an answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UrgencyName {
    /// Whenever there is time.
    Low,
    /// As usual.
    Medium,
    /// Now.
    High,
}

/// Who does what a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolKind {
    /// A server on the web.
    Http,
    /// Whoever is connected to the thread.
    Client,
    /// Another agent, in a subtask.
    Agent,
}

/// How a request is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "they say what they are")]
pub enum Method {
    Get,
    #[default]
    Post,
    Put,
    Patch,
    Delete,
}

/// What to do with a tool that ran when we stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum InterruptedName {
    /// Run it again.
    #[default]
    Again,
    /// Tell the model that it is not known whether it was done.
    Fail,
}

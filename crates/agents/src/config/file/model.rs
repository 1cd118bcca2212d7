//! `[models.NAME]`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Period;
pub use crate::model::Price;

/// A model of a provider.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Who offers it.
    pub provider: Provider,
    /// What the provider calls it.
    #[schemars(length(min = 1))]
    pub model: String,
    /// Where the provider is, if not where it usually is. `openai-compatible` needs it.
    pub base_url: Option<String>,
    /// The variable that has the key. Each vendor has a usual one: `ANTHROPIC_API_KEY`,
    /// `OPENAI_API_KEY`, `GEMINI_API_KEY`, `DEEPSEEK_API_KEY`.
    #[schemars(regex(pattern = "^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub key_env: Option<String>,
    /// The file that has the key.
    pub key_file: Option<String>,
    /// What a million tokens cost.
    pub price: Option<Price>,
    /// Tokens that a conversation may have.
    #[schemars(range(min = 1))]
    pub context_tokens: Option<u64>,
    /// How much to think: an effort, or tokens.
    pub thinking: Option<Thinking>,
    /// How freely to answer.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Tokens of an answer, at most.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// How long to wait for it.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// Members of the request that only this provider knows.
    #[serde(default)]
    pub extra: Map<String, Value>,
}

/// Who offers a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    Openai,
    /// OpenAI's chat completions.
    OpenaiChat,
    /// Google's Gemini API.
    Gemini,
    /// DeepSeek.
    Deepseek,
    /// Ollama.
    Ollama,
    /// Anyone's chat completions, spelled as OpenAI does.
    OpenaiCompatible,
}

impl Provider {
    /// The variable that usually has its key; nothing for who works without.
    pub fn usual_variable(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Openai | Self::OpenaiChat => Some("OPENAI_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Deepseek => Some("DEEPSEEK_API_KEY"),
            Self::Ollama | Self::OpenaiCompatible => None,
        }
    }
}

/// How much to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(title = "`minimal`, `low`, `medium`, `high`, `max`, or a number of tokens above zero")]
pub enum Thinking {
    /// At most so many tokens.
    Tokens(#[schemars(range(min = 1))] u32),
    /// As much as the model finds right, at this effort.
    Effort(Effort),
}

/// How hard to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they say what they are")]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    Max,
}

/// How long to wait for a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Timeouts {
    /// For the first byte of an answer.
    pub first_byte: Option<Period>,
    /// For the next bytes.
    pub idle: Option<Period>,
}

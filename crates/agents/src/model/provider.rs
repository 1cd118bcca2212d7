//! Who offers models, and how they are spoken to.

use reqwest::header::HeaderName;

/// Who offers a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Provider {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    OpenAiResponses,
    /// OpenAI's chat completions.
    OpenAiChat,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// DeepSeek's chat completions.
    DeepSeek,
    /// Ollama's chat completions.
    Ollama,
    /// Anyone's chat completions, spelled as OpenAI does.
    Compatible,
}

/// How a model is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    Messages,
    Responses,
    Chat,
    GenerateContent,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 7] = [
        Self::Anthropic,
        Self::OpenAiResponses,
        Self::OpenAiChat,
        Self::Gemini,
        Self::DeepSeek,
        Self::Ollama,
        Self::Compatible,
    ];

    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiResponses => "openai",
            Self::OpenAiChat => "openai-chat",
            Self::Gemini => "gemini",
            Self::DeepSeek => "deepseek",
            Self::Ollama => "ollama",
            Self::Compatible => "openai-compatible",
        }
    }

    /// The provider of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// The `providerName` of what its models say and think, as other tools spell it.
    pub fn author(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiResponses | Self::OpenAiChat => "openai",
            Self::Gemini => "google",
            Self::DeepSeek => "deepseek",
            Self::Ollama => "ollama",
            Self::Compatible => "compatible",
        }
    }

    /// Where it is, unless a configuration says otherwise. Paths as each vendor's own tools take
    /// them: with the version for all but Anthropic.
    pub fn base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenAiResponses | Self::OpenAiChat => Some("https://api.openai.com/v1"),
            Self::Gemini => Some("https://generativelanguage.googleapis.com/v1beta"),
            Self::DeepSeek => Some("https://api.deepseek.com"),
            Self::Ollama => Some("http://localhost:11434/v1"),
            Self::Compatible => None,
        }
    }

    pub(super) fn wire(self) -> Wire {
        match self {
            Self::Anthropic => Wire::Messages,
            Self::OpenAiResponses => Wire::Responses,
            Self::OpenAiChat | Self::DeepSeek | Self::Ollama | Self::Compatible => Wire::Chat,
            Self::Gemini => Wire::GenerateContent,
        }
    }
}

impl Wire {
    /// The header that a key goes into, and what stands before it there.
    pub(super) fn key_header(self) -> (HeaderName, &'static str) {
        match self {
            Self::Messages => (HeaderName::from_static("x-api-key"), ""),
            Self::GenerateContent => (HeaderName::from_static("x-goog-api-key"), ""),
            Self::Chat | Self::Responses => (reqwest::header::AUTHORIZATION, "Bearer "),
        }
    }
}

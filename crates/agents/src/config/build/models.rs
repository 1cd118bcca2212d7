//! From a planned model to one that can be asked.

use crate::config::file;
use crate::config::plan;
use crate::model::{
    BadKey, BadUrl, Effort, Http, Key, Model, Provider, Settings, Terms, Thinking, Timeouts,
};

/// Why a planned model cannot be asked. A plan that was checked has no such model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum ModelError {
    #[error(transparent)]
    Url(#[from] BadUrl),
    #[error(transparent)]
    Key(#[from] BadKey),
}

impl plan::Model {
    /// The model, over these connections.
    pub fn connect(&self, http: &Http) -> Result<Model, ModelError> {
        let base = self.base_url.as_ref().map(|url| url.as_str());
        let mut model = Model::new(provider(self.provider), &self.model, base, http.clone())?;
        if let Some(key) = &self.key {
            model = model.with_key(Key::new(key.reveal())?);
        }
        let usual = Timeouts::default();
        Ok(model.with_timeouts(Timeouts {
            first_byte: self.first_byte.unwrap_or(usual.first_byte),
            idle: self.idle.unwrap_or(usual.idle),
        }))
    }

    /// The terms on which it is asked.
    pub(super) fn terms(&self) -> Terms {
        Terms {
            price: self.price,
            context_tokens: self.context_tokens,
            max_tokens: self.max_tokens,
        }
    }

    /// How it is to answer.
    pub(super) fn settings(&self) -> Settings {
        let thinking = self.thinking.map(|thinking| match thinking {
            file::Thinking::Tokens(tokens) => Thinking::Tokens(tokens),
            file::Thinking::Effort(effort) => Thinking::Effort(match effort {
                file::Effort::Minimal => Effort::Minimal,
                file::Effort::Low => Effort::Low,
                file::Effort::Medium => Effort::Medium,
                file::Effort::High => Effort::High,
                file::Effort::Max => Effort::Max,
            }),
        });
        Settings {
            max_tokens: self.max_tokens,
            temperature: self.temperature,
            thinking,
            extra: self.extra.clone(),
        }
    }
}

fn provider(named: file::Provider) -> Provider {
    match named {
        file::Provider::Anthropic => Provider::Anthropic,
        file::Provider::Openai => Provider::OpenAiResponses,
        file::Provider::OpenaiChat => Provider::OpenAiChat,
        file::Provider::Gemini => Provider::Gemini,
        file::Provider::Deepseek => Provider::DeepSeek,
        file::Provider::Ollama => Provider::Ollama,
        file::Provider::OpenaiCompatible => Provider::Compatible,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::config::check;

    #[test]
    fn every_provider_can_be_configured_and_connected_under_its_name() {
        let http = Http::new(Duration::from_secs(1)).unwrap();
        for provider in Provider::ALL {
            let text = format!(
                "[models.m]\nprovider = \"{}\"\nmodel = \"x\"\nkey_env = \"K\"\n\
                 base_url = \"http://localhost:1/v1\"",
                provider.name()
            );
            let key = |_: &str| Some("a-key".to_owned());
            let config = check("x", text.as_bytes(), Path::new(""), &key).unwrap();
            let model = config.models[0].connect(&http).unwrap();
            assert_eq!((model.provider(), model.name()), (provider, "x"));
        }
    }
}

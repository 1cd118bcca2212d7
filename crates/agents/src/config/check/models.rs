//! `[models.NAME]`.

use super::{Check, KeySource};
use crate::config::file::{self, Provider};
use crate::config::plan::Model;
use crate::config::source::join;

impl Check<'_> {
    pub(super) fn models(&mut self) -> Vec<Model> {
        let entries = self.entries::<file::Model>("models");
        entries.into_iter().filter_map(|(name, model)| self.model(name, model)).collect()
    }

    fn model(&mut self, name: String, model: file::Model) -> Option<Model> {
        let at = join("/models", &name);
        self.name(&at, &name);
        let base_url = match &model.base_url {
            Some(url) => Some(self.base_url(&join(&at, "base_url"), url)?),
            None => {
                if model.provider == Provider::OpenaiCompatible {
                    self.missing(&at, &["base_url"]);
                }
                None
            }
        };
        // Whoever stands in for a vendor may work without a key.
        let usual = model.provider.usual_variable();
        let usual = usual.filter(|name| base_url.is_none() || (self.variables)(name).is_some());
        let source =
            KeySource { env: model.key_env.as_deref(), file: model.key_file.as_deref(), usual };
        let key = self.key(&at, &source);
        Some(Model {
            name,
            provider: model.provider,
            model: model.model,
            base_url,
            key,
            price: model.price,
            context_tokens: model.context_tokens,
            thinking: model.thinking,
            temperature: model.temperature,
            max_tokens: model.max_tokens,
            first_byte: model.timeouts.first_byte.map(|period| period.0),
            idle: model.timeouts.idle.map(|period| period.0),
            extra: model.extra,
        })
    }

    fn base_url(&mut self, at: &str, text: &str) -> Option<reqwest::Url> {
        let url = self.url(at, text)?;
        if url.query().is_some() || url.fragment().is_some() {
            self.page.error("config-url", at, "a base URL ends with its path");
            return None;
        }
        Some(url)
    }
}

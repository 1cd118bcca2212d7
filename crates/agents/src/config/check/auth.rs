//! `[tools.NAME.auth]` and `[mcp.NAME.auth]`.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderName};

use super::Check;
use crate::config::file::{Auth, AuthType};
use crate::config::source::join;
use crate::credential::{AuthKind, Need, Place, check_template};

/// How long a credential is kept, if nothing is said.
const KEEP: Duration = Duration::from_secs(3600);

impl Check<'_> {
    /// What a tool of that name needs from its user.
    pub(super) fn auth(&mut self, at: &str, name: &str, auth: Option<Auth>) -> Option<Arc<Need>> {
        let auth = auth?;
        let at = join(at, "auth");
        let kind = match auth.ty {
            AuthType::Oauth2 => AuthKind::OAuth2,
            AuthType::ApiKey => AuthKind::ApiKey,
            AuthType::Pat => AuthKind::Pat,
            AuthType::Password => AuthKind::Password,
            AuthType::Biometric => AuthKind::Biometric,
            AuthType::Custom => AuthKind::Custom,
        };
        if kind != AuthKind::OAuth2 {
            let only = ["authorization_endpoint", "client_id"];
            self.refuse_fields(&at, &format!("type `{}`", kind.name()), &only);
        }
        for (field, url) in [
            ("auth_url", &auth.auth_url),
            ("authorization_endpoint", &auth.authorization_endpoint),
            ("info_url", &auth.info_url),
        ] {
            if let Some(url) = url {
                self.url(&join(&at, field), url);
            }
        }
        let place = self.place(&at, &auth, kind)?;
        let prompt = auth.prompt.unwrap_or_else(|| match &auth.provider {
            Some(provider) => format!("`{name}` needs access to your {provider} account"),
            None => format!("`{name}` needs your credentials"),
        });
        Some(Arc::new(Need {
            name: name.to_owned(),
            kind,
            provider: auth.provider,
            scopes: auth.scopes,
            prompt,
            auth_url: auth.auth_url,
            authorization_endpoint: auth.authorization_endpoint,
            client_id: auth.client_id,
            info_url: auth.info_url,
            place,
            keep: auth.keep.map_or(KEEP, |period| period.0),
        }))
    }

    /// Where it goes.
    fn place(&mut self, at: &str, auth: &Auth, kind: AuthKind) -> Option<Place> {
        let alone = || "{credential}".to_owned();
        let place = match (&auth.header, &auth.query) {
            (Some(_), Some(_)) => {
                let message = "it goes into a header or into the query, not into both";
                self.page.error_of_name("config-kind", &join(at, "query"), message);
                return None;
            }
            (None, Some(name)) => {
                Place::Query(name.clone(), auth.value.clone().unwrap_or_else(alone))
            }
            (Some(name), None) => {
                let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
                    let message = "this cannot be the name of a header";
                    self.page.error("config-value", &join(at, "header"), message);
                    return None;
                };
                let usual = if name == AUTHORIZATION { usual(kind) } else { alone() };
                Place::Header(name, auth.value.clone().unwrap_or(usual))
            }
            (None, None) => {
                let value = auth.value.clone().unwrap_or_else(|| usual(kind));
                Place::Header(AUTHORIZATION, value)
            }
        };
        let (Place::Header(_, template) | Place::Query(_, template)) = &place;
        if let Err(bad) = check_template(template) {
            self.page.error("config-value", &join(at, "value"), bad.to_string());
        }
        Some(place)
    }
}

fn usual(kind: AuthKind) -> String {
    match kind {
        AuthKind::Password => "Basic {basic}".to_owned(),
        _ => "Bearer {credential}".to_owned(),
    }
}

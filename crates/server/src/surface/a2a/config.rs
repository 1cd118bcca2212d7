//! Whom to tell of a task: where, and what proves that it is us.

use reqwest::Url;
use selvedge_agents::tool::http::Reach;
use selvedge_agents::tool::http::screen::is_allowed;
use selvedge_protocol::json::Node;
use serde_json::{Value, json};
use uuid::Uuid;

use super::caller::{Caller, Version};
use super::fault::Fault;
use super::request::{member, text};
use crate::App;

/// Characters of an id, an address or a secret.
const LONGEST: usize = 4096;

/// The id of a config that has none.
const UNNAMED: &str = "default";

/// A push notification config.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Config {
    pub(super) id: String,
    pub(super) url: String,
    pub(super) token: Option<String>,
    pub(super) scheme: Option<String>,
    pub(super) credentials: Option<String>,
    /// In which version its owner is told.
    pub(super) version: String,
}

/// Which addresses may be told. Where there are no keys, whoever asks is on this machine, and so
/// may be what they want to be told at.
pub(super) fn reach(app: &App) -> Reach {
    if app.is_open() { Reach::Private } else { Reach::Public }
}

impl Config {
    /// Reads a config: flat in 1.0, and perhaps within `pushNotificationConfig` in 0.3.
    pub(super) fn read(node: Node<'_, '_>, version: Version, at: &str) -> Result<Self, Fault> {
        let (node, at) = match member(node, "pushNotificationConfig") {
            Some(inner) => (inner, format!("{at}/pushNotificationConfig")),
            None => (node, at.to_owned()),
        };
        if !node.is_object() {
            return Err(Fault::at(at, "a config is an object"));
        }
        let mut own = Self {
            id: match (text(node, "id", &at)?, version) {
                (Some(id), _) => id,
                // A task of 0.3 may have one that has no name.
                (None, Version::V03) => UNNAMED.to_owned(),
                (None, Version::V1) => Uuid::now_v7().to_string(),
            },
            url: text(node, "url", &at)?.unwrap_or_default(),
            token: text(node, "token", &at)?,
            scheme: None,
            credentials: None,
            version: version.name().to_owned(),
        };
        if let Some(auth) = member(node, "authentication").filter(|auth| auth.is_object()) {
            let place = format!("{at}/authentication");
            let many = member(auth, "schemes").and_then(|all| all.children().next());
            let many = many.and_then(Node::str).map(|scheme| scheme.into_owned());
            own.scheme = text(auth, "scheme", &place)?.or(many);
            own.credentials = text(auth, "credentials", &place)?;
        }
        let all = [Some(&own.id), Some(&own.url), own.token.as_ref(), own.credentials.as_ref()];
        if all.into_iter().flatten().any(|text| text.len() > LONGEST) {
            return Err(Fault::at(at, format!("at most {LONGEST} characters are taken")));
        }
        let visible = |text: &String| text.bytes().all(|b| (0x20..0x7f).contains(&b));
        let headers = [own.token.as_ref(), own.scheme.as_ref(), own.credentials.as_ref()];
        if !headers.into_iter().flatten().all(visible) {
            return Err(Fault::at(at, "tokens and credentials are visible ASCII"));
        }
        if own.url.is_empty() {
            return Err(Fault::at(format!("{at}/url"), "`url` is missing: whom to tell?"));
        }
        Ok(own)
    }

    /// The config, if its address may be told anything.
    pub(super) fn checked(&self, caller: &Caller) -> Result<Self, Fault> {
        let wrong = |message: &str| Fault::at("/url", message);
        let url: Url = self.url.parse().map_err(|_| wrong("`url` is not an address"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("`url` must begin with http:// or https://"));
        }
        if !is_allowed(&url, reach(&caller.app)) {
            return Err(wrong("`url` is not an address of the public internet"));
        }
        Ok(self.clone())
    }

    /// As it is kept.
    pub(super) fn kept(&self) -> String {
        let mut own = self.shown("", Version::V1);
        own["version"] = json!(self.version);
        own.to_string()
    }

    /// What was kept.
    pub(super) fn known(kept: &[u8]) -> Option<Self> {
        let kept: Value = serde_json::from_slice(kept).ok()?;
        let text = |pointer| kept.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Self {
            id: text("/id")?,
            url: text("/url")?,
            token: text("/token"),
            scheme: text("/authentication/scheme"),
            credentials: text("/authentication/credentials"),
            version: text("/version")?,
        })
    }

    /// As it is shown to its owner.
    pub(super) fn shown(&self, task: &str, version: Version) -> Value {
        let mut config = json!({ "id": self.id, "url": self.url });
        if let Some(token) = &self.token {
            config["token"] = json!(token);
        }
        if self.scheme.is_some() || self.credentials.is_some() {
            let mut auth = json!({});
            if let Some(scheme) = &self.scheme {
                match version {
                    Version::V1 => auth["scheme"] = json!(scheme),
                    Version::V03 => auth["schemes"] = json!([scheme]),
                }
            }
            if let Some(credentials) = &self.credentials {
                auth["credentials"] = json!(credentials);
            }
            config["authentication"] = auth;
        }
        match version {
            Version::V1 => {
                config["taskId"] = json!(task);
                config
            }
            Version::V03 => json!({ "taskId": task, "pushNotificationConfig": config }),
        }
    }
}

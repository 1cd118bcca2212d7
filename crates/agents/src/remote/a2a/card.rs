//! Where and how an A2A agent is spoken to, as its card says.
//!
//! Invariant: a card chooses no host. What it says of the path is believed; everything goes to
//! the origin that was configured, with the key that was meant for it.

use std::sync::PoisonError;

use reqwest::Url;
use serde_json::Value;

use super::{NO_METHOD, NO_VERSION, UNSUPPORTED};
use crate::model::{Failure, FailureKind};
use crate::remote::Remote;
use crate::remote::wire::below;

/// Where agents have their cards: those of 1.0 and 0.3, and of 0.2.
const CARDS: [&[&str]; 2] = [&[".well-known", "agent-card.json"], &[".well-known", "agent.json"]];

/// How an agent is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::remote) struct Endpoint {
    pub(super) url: Url,
    pub(super) version: Version,
    pub(super) streams: Streams,
    /// Whether the agent said so itself.
    told: Told,
}

/// Which A2A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V03,
}

/// Whether answers come as streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    Yes,
    No,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    ByCard,
    ByNobody,
}

impl Endpoint {
    /// Another way to speak to it, after it said that it does not speak like this.
    pub(super) fn instead(&self, code: Option<&str>) -> Option<Self> {
        let mut other = self.clone();
        match code {
            Some(NO_METHOD | NO_VERSION) if self.told == Told::ByNobody => match self.version {
                Version::V1 => other.version = Version::V03,
                Version::V03 => return None,
            },
            Some(NO_METHOD | UNSUPPORTED) if self.streams == Streams::Yes => {
                other.streams = Streams::No;
            }
            _ => return None,
        }
        Some(other)
    }
}

impl Remote {
    /// How it is spoken to: as is known, or as its card says.
    pub(super) async fn endpoint(&self) -> Result<Endpoint, Failure> {
        let known = self.endpoint.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known {
            return Ok(known);
        }
        let found = self.discover().await?;
        self.remember_endpoint(&found);
        Ok(found)
    }

    pub(super) fn remember_endpoint(&self, endpoint: &Endpoint) {
        *self.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = Some(endpoint.clone());
    }

    pub(super) fn forget_endpoint(&self) {
        *self.endpoint.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Looks for the card: at the URL, below it, and at the root of its host.
    async fn discover(&self) -> Result<Endpoint, Failure> {
        let mut places = Vec::new();
        if self.url.path().ends_with(".json") {
            places.push(self.url.clone());
        } else {
            let mut root = self.url.clone();
            root.set_path("");
            root.set_query(None);
            for base in [&self.url, &root] {
                for card in CARDS {
                    let place = below(base, card);
                    if !places.contains(&place) {
                        places.push(place);
                    }
                }
            }
        }
        for place in places {
            match self.card(place).await {
                Ok(Some(card)) => return endpoint(&self.url, &card),
                Ok(None) => {}
                Err(failure) => return Err(failure),
            }
        }
        // There is no card: the URL is where it is spoken to.
        let (version, streams, told) = (Version::V1, Streams::Yes, Told::ByNobody);
        Ok(Endpoint { url: self.url.clone(), version, streams, told })
    }

    /// A card, if there is one.
    async fn card(&self, place: Url) -> Result<Option<Value>, Failure> {
        let answer = match self.wire.get(place).await {
            Ok(answer) => answer,
            // It has none, or none for us.
            Err(Failure { kind: FailureKind::Refused | FailureKind::Unauthorized, .. }) => {
                return Ok(None);
            }
            Err(failure) => return Err(failure),
        };
        if answer.is_stream() {
            return Ok(None);
        }
        let card = match answer.json().await {
            Ok(card) => card,
            Err(Failure { kind: FailureKind::Refused, .. }) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let is_card = card.get("supportedInterfaces").is_some() || card.get("url").is_some();
        Ok(Some(card).filter(|_| is_card))
    }
}

/// What a card says: the newest version that is spoken over JSON-RPC.
fn endpoint(own: &Url, card: &Value) -> Result<Endpoint, Failure> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let streaming = card.pointer("/capabilities/streaming").and_then(Value::as_bool);
    let streams = if streaming == Some(true) { Streams::Yes } else { Streams::No };
    let list = |key: &str| card.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let is_rpc = |name: Option<String>| name.is_none_or(|n| n.eq_ignore_ascii_case("JSONRPC"));
    let mut found: Vec<(Version, String)> = Vec::new();
    for interface in list("supportedInterfaces") {
        let rpc = is_rpc(text(&interface, "protocolBinding"));
        let version = text(&interface, "protocolVersion").unwrap_or_else(|| "1.0".to_owned());
        let version = if version.starts_with("0.") { Version::V03 } else { Version::V1 };
        found.extend(text(&interface, "url").filter(|_| rpc).map(|url| (version, url)));
    }
    if is_rpc(text(card, "preferredTransport")) {
        found.extend(text(card, "url").map(|url| (Version::V03, url)));
    }
    for interface in list("additionalInterfaces") {
        let rpc = text(&interface, "transport").is_some_and(|name| is_rpc(Some(name)));
        found.extend(text(&interface, "url").filter(|_| rpc).map(|url| (Version::V03, url)));
    }
    let newest = found.iter().find(|(version, _)| *version == Version::V1).or(found.first());
    let Some((version, url)) = newest else {
        return Err(Failure::new(FailureKind::Refused, "its card names no JSON-RPC interface"));
    };
    let told = own.join(url).map_err(|_| {
        Failure::new(FailureKind::Refused, "its card names an address that is none")
    })?;
    let mut url = own.clone();
    url.set_path(told.path());
    url.set_query(told.query());
    Ok(Endpoint { url, version: *version, streams, told: Told::ByCard })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(card: &Value) -> Endpoint {
        endpoint(&"https://agent.example/a".parse().unwrap(), card).unwrap()
    }

    #[test]
    fn the_newest_version_over_json_rpc_is_spoken() {
        let both = json!({
            "supportedInterfaces": [
                { "url": "https://agent.example/grpc", "protocolBinding": "GRPC", "protocolVersion": "1.0" },
                { "url": "https://agent.example/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3" },
                { "url": "https://agent.example/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
            ],
            "url": "https://agent.example/old",
            "capabilities": { "streaming": true },
        });
        let found = of(&both);
        assert_eq!((found.url.path(), found.version), ("/rpc", Version::V1));
        assert_eq!(found.streams, Streams::Yes);
        let old = of(&json!({ "url": "/a2a", "preferredTransport": "JSONRPC" }));
        assert_eq!((old.url.path(), old.version), ("/a2a", Version::V03));
        assert_eq!(old.streams, Streams::No);
    }

    #[test]
    fn a_card_chooses_no_host() {
        let card = json!({ "url": "http://169.254.169.254/latest?x=1" });
        assert_eq!(of(&card).url.as_str(), "https://agent.example/latest?x=1");
        let local = json!({ "url": "http://0.0.0.0:9999/" });
        assert_eq!(of(&local).url.as_str(), "https://agent.example/");
    }

    #[test]
    fn without_json_rpc_there_is_no_way() {
        let card = json!({ "supportedInterfaces": [{ "url": "/g", "protocolBinding": "GRPC" }] });
        assert!(endpoint(&"https://a.example/".parse().unwrap(), &card).is_err());
    }
}

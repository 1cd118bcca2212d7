//! Requests to an agent elsewhere, and their answers.
//!
//! Invariant: every request goes to an address that was screened, no redirect is followed, and an
//! answer is bounded in size and in silence.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use crate::model::{Failure, FailureKind, Key};
use crate::tool::http::Reach;
use crate::tool::http::screen::{client, is_allowed};

/// Bytes of an answer.
const LONGEST: usize = 64 << 20;
/// Bytes of an answer that is one document.
const LONGEST_DOCUMENT: usize = 16 << 20;
/// Bytes of an answer that says what went wrong.
const LONGEST_ERROR: usize = 64 << 10;

/// The way to one agent.
pub(super) struct Wire {
    client: Client,
    headers: HeaderMap,
    key: Option<Key>,
    reach: Reach,
    silence: Duration,
}

/// An answer that has begun.
pub(super) struct Answer {
    response: Response,
    silence: Duration,
    /// Bytes that may still come.
    room: usize,
}

impl Wire {
    pub(super) fn new(
        headers: impl IntoIterator<Item = (HeaderName, HeaderValue)>,
        key: Option<Key>,
        reach: Reach,
        silence: Duration,
    ) -> Result<Self, Failure> {
        let client = client(reach).map_err(|error| Failure::new(FailureKind::Connection, error))?;
        let headers = headers.into_iter().map(|(name, mut value)| {
            value.set_sensitive(true);
            (name, value)
        });
        Ok(Self { client, headers: headers.collect(), key, reach, silence })
    }

    pub(super) async fn get(&self, url: Url) -> Result<Answer, Failure> {
        self.send(Method::GET, url, &[], String::new()).await
    }

    /// Posts JSON; an answer may be a stream.
    pub(super) async fn post(
        &self,
        url: Url,
        extra: &[(&'static str, &'static str)],
        body: &Value,
    ) -> Result<Answer, Failure> {
        self.send(Method::POST, url, extra, body.to_string()).await
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        extra: &[(&'static str, &'static str)],
        body: String,
    ) -> Result<Answer, Failure> {
        if !is_allowed(&url, self.reach) {
            let message = "the agent's address is not public, and `allow_private` is not set";
            return Err(Failure::new(FailureKind::Refused, message));
        }
        let mut request =
            self.client.request(method, url).header(ACCEPT, "application/json, text/event-stream");
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json").body(body);
        }
        for (name, value) in extra {
            request = request.header(*name, *value);
        }
        // Behind the others, so that configuration has the last word.
        let answer = timeout(self.silence, request.headers(self.headers.clone()).send()).await;
        let response = answer.map_err(|_| silent())?.map_err(Failure::connection)?;
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let mut answer = Answer { response, silence: self.silence, room: LONGEST };
        if status / 100 == 2 {
            return Ok(answer);
        }
        answer.room = LONGEST_ERROR;
        let mut said = Vec::new();
        // What has come is enough to go by.
        while let Ok(Some(bytes)) = answer.next().await {
            said.extend_from_slice(&bytes);
        }
        Err(Failure::answered(status, &headers, &said))
    }

    /// A message without what is secret, should the agent repeat it.
    pub(super) fn without_secrets(&self, message: &str) -> String {
        let key = self.key.as_ref();
        let struck = key.map_or_else(|| message.to_owned(), |key| key.struck_from(message));
        let secrets = self.headers.values().filter_map(|value| value.to_str().ok());
        secrets.filter(|value| !value.is_empty()).fold(struck, |m, value| m.replace(value, "…"))
    }
}

impl Answer {
    /// Whether it comes piece by piece.
    pub(super) fn is_stream(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        kind.is_some_and(|kind| kind.to_ascii_lowercase().starts_with("text/event-stream"))
    }

    /// What comes next; nothing at its end.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        let piece = timeout(self.silence, self.response.chunk()).await;
        let Some(piece) = piece.map_err(|_| silent())?.map_err(Failure::connection)? else {
            return Ok(None);
        };
        match self.room.checked_sub(piece.len()) {
            Some(room) => {
                self.room = room;
                Ok(Some(piece))
            }
            None => Err(Failure::new(FailureKind::Refused, "it says more than is taken in")),
        }
    }

    /// All of it.
    pub(super) async fn whole(mut self) -> Result<Vec<u8>, Failure> {
        self.room = LONGEST_DOCUMENT;
        let mut out = Vec::new();
        while let Some(bytes) = self.next().await? {
            out.extend_from_slice(&bytes);
        }
        Ok(out)
    }

    /// All of it, as JSON.
    pub(super) async fn json(self) -> Result<Value, Failure> {
        let body = self.whole().await?;
        serde_json::from_slice(&body)
            .map_err(|error| Failure::new(FailureKind::Refused, format!("no JSON: {error}")))
    }
}

fn silent() -> Failure {
    Failure::new(FailureKind::Connection, "the agent said nothing for too long")
}

/// A place below another. Each step is escaped, so that no id can lead elsewhere.
pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

//! A model, and asking it.

use std::future::Future;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{self, StreamExt as _};

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use reqwest::{RequestBuilder, Response, Url};
use tokio::time::timeout;

use super::provider::Wire;
use super::{
    Failure, FailureKind, Http, Key, Provider, Request, Speech, anthropic, gemini, openai_chat,
    openai_responses,
};
use crate::agent::{Mind, Saying};

/// Bytes of an answer that is not a stream, at most.
const LONGEST_ERROR: usize = 64 << 10;

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct Model {
    provider: Provider,
    name: String,
    base: Url,
    key: Option<Key>,
    timeouts: Timeouts,
    http: Http,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the first byte of an answer.
    pub first_byte: Duration,
    /// For the next bytes.
    pub idle: Duration,
}

impl Default for Timeouts {
    /// Long enough for a model that thinks in silence.
    fn default() -> Self {
        Self { first_byte: Duration::from_secs(300), idle: Duration::from_secs(120) }
    }
}

/// A base URL that requests cannot be made to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a base URL of http or https")]
pub struct BadUrl(String);

impl Model {
    /// A model, at a base URL or where its provider is.
    pub fn new(
        provider: Provider,
        name: &str,
        base: Option<&str>,
        http: Http,
    ) -> Result<Self, BadUrl> {
        let text = base.or(provider.base_url()).unwrap_or_default();
        let bad = || BadUrl(text.to_owned());
        let base = Url::parse(text).map_err(|_| bad())?;
        let usable = matches!(base.scheme(), "http" | "https")
            && base.query().is_none()
            && base.username().is_empty()
            && base.password().is_none();
        if !usable {
            return Err(bad());
        }
        let (name, timeouts) = (name.to_owned(), Timeouts::default());
        Ok(Self { provider, name, base, key: None, timeouts, http })
    }

    /// The same, with a key.
    pub fn with_key(self, key: Key) -> Self {
        Self { key: Some(key), ..self }
    }

    /// The same, with other times to wait.
    pub fn with_timeouts(self, timeouts: Timeouts) -> Self {
        Self { timeouts, ..self }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who offers it.
    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Asks. The request is read before this returns; what comes of it says the answer piece by
    /// piece. Dropping either ends the call.
    pub fn stream(
        &self,
        request: &Request<'_>,
    ) -> impl Future<Output = Result<Speech, Failure>> + Send + use<> {
        let (model, asked) = (self.clone(), self.post(request));
        async move {
            let answer = timeout(model.timeouts.first_byte, asked.send()).await;
            let answer = answer.map_err(|_| silent())?.map_err(Failure::connection)?;
            if answer.status().as_u16() != 200 || !is_stream(&answer) {
                return Err(model.refusal(answer).await.without(model.key.as_ref()));
            }
            Ok(Speech::new(model.provider, answer, model.timeouts, model.key))
        }
    }

    /// The body of a request, as it is sent.
    pub fn body(&self, request: &Request<'_>) -> String {
        match self.provider.wire() {
            Wire::Messages => anthropic::body(&self.name, request),
            Wire::Responses => openai_responses::body(&self.name, request),
            Wire::Chat => openai_chat::body(self.provider, &self.name, request),
            Wire::GenerateContent => gemini::body(request),
        }
    }

    fn post(&self, request: &Request<'_>) -> RequestBuilder {
        let wire = self.provider.wire();
        let mut headers = HeaderMap::new();
        let (header, before) = wire.key_header();
        headers.extend(self.key.as_ref().and_then(|key| Some((header, key.header(before)?))));
        let path = match wire {
            Wire::Messages => "v1/messages",
            Wire::Responses => "responses",
            Wire::Chat => "chat/completions",
            Wire::GenerateContent => &gemini::path(&self.name),
        };
        let asked = self
            .http
            .0
            .post(self.url(path))
            .headers(headers)
            .header(CONTENT_TYPE, "application/json")
            .body(self.body(request));
        match wire {
            Wire::Messages => asked.header("anthropic-version", anthropic::VERSION),
            Wire::GenerateContent => asked.query(&[("alt", "sse")]),
            Wire::Responses | Wire::Chat => asked,
        }
    }

    fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            // Each is escaped, so no name of a model can lead elsewhere.
            segments.pop_if_empty().extend(path.split('/'));
        }
        url
    }

    async fn refusal(&self, mut answer: Response) -> Failure {
        let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
        let mut body = Vec::new();
        while body.len() < LONGEST_ERROR {
            match timeout(self.timeouts.idle, answer.chunk()).await {
                Ok(Ok(Some(bytes))) => body.extend_from_slice(&bytes),
                // What has come is enough to go by.
                _ => break,
            }
        }
        body.truncate(LONGEST_ERROR);
        let mut failure = Failure::answered(status, &headers, &body);
        if status == 200 && failure.kind == FailureKind::Refused {
            failure.kind = FailureKind::Provider;
        }
        failure
    }
}

impl Mind for Model {
    fn name(&self) -> &str {
        &self.name
    }

    fn provider(&self) -> &str {
        self.provider.author()
    }

    fn written(&self, request: &Request<'_>) -> String {
        self.body(request)
    }

    fn ask(&self, request: &Request<'_>) -> BoxFuture<'static, Result<Saying, Failure>> {
        let asked = self.stream(request);
        let pieces = |speech| {
            stream::unfold(speech, |mut speech: Speech| async move {
                let next = speech.next().await?;
                Some((next, speech))
            })
        };
        async move { Ok(pieces(asked.await?).boxed()) }.boxed()
    }
}

/// Whether an answer may be a stream: not all servers say so, but what is none says what it is.
fn is_stream(answer: &Response) -> bool {
    let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    !kind.starts_with("application/json") && !kind.starts_with("text/html")
}

pub(super) fn silent() -> Failure {
    Failure::new(FailureKind::Connection, "the provider did not answer in time")
}

//! Tools that are one HTTP request.
//!
//! Invariant: what a model says chooses no host, and no request reaches an address that is not
//! public unless the tool allows it.

pub mod screen;
mod template;

pub use template::TemplateError;

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::{BoxFuture, FutureExt as _};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response, StatusCode};
use serde_json::{Map, Value};

use self::screen::is_allowed;
use self::template::Template;
use super::{Interrupted, Invocation, Run, SchemaError, Tool, ToolError};
use crate::credential::{Credential, Sent};
use crate::model::ToolSpec;

/// Bytes of an answer that says what went wrong.
const ERROR: usize = 4 << 10;

/// A tool that is one HTTP request.
#[derive(Clone)]
pub struct Options {
    /// As the model knows it.
    pub spec: ToolSpec,
    /// `GET`, `POST` …
    pub method: Method,
    /// The address; `{name}` stands for an argument, in the path or the query.
    pub url: String,
    /// Sent with every request. The values are never logged, nor in the journal.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Where arguments go that the address does not name.
    pub rest: Rest,
    /// Which addresses it may reach.
    pub reach: Reach,
    /// How long it may take.
    pub timeout: Duration,
    /// Bytes of an answer.
    pub limit: usize,
}

/// Where arguments go that the address does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rest {
    /// Into the body as JSON, or into the query where the method has no body.
    #[default]
    ByMethod,
    /// Into the query.
    Query,
    /// Into the body, as JSON.
    Json,
}

/// Which addresses a tool may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Only public ones.
    #[default]
    Public,
    /// Also those of this machine and of private networks.
    Private,
}

/// Why there is no such tool.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum HttpToolError {
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Url(#[from] TemplateError),
    #[error("the address names `{0}`, and the schema does not")]
    NoArgument(String),
    #[error("no connections can be made: {0}")]
    Client(String),
}

impl Options {
    /// A request with sensible defaults.
    pub fn new(spec: ToolSpec, method: Method, url: impl Into<String>) -> Self {
        Self {
            spec,
            method,
            url: url.into(),
            headers: Vec::new(),
            rest: Rest::default(),
            reach: Reach::default(),
            timeout: Duration::from_secs(30),
            limit: 256 << 10,
        }
    }
}

/// The tool; refused if its address or its schema is broken.
pub fn tool(options: Options) -> Result<Tool, HttpToolError> {
    let template = Template::parse(&options.url)?;
    let known = options.spec.schema.get("properties").and_then(Value::as_object);
    for name in template.names() {
        if !known.is_some_and(|known| known.contains_key(name)) {
            return Err(HttpToolError::NoArgument(name.to_owned()));
        }
    }
    let client = screen::client(options.reach).map_err(HttpToolError::Client)?;
    let has_body = !matches!(options.method, Method::GET | Method::HEAD | Method::DELETE);
    let headers = options.headers.into_iter().map(|(name, mut value)| {
        value.set_sensitive(true);
        (name, value)
    });
    let request = Request {
        client,
        template,
        headers: headers.collect(),
        rest: match options.rest {
            Rest::ByMethod if has_body => Rest::Json,
            Rest::ByMethod => Rest::Query,
            chosen => chosen,
        },
        reach: options.reach,
        limit: options.limit,
        method: options.method.clone(),
    };
    let mut tool = Tool::here(options.spec, Arc::new(Caller(Arc::new(request))))?;
    tool.timeout = options.timeout;
    // What changes nothing more when it is done twice may be done again.
    tool.interrupted = match options.method.is_idempotent() {
        true => Interrupted::Again,
        false => Interrupted::Fail,
    };
    Ok(tool)
}

struct Caller(Arc<Request>);

impl Run for Caller {
    fn run(&self, call: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        let request = self.0.clone();
        async move { request.send(call.arguments, call.credential.as_ref()).await }.boxed()
    }
}

struct Request {
    client: reqwest::Client,
    method: Method,
    template: Template,
    headers: HeaderMap,
    rest: Rest,
    reach: Reach,
    limit: usize,
}

impl Request {
    async fn send(
        &self,
        arguments: Value,
        credential: Option<&Credential>,
    ) -> Result<Value, ToolError> {
        let Value::Object(mut arguments) = arguments else {
            return Err(ToolError("the arguments must be an object".to_owned()));
        };
        let url = self.template.fill(&mut arguments).map_err(ToolError)?;
        if !is_allowed(&url, self.reach) {
            return Err(ToolError("that address is not public".to_owned()));
        }
        let mut request = self.client.request(self.method.clone(), url);
        if self.rest == Rest::Json {
            let json = HeaderValue::from_static("application/json");
            request = request.header(CONTENT_TYPE, json).body(Value::Object(arguments).to_string());
        } else if !arguments.is_empty() {
            request = request.query(&pairs(&arguments));
        }
        // Behind the others, so that configuration has the last word.
        request = request.headers(self.headers.clone());
        request = match credential.map(|credential| &credential.sent) {
            None => request,
            Some(Sent::Header(name, value)) => {
                request.headers(HeaderMap::from_iter([(name.clone(), value.clone())]))
            }
            Some(Sent::Query(name, value)) => request.query(&[(name, value)]),
        };
        let answer = request.send().await.map_err(|error| ToolError(said(error)))?;
        let no = matches!(answer.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        if let Some(credential) = credential.filter(|_| no) {
            credential.refuse();
        }
        self.read(answer).await
    }

    async fn read(&self, answer: Response) -> Result<Value, ToolError> {
        let status = answer.status();
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
        });
        let limit = if status.is_success() { self.limit } else { ERROR };
        let (body, whole) = body(answer, limit).await.map_err(|error| ToolError(said(error)))?;
        let text = String::from_utf8_lossy(&body).into_owned();
        if status.is_redirection() {
            return Err(ToolError(format!("{status}: redirects are not followed")));
        }
        if !status.is_success() {
            return Err(ToolError(format!("{status}: {text}")));
        }
        match whole {
            Whole::Yes if is_json => Ok(serde_json::from_str(&text).unwrap_or(Value::String(text))),
            Whole::Yes => Ok(Value::String(text)),
            Whole::No => Ok(Value::String(format!("{text}… (the first {limit} bytes are shown)"))),
        }
    }
}

/// Whether all of an answer was read.
enum Whole {
    Yes,
    No,
}

async fn body(answer: Response, limit: usize) -> Result<(Vec<u8>, Whole), reqwest::Error> {
    let mut body = Vec::new();
    let mut pieces = answer.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece?;
        let room = limit - body.len();
        if piece.len() > room {
            body.extend_from_slice(piece.get(..room).unwrap_or_default());
            return Ok((body, Whole::No));
        }
        body.extend_from_slice(&piece);
    }
    Ok((body, Whole::Yes))
}

/// Arguments as a query has them; lists are told value by value.
fn pairs(arguments: &Map<String, Value>) -> Vec<(&str, String)> {
    let mut pairs = Vec::new();
    for (name, value) in arguments {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                pairs.extend(items.iter().map(|item| (name.as_str(), template::plain(item))));
            }
            other => pairs.push((name.as_str(), template::plain(other))),
        }
    }
    pairs
}

/// What went wrong, without the address: it may have secrets in it.
fn said(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        said = format!("{said}: {next}");
        cause = next.source();
    }
    said
}

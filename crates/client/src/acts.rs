//! Acting on a thread: answering, canceling, artifacts.
//!
//! What can be done but once is refused the second time, with what happened first in the error's
//! details. Under a key ([`Acts::once`]), a second try gets the first answer.

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::requests::{appended, segment};
use crate::{Appended, Client, Error, Pieces};

/// Which version of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Version {
    /// The last.
    #[default]
    Latest,
    /// This one, counted from 1.
    Number(u64),
}

/// What a version is written on top of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// Whatever is there.
    #[default]
    Anything,
    /// Nothing: the artifact must not be there.
    Nothing,
    /// This version; another one is refused, with its number in the error's details.
    Version(u64),
}

/// A version to be written.
#[derive(Debug, Clone, Default)]
pub struct NewVersion {
    /// What is in it.
    pub content: Vec<u8>,
    /// What it is written on top of.
    pub base: Base,
    /// Its media type.
    pub media_type: Option<String>,
    /// `kind`, `name`, `description`, `taskId`, `visibility`.
    pub query: Vec<(&'static str, String)>,
}

/// A version that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its number.
    pub version: u64,
    /// Where its events are.
    pub appended: Appended,
}

/// Acts on one thread.
#[derive(Debug, Clone)]
pub struct Acts {
    client: Client,
    /// The thread as a segment of a path.
    thread: String,
    key: Option<String>,
}

impl Client {
    /// To act on a thread.
    pub fn on(&self, thread: &str) -> Acts {
        Acts { client: self.clone(), thread: segment(thread), key: None }
    }
}

impl Acts {
    /// Under a key, which makes a second try harmless: it gets the first answer.
    #[must_use]
    pub fn once(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// What waits for someone, with the whole question.
    pub async fn inputs(&self) -> Result<Value, Error> {
        self.get("inputs").await
    }

    /// Answers a question: `{"value", "userId"?, "reason"?}`.
    pub async fn answer(&self, input: &str, body: &Value) -> Result<Appended, Error> {
        self.act(&format!("inputs/{}", segment(input)), body).await
    }

    /// Hands a credential over, or says that a user has authenticated: `{"credential"?, "userId"?}`.
    pub async fn authenticated(&self, auth: &str, body: &Value) -> Result<Appended, Error> {
        self.act(&format!("auths/{}", segment(auth)), body).await
    }

    /// Tasks, with their parents and children.
    pub async fn tasks(&self) -> Result<Value, Error> {
        self.get("tasks").await
    }

    /// Stops everything that runs: `{"reason"?}`.
    pub async fn cancel(&self, body: &Value) -> Result<Appended, Error> {
        self.act("cancel", body).await
    }

    /// Stops a task with all that came of it: `{"reason"?}`.
    pub async fn cancel_task(&self, task: &str, body: &Value) -> Result<Appended, Error> {
        self.act(&format!("tasks/{}/cancel", segment(task)), body).await
    }

    /// Stops one tool call: `{"reason"?}`.
    pub async fn cancel_call(&self, call: &str, body: &Value) -> Result<Appended, Error> {
        self.act(&format!("tool-calls/{}/cancel", segment(call)), body).await
    }

    /// Artifacts with their versions.
    pub async fn artifacts(&self) -> Result<Value, Error> {
        self.get("artifacts").await
    }

    /// A version of an artifact, as it arrives.
    pub async fn download(&self, artifact: &str, version: Version) -> Result<Pieces, Error> {
        self.client.pieces(self.content(Method::GET, artifact, version)).await
    }

    /// The rows of a dataset as `json`, `csv` or `ndjson`, as they arrive.
    pub async fn rows(
        &self,
        artifact: &str,
        version: Version,
        format: &str,
    ) -> Result<Pieces, Error> {
        let request = self.content(Method::GET, artifact, version).query(&[("format", format)]);
        self.client.pieces(request).await
    }

    /// Writes the next version of an artifact.
    pub async fn upload(&self, artifact: &str, new: NewVersion) -> Result<Written, Error> {
        let request = self.content(Method::PUT, artifact, Version::Latest).query(&new.query);
        let request = match new.base {
            Base::Anything => request,
            Base::Nothing => request.header("If-None-Match", "*"),
            Base::Version(version) => request.header("If-Match", format!("\"{version}\"")),
        };
        let request = match &new.media_type {
            Some(media_type) => request.header("Content-Type", media_type),
            None => request,
        };
        let told = self.client.json(self.keyed(request).body(new.content)).await?;
        let version = told["version"].as_u64();
        let version = version.ok_or_else(|| Error::Answer("`version` is missing".to_owned()))?;
        Ok(Written { version, appended: appended(&told)? })
    }

    fn content(&self, method: Method, artifact: &str, version: Version) -> RequestBuilder {
        let path = self.path(&format!("artifacts/{}/content", segment(artifact)));
        let request = self.client.request(method, &path);
        match version {
            Version::Latest => request,
            Version::Number(number) => request.query(&[("version", number)]),
        }
    }

    async fn get(&self, path: &str) -> Result<Value, Error> {
        self.client.get(&self.path(path)).await
    }

    async fn act(&self, path: &str, body: &Value) -> Result<Appended, Error> {
        let request = self.client.request(Method::POST, &self.path(path));
        appended(&self.client.json(self.keyed(request).body(body.to_string())).await?)
    }

    fn path(&self, rest: &str) -> String {
        format!("/api/threads/{}/{rest}", self.thread)
    }

    fn keyed(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.key {
            Some(key) => request.header("Idempotency-Key", key),
            None => request,
        }
    }
}

//! Requests that are answered at once.

use bytes::Bytes;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::{Authorities, Error, Follow, Tail};

/// A server, and who asks. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    key: Option<String>,
}

/// Where events were put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// Sequence number of the first.
    pub first: u64,
    /// Sequence number of the last.
    pub last: u64,
    /// The cursor after them.
    pub cursor: String,
    /// Whether they were there already, under the same key.
    pub duplicate: bool,
}

impl Client {
    /// A server at a URL. Over HTTPS it must be one that the system trusts.
    pub fn new(base: &str) -> Self {
        Self::trusting(base, &Authorities::default())
    }

    /// A server that the system trusts, or one of these authorities.
    pub fn trusting(base: &str, authorities: &Authorities) -> Self {
        let base = base.trim_end_matches('/').to_owned();
        Self { http: authorities.http(), base, key: None }
    }

    /// With a key.
    #[must_use]
    pub fn with_key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Makes a thread.
    pub async fn create(&self, thread: &Value) -> Result<Value, Error> {
        self.json(self.request(Method::POST, "/api/threads").body(thread.to_string())).await
    }

    /// Appends events: one, an array of them, or one a line.
    pub async fn append(&self, thread: &str, events: &str) -> Result<Appended, Error> {
        let path = of(thread, "/events");
        appended(&self.json(self.request(Method::POST, &path).body(events.to_owned())).await?)
    }

    /// Appends events under a key, which makes a second try harmless.
    pub async fn append_once(
        &self,
        thread: &str,
        events: &str,
        key: &str,
    ) -> Result<Appended, Error> {
        let path = of(thread, "/events");
        let request = self.request(Method::POST, &path).header("Idempotency-Key", key);
        appended(&self.json(request.body(events.to_owned())).await?)
    }

    /// Asks for something and reads the answer as JSON.
    pub async fn get(&self, path: &str) -> Result<Value, Error> {
        self.json(self.request(Method::GET, path)).await
    }

    /// Sends something and reads the answer as JSON.
    pub async fn post(&self, path: &str, body: impl Into<String>) -> Result<Value, Error> {
        self.json(self.request(Method::POST, path).body(body.into())).await
    }

    /// A page of a list, such as `/api/threads`.
    pub async fn list(&self, path: &str, query: &[(&str, String)]) -> Result<Value, Error> {
        self.json(self.request(Method::GET, path).query(query)).await
    }

    /// A thread's state, head and cursor.
    pub async fn show(&self, thread: &str) -> Result<Value, Error> {
        self.get(&of(thread, "")).await
    }

    /// A page of a thread's journal, as the text that came.
    pub async fn page(&self, thread: &str, query: &[(&str, String)]) -> Result<String, Error> {
        self.text(self.request(Method::GET, &of(thread, "/events")).query(query)).await
    }

    /// Branches off from a thread: `{"at"?, "id"?, "title"?}`.
    pub async fn fork(&self, thread: &str, branch: &Value) -> Result<Value, Error> {
        self.post(&of(thread, "/fork"), branch.to_string()).await
    }

    /// What two threads have after the point they share.
    pub async fn diff(&self, thread: &str, query: &[(&str, String)]) -> Result<Value, Error> {
        self.list(&of(thread, "/diff"), query).await
    }

    /// Whether the caller may see what only operators see.
    pub async fn is_operator(&self) -> Result<bool, Error> {
        match self.text(self.request(Method::GET, "/metrics")).await {
            Ok(_) => Ok(true),
            Err(Error::Refused { status: 401 | 403, .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Deletes a thread.
    pub async fn delete(&self, thread: &str) -> Result<(), Error> {
        self.send(self.request(Method::DELETE, &of(thread, ""))).await.map(drop)
    }

    /// Makes a thread from a source in any dialect.
    pub async fn import(&self, source: &str, query: &[(&str, String)]) -> Result<Value, Error> {
        let request = self.request(Method::POST, "/api/import").query(query);
        self.json(request.body(source.to_owned())).await
    }

    /// A thread in any dialect, as it arrives.
    pub async fn export(&self, thread: &str, query: &[(&str, String)]) -> Result<Pieces, Error> {
        let path = of(thread, "/export");
        self.pieces(self.request(Method::GET, &path).query(query)).await
    }

    pub(crate) async fn pieces(&self, request: RequestBuilder) -> Result<Pieces, Error> {
        Ok(Pieces { response: self.send(request).await?, url: self.base.clone() })
    }

    /// A thread's journal byte for byte with its hash chain, piece by piece.
    pub async fn archive(&self, thread: &str) -> Result<Pieces, Error> {
        self.pieces(self.request(Method::GET, &of(thread, "/archive"))).await
    }

    /// Takes the content out of events for good; the answer has the receipt.
    pub async fn redact(
        &self,
        thread: &str,
        events: &[u64],
        reason: Option<&str>,
    ) -> Result<Value, Error> {
        let body = json!({ "events": events, "reason": reason });
        self.post(&of(thread, "/redact"), body.to_string()).await
    }

    /// Erases a thread, and those that branched off from it if asked; the answer has the receipts.
    pub async fn erase(
        &self,
        thread: &str,
        branches: bool,
        reason: Option<&str>,
    ) -> Result<Value, Error> {
        let body = json!({ "branches": branches, "reason": reason });
        self.post(&of(thread, "/erase"), body.to_string()).await
    }

    /// Receipts of threads that were erased, the newest first.
    pub async fn erasures(&self) -> Result<Value, Error> {
        self.get("/api/erasures?limit=1000").await
    }

    /// Lets a branch take the id of the thread it came from, which is called `old` from then on, or
    /// something new.
    pub async fn promote(&self, branch: &str, old: Option<&str>) -> Result<Value, Error> {
        let path = format!("/api/threads/{}/promote", segment(branch));
        let body = old.map_or_else(|| json!({}), |old| json!({ "old": old }));
        self.post(&path, body.to_string()).await
    }

    /// Makes a link to a thread: `{"at"?, "expiresAt"?, "title"?, "show"?}`. The answer has its
    /// token, this once.
    pub async fn share(&self, thread: &str, share: &Value) -> Result<Value, Error> {
        let path = format!("/api/threads/{}/shares", segment(thread));
        self.post(&path, share.to_string()).await
    }

    /// A thread's links, without their tokens.
    pub async fn shares(&self, thread: &str) -> Result<Value, Error> {
        self.get(&format!("/api/threads/{}/shares", segment(thread))).await
    }

    /// Ends a link for good.
    pub async fn revoke_share(&self, thread: &str, share: &str) -> Result<(), Error> {
        let path = format!("/api/threads/{}/shares/{}", segment(thread), segment(share));
        self.send(self.request(Method::DELETE, &path)).await.map(|_| ())
    }

    /// Follows a thread, through lost connections.
    pub fn follow(&self, thread: &str, follow: Follow) -> Tail {
        Tail::new(self.clone(), thread, follow)
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let lost = |cause: reqwest::Error| Error::Connection { url: self.base.clone(), cause };
        let response = request.send().await.map_err(lost)?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let text = response.text().await.map_err(lost)?;
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        let error = &answer["error"];
        let message = error["message"].as_str().map_or_else(|| status.to_string(), str::to_owned);
        Err(Error::Refused {
            status: status.as_u16(),
            code: error["code"].as_str().unwrap_or_default().to_owned(),
            message,
            pointer: error["pointer"].as_str().map(str::to_owned),
            details: error["details"].clone(),
        })
    }

    async fn text(&self, request: RequestBuilder) -> Result<String, Error> {
        let text = self.send(request).await?.text().await;
        text.map_err(|cause| Error::Connection { url: self.base.clone(), cause })
    }

    pub(crate) async fn json(&self, request: RequestBuilder) -> Result<Value, Error> {
        let text = self.text(request).await?;
        serde_json::from_str(&text).map_err(|error| Error::Answer(error.to_string()))
    }
}

/// An answer that arrives piece by piece.
#[derive(Debug)]
pub struct Pieces {
    response: Response,
    url: String,
}

impl Pieces {
    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.response.chunk().await;
        piece.map_err(|cause| Error::Connection { url: self.url.clone(), cause })
    }
}

pub(crate) fn appended(answer: &Value) -> Result<Appended, Error> {
    let number = |name: &str| {
        answer[name].as_u64().ok_or_else(|| Error::Answer(format!("`{name}` is missing")))
    };
    Ok(Appended {
        first: number("first")?,
        last: number("last")?,
        cursor: answer["cursor"].as_str().unwrap_or_default().to_owned(),
        duplicate: answer["duplicate"].as_bool().unwrap_or_default(),
    })
}

/// A path of a thread.
pub(crate) fn of(thread: &str, rest: &str) -> String {
    format!("/api/threads/{}{rest}", segment(thread))
}

/// An id as a segment of a path.
pub(crate) fn segment(id: &str) -> String {
    let mut out = String::with_capacity(id.len());
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

//! An append as nearly everyone sends it, answered without a request and a response being made.
//!
//! One route is asked for as often as all others together, and most of what it cost was carrying:
//! maps of headers, extensions, futures around futures. Here its words are read where they lie.
//! The authorizer, what makes an append of a body, and what counts and logs are those of every
//! request.
//!
//! Invariant: what is answered here is answered as the route would. Whatever could make a
//! difference that is not known here (a lease, a page's origin, another spelling) is left to it.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, Method, StatusCode, header};
use httparse::Header;
use selvedge_store::{Append, Appended};

use super::MOST;
use super::answer::dated;
use crate::auth::guard::{Caller, Shown, admit};
use crate::edge::headers::missing;
use crate::edge::{Asked, late};
use crate::routes::{Site, Tell, in_own_words};
use crate::surface::native::events::{Given, reached, tell};
use crate::{App, Error};

/// How it begins, and how its path ends.
const BEGIN: &[u8] = b"POST /api/threads/";
const THREADS: &str = "/api/threads/";
const EVENTS: &str = "/events";
/// Headers of a request; one with more is left to others.
const HEADERS: usize = 24;
/// Bytes that an answer has room for.
const ANSWER: usize = 768;

/// An append that was asked for, and all that its answer needs.
pub(super) struct Swift {
    /// Bytes of the request.
    pub(super) size: usize,
    /// Whether the connection ends with its answer.
    pub(super) last: bool,
    asked: Asked,
    thread: String,
    /// Who asks, for the log.
    caller: Option<Arc<str>>,
    tell: Tell,
    append: Option<Result<Append, Error>>,
}

/// What is said to it.
pub(super) enum Said {
    /// All of an answer.
    Text(Vec<u8>),
    /// What went wrong.
    Response(Response<Body>),
}

impl Swift {
    /// Reads one, if it is what a buffer begins with, and all of it is there.
    pub(super) fn read(
        app: &App,
        site: &Site,
        buffer: &[u8],
        peer: SocketAddr,
    ) -> Option<Box<Self>> {
        if !buffer.starts_with(BEGIN) {
            return None;
        }
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(head)) = request.parse(buffer) else { return None };
        let path = request.path?;
        let thread = path.strip_prefix(THREADS)?.strip_suffix(EVENTS)?;
        if request.version != Some(1) || thread.is_empty() || !thread.bytes().all(is_plain) {
            return None;
        }
        let words = Words::read(request.headers)?;
        let size = head.checked_add(words.length?)?;
        if size > MOST || size - head > app.options().body_bytes {
            return None;
        }
        let body = buffer.get(head..size)?;
        let (scope, tell) = site.rule(&Method::POST, path)?;
        let asked = Asked::new(words.name, Method::POST, path);
        let shown = Shown {
            authorization: words.authorization,
            host: words.host,
            origin: None,
            query: None,
            peer: Some(peer.ip()),
        };
        let admitted = admit(app, scope, &shown);
        let caller = admitted.as_ref().ok().map(|principal| principal.name.clone());
        let given = Given { key: words.key, expected: words.expected, body };
        let append = admitted.and_then(|who| given.append(app, &who, thread, None));
        let (thread, append) = (thread.to_owned(), Some(append));
        Some(Box::new(Self { size, last: words.last, asked, thread, caller, tell, append }))
    }

    /// Appends it, once.
    pub(super) async fn append(&mut self, app: &App) -> Result<Appended, Error> {
        match self.append.take() {
            Some(Ok(append)) => app.append_to(&self.thread, append).await,
            Some(Err(error)) => Err(error),
            None => Err(late(app)),
        }
    }

    /// The answer; `last` if the connection ends with it.
    pub(super) fn told(self, app: &App, came: Result<Appended, Error>, last: bool) -> Said {
        let appended = match came {
            Ok(appended) => appended,
            Err(error) => {
                let mut response = in_own_words(self.tell, error.into_response());
                if let Some(caller) = self.caller {
                    response.extensions_mut().insert(Caller(caller));
                }
                return Said::Response(self.asked.finish(app, response, None));
            }
        };
        self.asked.note(app, (StatusCode::OK, None), self.caller.as_deref());
        Said::Text(text(&appended, &self.asked.id, last))
    }
}

/// Whether a byte of an id stands for itself in every reading of a path.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.~:@".contains(&byte)
}

/// What the headers of an append say.
#[derive(Default)]
struct Words<'h> {
    host: Option<&'h [u8]>,
    authorization: Option<&'h [u8]>,
    /// The request's own name.
    name: Option<&'h [u8]>,
    key: Option<&'h [u8]>,
    expected: Option<&'h [u8]>,
    length: Option<usize>,
    last: bool,
}

impl<'h> Words<'h> {
    /// Reads them; none if there is one that is for others to read, or one twice.
    fn read(headers: &[Header<'h>]) -> Option<Self> {
        let mut words = Self::default();
        for header in headers {
            let (name, value) = (header.name, header.value);
            let is = |known: &str| name.eq_ignore_ascii_case(known);
            if is("content-length") {
                let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                let text = std::str::from_utf8(value).ok().filter(|_| digits)?;
                if words.length.replace(text.parse().ok()?).is_some() {
                    return None;
                }
            } else if is("connection") {
                words.last |= value.eq_ignore_ascii_case(b"close");
                if !words.last && !value.eq_ignore_ascii_case(b"keep-alive") {
                    return None;
                }
            } else if OTHERS.iter().any(|other| is(other)) {
                return None;
            } else if let Some(word) = words.named(name)
                && word.replace(value).is_some()
            {
                return None;
            }
        }
        Some(words)
    }

    fn named(&mut self, name: &str) -> Option<&mut Option<&'h [u8]>> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        Some(match name.len() {
            4 if is("host") => &mut self.host,
            8 if is("if-match") => &mut self.expected,
            12 if is("x-request-id") => &mut self.name,
            13 if is("authorization") => &mut self.authorization,
            15 if is("idempotency-key") => &mut self.key,
            // It would not be looked at by the route either.
            _ => return None,
        })
    }
}

/// Headers whose meaning is not known here.
const OTHERS: [&str; 6] =
    ["origin", "selvedge-lease", "transfer-encoding", "expect", "upgrade", "te"];

/// An answer: what the route says, with the headers that every answer has.
fn text(appended: &Appended, id: &str, last: bool) -> Vec<u8> {
    /// What is the same in all of them.
    static HEAD: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut head = b"HTTP/1.1 200 OK\r\n".to_vec();
        let own = [(header::CONTENT_TYPE, "application/json"), (header::VARY, "origin")];
        for (name, value) in own.into_iter().chain(missing(&HeaderMap::new())) {
            head.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        head
    });
    let cursor = reached(appended).to_string();
    let mut body = String::with_capacity(96);
    tell(appended, &cursor, "", &mut body);
    let mut out = Vec::with_capacity(ANSWER);
    out.extend_from_slice(&HEAD);
    let length = body.len();
    // Writing into memory does not fail.
    let _ = write!(out, "etag: \"{cursor}\"\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n");
    if last {
        out.extend_from_slice(b"connection: close\r\n");
    }
    dated(|date| {
        let _ = write!(out, "date: {date}\r\n\r\n");
    });
    out.extend_from_slice(body.as_bytes());
    out
}

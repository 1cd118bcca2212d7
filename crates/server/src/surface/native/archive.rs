//! A thread's journal with its hash chain, so that a copy can be verified (`selvedge verify
//! --archive`): the entries byte for byte, each with its link.

use std::fmt::Write as _;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use http::header;
use selvedge_protocol::json::from_utf8;
use selvedge_protocol::time;
use selvedge_store::ThreadRef;
use selvedge_store::chain::{Chained, Digest};

use crate::auth::Principal;
use crate::extract::Id;
use crate::{App, Error};

/// Entries of a piece.
const PIECE: usize = 1000;

/// `GET /api/threads/{id}/archive`
pub(crate) async fn archive(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.fresh(&principal.thread(&id)).await?;
    let of = thread.clone();
    let head = app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let state = Some(Archive { app, thread, seen: 0, head, link: None });
    let bytes = stream::unfold(state, |state| async { state?.step().await });
    let lines = [(header::CONTENT_TYPE, "application/x-ndjson")];
    Ok((lines, Body::from_stream(bytes)).into_response())
}

/// An archive in the making.
struct Archive {
    app: App,
    thread: ThreadRef,
    seen: u64,
    head: u64,
    link: Option<Digest>,
}

impl Archive {
    async fn step(mut self) -> Option<(Result<Bytes, Error>, Option<Self>)> {
        if self.seen >= self.head {
            return None;
        }
        let app = self.app.clone();
        let run = move |store: &selvedge_store::Store| {
            if let Some(folded) = store.folded(&self.thread, self.seen)? {
                return Err(Error::folded(&folded));
            }
            let entries = store.chained(&self.thread, self.seen, PIECE)?;
            if entries.is_empty() {
                // Deleted meanwhile.
                return Err(Error::new(crate::ErrorCode::NotFound, "the thread is gone"));
            }
            let (mut out, head) = (String::new(), self.head);
            for one in entries.iter().take_while(|one| one.entry.seq <= head) {
                self.seen = one.entry.seq;
                self.line(one, &mut out);
            }
            Ok((Bytes::from(out), self))
        };
        match app.blocking(run).await {
            Ok((bytes, archive)) => Some((Ok(bytes), Some(archive))),
            Err(error) => Some((Err(error), None)),
        }
    }

    fn line(&mut self, one: &Chained, out: &mut String) {
        let entry = &one.entry;
        let at = time::from_millis(entry.at).unwrap_or_default();
        let _ = write!(out, "{{\"seq\":{}", entry.seq);
        if entry.from < entry.seq {
            let _ = write!(out, ",\"from\":{}", entry.from);
        }
        let event = from_utf8(&entry.event).unwrap_or("{}");
        let _ = write!(out, ",\"at\":\"{at}\",\"event\":{event}");
        if let Some(source) = entry.source.as_deref().and_then(|source| from_utf8(source).ok()) {
            let _ = write!(out, ",\"source\":{source}");
        }
        let before = one.links.map(|(before, _)| before);
        // Where the chain begins, or a branch goes on by itself.
        if let Some(before) = before.filter(|_| before != self.link) {
            let _ = write!(out, ",\"before\":\"{}\"", before.hex());
        }
        self.link = one.links.map(|(_, link)| link);
        if !one.were.is_empty() {
            let were: Vec<String> =
                one.were.iter().map(|body| format!("\"{}\"", body.hex())).collect();
            let _ = write!(out, ",\"were\":[{}]", were.join(","));
        }
        if let Some(link) = self.link {
            let _ = write!(out, ",\"link\":\"{}\"", link.hex());
        }
        out.push_str("}\n");
    }
}

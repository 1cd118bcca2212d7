//! Threads in and out, in every dialect.

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::{HeaderValue, StatusCode, header};
use selvedge_protocol::dialect::{self, Dialect, EncodeOptions, Encoding};
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::{from_utf8, quote};
use selvedge_protocol::record::Framing;
use selvedge_store::{Append, Create, ThreadRef};

use super::stream::filter;
use crate::auth::Principal;
use crate::extract::{Id, Payload};
use crate::ingest::ingest;
use crate::query::Query;
use crate::retell::Retelling;
use crate::state;
use crate::view::{Filter, Sieve};
use crate::{App, Error, ErrorCode};

/// Bytes read from the journal at once.
pub(super) const PAGE: usize = 1 << 20;

/// `POST /api/import?dialect=&thread=`
pub(crate) async fn import(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let text = from_utf8(&body).map_err(|error| {
        let message = format!("invalid UTF-8 at byte {}", error.valid_up_to());
        Error::new(ErrorCode::BadJson, message)
    })?;
    let from = match query.get("dialect") {
        Some(name) => named(name)?,
        None => dialect::detect(text.get(..8192).unwrap_or(text)).ok_or_else(|| {
            let message = "cannot tell which dialect the body is in; name it with `?dialect=`";
            Error::new(ErrorCode::UnknownDialect, message)
        })?,
    };
    let thread = query.get("thread").map(str::to_owned);
    let owned = body.clone();
    let ingested = tokio::task::spawn_blocking(move || {
        let text = from_utf8(&owned).unwrap_or("");
        ingest(from, text, thread.as_deref())
    });
    let ingested = ingested.await.map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))?;
    if let Some(lost) = ingested.lost {
        let message = format!("a part of the body cannot be kept: {lost}");
        return Err(Error::new(ErrorCode::BadEvent, message));
    }
    if ingested.events == 0 {
        let message = format!("nothing in the body could be read as `{}`", from.id.name());
        return Err(Error::new(ErrorCode::BadEvent, message));
    }
    let id = query.get("thread").map(str::to_owned).or(ingested.thread);
    let id = id.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    let key = principal.thread(&id);
    let mut rows = ingested.appends.into_iter();
    let mut append = Append::new(key, rows.next().unwrap_or_default()).creating(Create::Past);
    // All of it or nothing: half a thread would look like a whole one.
    append.more = rows.collect();
    let appended = app.append_past(append).await?;
    let (head, cursor) =
        (appended.last, Cursor { epoch: appended.thread.epoch, seq: appended.last });
    let body = format!(
        "{{\"id\":{},\"dialect\":\"{}\",\"head\":{head},\"cursor\":\"{cursor}\"}}",
        quote(&id),
        from.id.name()
    );
    let json = [(header::CONTENT_TYPE, "application/json")];
    Ok((StatusCode::CREATED, json, body).into_response())
}

/// `GET /api/threads/{id}/export?dialect=`
pub(crate) async fn export(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let filter = filter(&query, &principal)?;
    let thread = app.thread(&principal.thread(&id)).await?;
    let agent = query.get("agent").map(str::to_owned);
    exported(&app, &query, id, thread, filter, agent).await
}

/// A thread in a dialect, under an id.
pub(crate) async fn exported(
    app: &App,
    query: &Query<'_>,
    id: String,
    thread: ThreadRef,
    filter: Filter,
    agent: Option<String>,
) -> Result<Response, Error> {
    let (to, options) = target(query, id, agent)?;
    let of = thread.clone();
    let at: Option<u64> = query.parsed("at", "a sequence number")?;
    let most = filter.upto();
    let upto = app.blocking(move |store| {
        let upto = store.head(&of)?.min(most).min(at.unwrap_or(u64::MAX));
        state::ends_at(store, &of, upto)?;
        Ok(upto)
    });
    let upto = upto.await?;
    let sieve = Sieve::new(filter);
    let app = app.clone();
    let export = Export {
        app,
        thread,
        sieve,
        retelling: Retelling::written_as(to.id),
        encoding: Some(Encoding::new(to, &options)),
        seen: 0,
        upto,
    };
    let bytes = stream::unfold(Some(export), |export| async { export?.step().await });
    let mut response = Body::from_stream(bytes).into_response();
    let kind = match to.framing {
        Framing::Sse => "text/event-stream",
        Framing::Lines => "application/x-ndjson",
        Framing::Array | Framing::Document => "application/json",
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(response)
}

/// The dialect that a thread is to be told in, and how.
pub(super) fn target(
    query: &Query<'_>,
    id: String,
    agent: Option<String>,
) -> Result<(&'static Dialect, EncodeOptions), Error> {
    let to = named(query.get("dialect").unwrap_or("thread-protocol"))?;
    let target = query.get("for").map(str::parse).transpose();
    let target = target.map_err(|message| Error::new(ErrorCode::BadParameter, message))?;
    Ok((to, EncodeOptions { thread_id: Some(id), agent, target }))
}

/// An export in the making, a page at a time.
struct Export {
    app: App,
    thread: ThreadRef,
    sieve: Sieve,
    retelling: Retelling,
    encoding: Option<Encoding>,
    seen: u64,
    upto: u64,
}

impl Export {
    /// The next piece. An error ends the answer without its end, so that nobody takes it for whole.
    async fn step(mut self) -> Option<(Result<Bytes, Error>, Option<Self>)> {
        self.encoding.as_ref()?;
        let app = self.app.clone();
        let run = move |store: &selvedge_store::Store| {
            let page = store.read(&self.thread, self.seen, usize::MAX, PAGE)?;
            if let Some(folded) = page.folded(self.seen) {
                // Folded meanwhile: what was written has a part of it.
                return Err(Error::folded(&folded));
            }
            if page.entries.is_empty() && self.seen < self.upto {
                // Deleted meanwhile.
                return Err(Error::new(ErrorCode::NotFound, "the thread is gone"));
            }
            let mut out = Vec::new();
            for entry in page.entries.iter().take_while(|entry| entry.seq <= self.upto) {
                self.seen = entry.seq;
                let seen = self.sieve.see(entry);
                let passes = seen.is_some();
                let told = seen.unwrap_or_else(|| self.sieve.stand_in(entry));
                if let Some(encoding) = &mut self.encoding {
                    self.retelling.entry(&told, passes, &mut |batch| {
                        encoding.batch(batch, &mut out);
                    });
                }
            }
            if self.seen >= self.upto
                && let Some(encoding) = self.encoding.take()
            {
                encoding.finish(&mut out);
            }
            Ok((Bytes::from(out), self))
        };
        match app.blocking(run).await {
            Ok((bytes, export)) => Some((Ok(bytes), Some(export))),
            Err(error) => Some((Err(error), None)),
        }
    }
}

fn named(name: &str) -> Result<&'static Dialect, Error> {
    dialect::named(name).ok_or_else(|| {
        let names: Vec<&str> = dialect::ALL.iter().map(|d| d.id.name()).collect();
        let message = format!("no dialect `{name}`; there are {}", names.join(", "));
        Error::new(ErrorCode::UnknownDialect, message)
    })
}

//! Many threads on one connection, each with its cursor.
//!
//! Every id names where the reader stands in each of its threads, so that one `Last-Event-ID`
//! resumes them all: `t1@<epoch>.<seq>,t2@<epoch>.<seq>`, thread ids percent-encoded. A thread
//! that was deleted meanwhile is told as gone once, and is `t1@gone` from then on, so that the
//! others resume without it.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, FuturesUnordered};
use http::HeaderMap;
use selvedge_protocol::json::{from_utf8, quote};

use super::stream::{event_stream, filter, format};
use super::threads::encode;
use crate::auth::Principal;
use crate::query::Query;
use crate::view::{Kind, Reader, Start};
use crate::{App, Error, ErrorCode};

/// Threads that one connection may follow.
const MOST: usize = 100;

/// `GET /api/stream?threads=`
pub(crate) async fn open(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let kind = Kind { format: format(&query)?, filter: filter(&query, &principal)? };
    let mut starts = starts(&query.list("threads"))?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let last = last.or(query.get("last_event_id")).or(query.get("lastEventId"));
    for (id, from) in
        self::starts(&last.map_or(Vec::new(), |l| l.split(',').map(str::to_owned).collect()))?
    {
        // What it saw since counts more than what it asked for first.
        if let Some(known) = starts.iter_mut().find(|(known, _)| *known == id)
            && from != Begin::Wherever
        {
            known.1 = from;
        }
    }
    if starts.is_empty() || starts.len() > MOST {
        let message = format!("name 1 to {MOST} threads with `?threads=a,b`");
        return Err(Error::new(ErrorCode::BadParameter, message));
    }
    if starts.iter().all(|(_, from)| *from == Begin::Gone) {
        return Err(Error::new(ErrorCode::NotFound, "all of these threads are gone"));
    }
    let mut many = Many { places: Vec::new(), waiting: FuturesUnordered::new(), over: false };
    for (id, from) in starts {
        let start = match from {
            Begin::Gone => {
                many.places.push((id, Some(GONE.to_owned())));
                continue;
            }
            Begin::Wherever => Start::Earliest,
            Begin::Place(start) => start,
        };
        let thread = app.thread(&principal.thread(&id)).await?;
        let (shared, kind) = (app.clone(), kind.clone());
        let snapshot = format!("/api/threads/{id}");
        let reader = tokio::task::spawn_blocking(move || {
            Reader::open(&shared, &snapshot, &thread, &kind, start)
        });
        let reader = reader.await.map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))??;
        let reader = reader.seated(&app, Some(&id));
        let at = many.places.len();
        many.places.push((id, None));
        many.waiting.push(next(at, reader));
    }
    let bytes = stream::unfold(many, |mut many| async move {
        let bytes = many.next().await?;
        Some((bytes, many))
    });
    Ok(event_stream(Body::from_stream(bytes)))
}

/// What stands for a cursor where there is no thread any more.
const GONE: &str = "gone";

/// Where to begin in one thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Begin {
    /// Nobody said.
    Wherever,
    Place(Start),
    /// Nowhere: the reader knows that it is gone.
    Gone,
}

/// Threads with where to begin in each: `id`, `id@cursor` or `id@gone`.
fn starts(list: &[String]) -> Result<Vec<(String, Begin)>, Error> {
    list.iter()
        .map(|item| {
            let (id, from) = match item.rsplit_once('@') {
                Some((id, GONE)) => (id, Begin::Gone),
                Some((id, start)) => (id, Begin::Place(start.parse()?)),
                None => (item.as_str(), Begin::Wherever),
            };
            let id = percent_decode(id);
            Ok((id, from))
        })
        .collect()
}

fn percent_decode(text: &str) -> String {
    let pairs = format!("x={}", text.replace('+', "%2B"));
    let found = form_urlencoded::parse(pairs.as_bytes()).next();
    found.map_or_else(|| text.to_owned(), |(_, value)| value.into_owned())
}

type Step = (usize, Reader, Option<Result<Bytes, Error>>);

fn next(at: usize, mut reader: Reader) -> BoxFuture<'static, Step> {
    Box::pin(async move {
        let bytes = reader.next().await;
        (at, reader, bytes)
    })
}

/// The readers of one connection.
struct Many {
    /// Each thread's id and the cursor last told.
    places: Vec<(String, Option<String>)>,
    waiting: FuturesUnordered<BoxFuture<'static, Step>>,
    /// Whether the reader was told to come again.
    over: bool,
}

impl Many {
    async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        if self.over {
            return None;
        }
        let (at, reader, bytes) = loop {
            match self.waiting.next().await? {
                (at, reader, Some(Ok(bytes))) => break (at, reader, bytes),
                (_, _, Some(Err(error))) => return Some(Err(error)),
                // This one has ended; the others tell for themselves.
                (_, _, None) => {}
            }
        };
        self.waiting.push(next(at, reader));
        let mut out = String::with_capacity(bytes.len() * 2);
        for frame in from_utf8(&bytes).unwrap_or("").split_inclusive("\n\n") {
            self.frame(at, frame, &mut out);
        }
        Some(Ok(Bytes::from(out)))
    }

    /// A frame of one thread, with the places of all.
    fn frame(&mut self, at: usize, frame: &str, out: &mut String) {
        let control = frame.starts_with("event: ");
        // One thread cannot come again without the others: they share the connection.
        self.over |= frame.starts_with("event: resync\n");
        let gone = frame.starts_with("event: gone\n");
        if gone && let Some(place) = self.places.get_mut(at) {
            place.1 = Some(GONE.to_owned());
        }
        for line in frame.split_inclusive('\n') {
            if let Some(id) = line.strip_prefix("id: ") {
                if let Some(place) = self.places.get_mut(at) {
                    place.1 = Some(id.trim_end().to_owned());
                }
                out.push_str("id: ");
                self.push_id(out);
                out.push('\n');
            } else if let Some(data) = line.strip_prefix("data: {").filter(|_| control) {
                // A control frame says which thread it is about.
                let id = self.places.get(at).map_or("", |place| place.0.as_str());
                out.push_str(&format!("data: {{\"thread\":{},", quote(id)));
                out.push_str(data);
            } else {
                out.push_str(line);
            }
        }
        if gone {
            // Or who resumes from here would ask for it again.
            out.push_str("id: ");
            self.push_id(out);
            out.push_str("\n\n");
        }
    }

    fn push_id(&self, out: &mut String) {
        let told = self.places.iter().filter_map(|(id, place)| Some((id, place.as_ref()?)));
        for (i, (id, place)) in told.enumerate() {
            if i > 0 {
                out.push(',');
            }
            out.push_str(&encode(id));
            out.push('@');
            out.push_str(place);
        }
    }
}

//! The stream of a run: `event:` lines, and `[DONE]` when the run is over or requires something.
//!
//! Every event has an id. Whoever loses the stream comes again with the last one, or without it for
//! all of the run; the run does not stop for that.

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use http::HeaderMap;
use selvedge_protocol::dialect::Id as DialectId;
use selvedge_store::ThreadRef;

use super::gather::{OVER, before, of_run};
use super::runs::found;
use crate::auth::Principal;
use crate::extract::Ids;
use crate::query::Query;
use crate::surface::native::stream::{event_stream, start};
use crate::turn::{Frame, open, rewritten};
use crate::view::{Filter, Format, Kind, Place, Reader, Start};
use crate::{App, Error};

/// What a stream ends with.
const DONE: &str = "event: done\ndata: [DONE]\n\n";

/// Which part of a run is to be told.
pub(super) struct Following {
    pub(super) run: String,
    /// The entry before the run's first; the last of an append.
    pub(super) after: u64,
    pub(super) start: Start,
    /// From this entry on, the stream ends where the run requires something: what it required
    /// before was answered.
    pub(super) rests: u64,
    /// What comes before all else.
    pub(super) opening: String,
}

/// Tells what happens in a run.
pub(super) async fn follow(
    app: &App,
    principal: &Principal,
    (id, thread): (&str, ThreadRef),
    following: Following,
) -> Result<Response, Error> {
    let Following { run, after, start, rests, opening } = following;
    let mut filter = of_run(Filter::all(principal.sees), &run);
    filter.after = after;
    let kind = Kind { format: Format::Dialect(DialectId::OpenaiThreads), filter };
    let reader = open(app, id, thread, kind, start).await?.plainly();
    let telling = Telling { reader, rests, opening };
    let bytes = stream::unfold(Some(telling), |telling| async { telling?.step().await });
    Ok(event_stream(Body::from_stream(bytes)))
}

/// A stream in the making.
struct Telling {
    reader: Reader,
    rests: u64,
    opening: String,
}

impl Telling {
    /// The next piece, and whether there is more. A stream that is cut off has no end.
    async fn step(mut self) -> Option<(Result<Bytes, Error>, Option<Self>)> {
        if !self.opening.is_empty() {
            let opening = std::mem::take(&mut self.opening);
            return Some((Ok(opening.into()), Some(self)));
        }
        loop {
            let bytes = match self.reader.next().await? {
                Ok(bytes) => bytes,
                Err(error) => return Some((Err(error), None)),
            };
            let (mut ended, rests) = (false, self.rests);
            let out = rewritten(&bytes, &mut |frame: &Frame<'_>, out: &mut String| {
                let event = frame.event.unwrap_or_default();
                // The thread is told where it is made.
                if ended || event == "thread.created" {
                    return;
                }
                out.push_str(&format!(
                    "id: {}\nevent: {event}\ndata: {}\n\n",
                    frame.id, frame.data
                ));
                ended = ends(event, frame.id, rests);
                if ended {
                    out.push_str(DONE);
                }
            });
            if ended {
                return Some((Ok(out), None));
            }
            if !out.is_empty() {
                return Some((Ok(out), Some(self)));
            }
        }
    }
}

/// Whether a run goes no further after an event.
fn ends(event: &str, id: &str, rests: u64) -> bool {
    match event.strip_prefix("thread.run.") {
        Some(status) if OVER.contains(&status) => true,
        Some("requires_action") => {
            let seq = id.split('.').nth(1).and_then(|seq| seq.parse::<u64>().ok());
            seq.is_some_and(|seq| seq >= rests)
        }
        _ => false,
    }
}

/// `GET /v1/threads/{id}/stream/{run}`
pub(super) async fn rejoin(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, run): Ids,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let start = start(&Query::new(query.as_deref()), &headers)?;
    let (thread, task) = found(&app, &principal, (&id, &run)).await?;
    let (of, own) = (thread.clone(), task.clone());
    let (after, rests) = app
        .blocking(move |store| {
            let pending = store.pending(&of)?.into_iter();
            let asked = pending.filter(|item| item.task.as_deref() == Some(&own.id));
            let asked = asked.map(|item| item.seq).max();
            let rests = match asked {
                Some(seq) => seq,
                None => store.head(&of)? + 1,
            };
            Ok((before(store, &of, &own)?, rests))
        })
        .await?;
    let seen = match start {
        Some(Start::After(place)) if place.cursor.epoch == thread.epoch => place.cursor.seq,
        _ => 0,
    };
    if task.ended.is_some_and(|(ended, _)| seen >= ended) {
        // Nothing more comes.
        return Ok(event_stream(Body::from(DONE)));
    }
    let start = start.unwrap_or(Start::After(Place::of(&thread, after)));
    let following = Following { run, after, start, rests, opening: String::new() };
    follow(&app, &principal, (&id, thread), following).await
}

//! A turn as one answer: what happens in some tasks until they are over or wait for someone.
//!
//! Whoever loses the answer can come again; the turn does not stop for that.

mod rest;

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, stream};
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::from_utf8;
use selvedge_store::{Store, ThreadRef};

use self::rest::Rest;
use crate::surface::native::stream::event_stream;
use crate::view::{Descendants, Kind, Place, Reader, Start, whole};
use crate::{App, Error};

/// Bytes of the journal read at once.
const PAGE: usize = 1 << 20;
/// How long a turn that waits may have more to ask, while calls of it are neither begun nor asked
/// about: an agent does them side by side.
const MORE: Duration = Duration::from_millis(500);

/// Some tasks of a thread, from an entry on.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    /// The thread's id.
    pub(crate) id: String,
    pub(crate) thread: ThreadRef,
    /// The entry before the first that is of interest; it must be the last of an append.
    pub(crate) after: u64,
    pub(crate) tasks: Vec<String>,
    pub(crate) until: Until,
}

/// When a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// When its tasks first are over or wait for someone.
    Rest,
    /// When nothing more is there, and its tasks are over or wait for someone. For who comes again.
    RestNow,
    /// When its tasks are over.
    Over,
}

/// One event of a stream, as a protocol's own writer gets it.
pub(crate) struct Frame<'a> {
    /// Where a reader stands who has it: see [`Start`].
    pub(crate) id: &'a str,
    pub(crate) event: Option<&'a str>,
    pub(crate) data: &'a str,
}

/// Writes an event as a protocol does.
pub(crate) type Write<'w> = dyn FnMut(&Frame<'_>, &mut String) + Send + 'w;

/// How a protocol writes a stream: its frames, and what comes after the last if the turn ended.
/// A stream that is cut off ends without it.
pub(crate) struct Writing {
    pub(crate) frame: Box<Write<'static>>,
    pub(crate) end: Box<dyn FnOnce(&mut String) + Send>,
}

/// What a dialect says where a turn ends but something is open in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Nothing: the stream's writer does.
    Open,
    /// What it says at the end of a source. Frames without an id.
    Told,
}

/// What is needed to know how a stream ends.
type Ends = (App, ThreadRef, Kind, Ending);

impl Turn {
    /// The view of this turn and what came of it: as `kind`, but of nothing else.
    fn narrowed(&self, mut kind: Kind) -> Kind {
        kind.filter.tasks = self.tasks.clone();
        kind.filter.descendants = Descendants::Included;
        kind.filter.after = self.after;
        kind.filter.context = Some(self.id.clone());
        kind
    }

    /// Where it begins.
    pub(crate) fn start(&self) -> Start {
        let cursor = Cursor { epoch: self.thread.epoch, seq: self.after };
        Start::After(Place { cursor, records: 0 })
    }

    /// The turn as our own stream, with cursors and control events.
    pub(crate) async fn stream(self, app: &App, kind: Kind) -> Result<Response, Error> {
        let (kind, start) = (self.narrowed(kind), self.start());
        let reader = open(app, &self.id, self.thread.clone(), kind, start).await?;
        Ok(until(reader, self.rested(app.clone()).boxed()))
    }

    /// The turn as its view writes it, without control events, from a place on: for protocols whose
    /// events are the view's as they are.
    pub(crate) async fn shown(
        self,
        app: &App,
        kind: Kind,
        start: Start,
    ) -> Result<Response, Error> {
        let kind = self.narrowed(kind);
        let reader = open(app, &self.id, self.thread.clone(), kind, start).await?.plainly();
        Ok(until(reader, self.rested(app.clone()).boxed()))
    }

    /// The turn as another protocol's stream, from a place on.
    pub(crate) async fn written(
        self,
        app: &App,
        kind: Kind,
        start: Start,
        writing: Writing,
    ) -> Result<Response, Error> {
        self.told(app, kind, start, writing, Ending::Open).await
    }

    /// The same, with how its dialect ends where the turn does.
    pub(crate) async fn told(
        self,
        app: &App,
        kind: Kind,
        start: Start,
        writing: Writing,
        ending: Ending,
    ) -> Result<Response, Error> {
        let kind = self.narrowed(kind);
        let (app, thread) = (app.clone(), self.thread.clone());
        let reader = open(&app, &self.id, thread.clone(), kind.clone(), start).await?.plainly();
        let following = Following::new(reader, self.rested(app.clone()).boxed());
        let ends = (app, thread, kind, ending);
        let bytes = stream::unfold(Some((following, writing, ends)), |state| async {
            let (mut following, mut writing, ends) = state?;
            loop {
                let bytes = match following.next().await {
                    Step::Bytes(bytes) => bytes,
                    Step::Failed(error) => return Some((Err(error), None)),
                    Step::CutOff => return None,
                    Step::Ended => {
                        let mut out = String::new();
                        for data in ends_of(ends, following.reader.seen()).await {
                            (writing.frame)(&Frame { id: "", event: None, data: &data }, &mut out);
                        }
                        (writing.end)(&mut out);
                        return Some((Ok(Bytes::from(out)), None));
                    }
                };
                let out = rewritten(&bytes, &mut writing.frame);
                if !out.is_empty() {
                    return Some((Ok(out), Some((following, writing, ends))));
                }
            }
        });
        Ok(event_stream(Body::from_stream(bytes)))
    }

    /// The entry with which the last of the tasks is over or waits for someone, once it is there.
    pub(crate) async fn rested(self, app: App) -> u64 {
        let Self { thread, after: mut seen, tasks, until, .. } = self;
        let mut rest = Rest::new(tasks, until);
        let of = thread.clone();
        let tail = app.reading(&thread, seen, move |store| Ok(store.tail(&of)?)).await;
        let Ok(tail) = tail else { return seen };
        let mut edge = tail.watch();
        loop {
            let (of, after) = (thread.clone(), seen);
            let read = move |store: &Store| Ok(store.read(&of, after, usize::MAX, PAGE)?.entries);
            let entries = match tail.entries(seen, PAGE) {
                Some(entries) => Ok(entries),
                None => app.blocking(read).await,
            };
            let Ok(entries) = entries else { return seen };
            for entry in &entries {
                seen = entry.seq;
                if rest.apply(&entry.event) && until != Until::RestNow && rest.is_complete() {
                    // What else the same append says of it belongs to it.
                    let same = entries.iter().rfind(|other| other.append == entry.append);
                    return same.map_or(seen, |last| last.seq);
                }
            }
            if entries.is_empty() {
                if rest.is_complete() {
                    return seen;
                }
                let more = edge.wait_for(|edge| edge.head > seen || edge.end.is_some());
                let patience = if rest.is_told() { MORE } else { Duration::MAX };
                let Ok(more) = tokio::time::timeout(patience, more).await else { return seen };
                if more.map_or(true, |edge| edge.end.is_some()) {
                    return seen;
                }
            }
        }
    }
}

/// How a dialect ends a stream where the turn ends, as data of its events.
async fn ends_of((app, thread, kind, ending): Ends, upto: u64) -> Vec<String> {
    if ending == Ending::Open {
        return Vec::new();
    }
    let (of, after) = (thread.clone(), kind.filter.after);
    let told = move |store: &Store| Ok(whole(store, &thread, &kind, upto)?.ending);
    app.reading(&of, after, told).await.unwrap_or_default()
}

/// A reader of a thread. The thread's state is at its native address.
pub(crate) async fn open(
    app: &App,
    id: &str,
    thread: ThreadRef,
    kind: Kind,
    start: Start,
) -> Result<Reader, Error> {
    let snapshot = format!("/api/threads/{id}");
    let (shared, of, after) = (app.clone(), thread.clone(), kind.filter.after);
    let open = move |_: &Store| Reader::open(&shared, &snapshot, &thread, &kind, start);
    Ok(app.reading(&of, after, open).await?.seated(app, Some(id)))
}

/// What a reader gets, until the entry that is found to be the last.
pub(crate) fn until(reader: Reader, ending: BoxFuture<'static, u64>) -> Response {
    let following = Following::new(reader, ending);
    let bytes = stream::unfold(Some(following), |state| async {
        let mut following = state?;
        match following.next().await {
            Step::Bytes(bytes) => Some((Ok(bytes), Some(following))),
            Step::Failed(error) => Some((Err(error), None)),
            Step::Ended | Step::CutOff => None,
        }
    });
    event_stream(Body::from_stream(bytes))
}

/// A reader with an end.
struct Following {
    reader: Reader,
    end: End,
}

/// Where a turn ends.
enum End {
    Sought(BoxFuture<'static, u64>),
    At(u64),
}

/// What a reader with an end gets next.
enum Step {
    Bytes(Bytes),
    Failed(Error),
    /// All there is.
    Ended,
    /// There is more, but not for this reader.
    CutOff,
}

impl Following {
    fn new(reader: Reader, ending: BoxFuture<'static, u64>) -> Self {
        Self { reader, end: End::Sought(ending) }
    }

    async fn next(&mut self) -> Step {
        loop {
            let next = match &mut self.end {
                End::At(seq) if self.reader.seen() >= *seq => return Step::Ended,
                End::At(_) => self.reader.next().await,
                End::Sought(sought) => tokio::select! {
                    next = self.reader.next() => next,
                    seq = sought => {
                        self.end = End::At(seq);
                        continue;
                    }
                },
            };
            return match next {
                Some(Ok(bytes)) => Step::Bytes(bytes),
                Some(Err(error)) => Step::Failed(error),
                None => Step::CutOff,
            };
        }
    }
}

/// The frames of a piece of a stream, as another writes them.
pub(crate) fn rewritten(bytes: &[u8], write: &mut Write<'_>) -> Bytes {
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 4);
    for frame in from_utf8(bytes).unwrap_or("").split_inclusive("\n\n") {
        let field = |name| frame.lines().find_map(|line| line.strip_prefix(name));
        match field("data: ") {
            Some(data) => {
                let id = field("id: ").unwrap_or_default();
                write(&Frame { id, event: field("event: "), data }, &mut out);
            }
            // Only so that the connection is not taken for dead.
            None => out.push_str(frame),
        }
    }
    Bytes::from(out)
}

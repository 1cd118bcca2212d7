//! One reader of a view: the resume contract, as a stream of bytes.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::quote;
use selvedge_store::{Edge, End, Store, ThreadRef};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{Encoder, Next, PIECE, Shown, View};
use crate::app::{Closing, Lag};
use crate::metrics::{Metrics, Resync, Rung, Standing};
use crate::{App, Error, ErrorCode};

/// Proxies close what is silent; ten seconds is safe with all of them.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Where a reader begins, as it asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    Earliest,
    Tail,
    After(Place),
}

/// What a reader has seen: all up to a cursor, and some records of what follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) cursor: Cursor,
    pub(crate) records: usize,
}

impl Place {
    /// Behind an entry of a thread.
    pub(crate) fn of(thread: &ThreadRef, seq: u64) -> Self {
        Self { cursor: Cursor { epoch: thread.epoch, seq }, records: 0 }
    }
}

impl FromStr for Start {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || {
            let message = format!(
                "`{}` is not a cursor: expected `<epoch>.<seq>`, `earliest` or `tail`",
                selvedge_protocol::validate::brief(text)
            );
            Error::new(ErrorCode::BadCursor, message)
        };
        match text {
            "earliest" | "0" => return Ok(Self::Earliest),
            "tail" => return Ok(Self::Tail),
            _ => {}
        }
        let mut parts = text.splitn(3, '.');
        let head = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let cursor = format!("{}.{}", head.0, head.1).parse().map_err(|_| bad())?;
        let records = match parts.next() {
            Some(records) if records.bytes().all(|b| b.is_ascii_digit()) => {
                records.parse().map_err(|_| bad())?
            }
            Some(_) => return Err(bad()),
            None => 0,
        };
        Ok(Self::After(Place { cursor, records }))
    }
}

/// A reader of a view.
pub(crate) struct Reader {
    store: Store,
    view: Arc<View>,
    edge: watch::Receiver<Edge>,
    /// The last entry looked at.
    seen: u64,
    /// The last entry whose id the reader knows.
    told: u64,
    /// Its own encoder, while it catches up.
    own: Option<Encoder>,
    skip: usize,
    /// Control frames to send first.
    first: Vec<String>,
    caught_up: bool,
    /// The last entry that there is for it; what comes after is for others.
    upto: u64,
    /// How far it may be behind, once it has seen what was there when it came.
    lag: Lag,
    past: u64,
    /// When it last had no need of the journal.
    fresh: Instant,
    heartbeat: Instant,
    closing: watch::Receiver<Closing>,
    metrics: Arc<Metrics>,
    standing: Standing,
    manner: Manner,
    ended: bool,
}

/// Whether a reader knows our control events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Manner {
    Ours,
    /// It gets events and nothing else, and comes again by its protocol's own means.
    Plain,
}

impl Reader {
    /// Opens a view for a reader, who finds the thread's state at `snapshot`. Blocks for the disk.
    pub(crate) fn open(
        app: &App,
        snapshot: &str,
        thread: &ThreadRef,
        kind: &super::Kind,
        start: Start,
    ) -> Result<Self, Error> {
        let store = app.store().clone();
        let view = app.views().open(&store, thread, kind)?;
        let upto = kind.filter.upto();
        let head = view.tail.head().min(upto);
        let mut first = Vec::new();
        let place = match start {
            Start::Earliest => Place { cursor: Cursor { epoch: thread.epoch, seq: 0 }, records: 0 },
            Start::Tail => Place { cursor: Cursor { epoch: thread.epoch, seq: head }, records: 0 },
            Start::After(place) => place,
        };
        let Place { cursor, records } = place;
        let known = cursor.epoch == thread.epoch && cursor.seq <= head;
        let (seen, skip) = if known { (cursor.seq, records) } else { (0, 0) };
        let seen = seen.max(kind.filter.after);
        if !known {
            first.push(format!(
                "event: gap\ndata: {{\"requested\":\"{cursor}\",\"earliest\":\"{}.0\",\
                 \"head\":\"{}.{head}\",\"snapshot\":{}}}\n\n",
                thread.epoch,
                thread.epoch,
                quote(snapshot)
            ));
        }
        // Primes the reader's id, so that it can resume even if nothing else arrives.
        let own_id = match skip {
            0 => format!("{}.{seen}", thread.epoch),
            _ => format!("{}.{seen}.{skip}", thread.epoch),
        };
        first.push(format!("retry: 1000\nid: {own_id}\n\n"));
        let edge = view.tail.watch();
        let now = Instant::now();
        Ok(Self {
            store,
            view,
            edge,
            seen,
            told: seen,
            own: None,
            skip,
            first,
            caught_up: false,
            upto,
            lag: app.options().lag,
            past: head,
            fresh: now,
            heartbeat: now + HEARTBEAT,
            closing: app.closing(),
            metrics: app.metrics().clone(),
            standing: Standing::new(app.metrics().clone()),
            manner: Manner::Ours,
            ended: false,
        })
    }

    /// Without our control events, for readers who would not know them.
    pub(crate) fn plainly(mut self) -> Self {
        self.manner = Manner::Plain;
        self.first.clear();
        self.caught_up = true;
        self
    }

    /// The last entry looked at.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The next bytes for the reader; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        if self.ended {
            return None;
        }
        let mut closing = self.closing.clone();
        let mut edge = self.edge.clone();
        let bytes = tokio::select! {
            biased;
            // It fails only where the tail is gone, and that is held by the view.
            Ok(edge) = edge.wait_for(|edge| edge.end.is_some()) => {
                let renamed = edge.end == Some(End::Renamed);
                drop(edge);
                Ok(self.resync(if renamed { Resync::Promoted } else { Resync::Deleted }))
            }
            _ = closing.wait_for(|closing| *closing == Closing::Now) => Ok(self.resync(Resync::Shutdown)),
            bytes = self.bytes() => bytes,
        };
        self.ended |= bytes.is_err();
        Some(bytes)
    }

    /// Tells the reader why it ends, and to come again where it stands if it can.
    fn resync(&mut self, reason: Resync) -> Bytes {
        self.ended = true;
        self.metrics.resync(reason);
        if self.manner == Manner::Plain {
            return Bytes::new();
        }
        let (event, reason) = (reason.event(), reason.name());
        let (epoch, seen) = (self.view.thread.epoch, self.seen);
        let frame = format!(
            "event: {event}\ndata: {{\"cursor\":\"{epoch}.{seen}\",\"reason\":\"{reason}\"}}\n\n"
        );
        Bytes::from(self.position() + &frame)
    }

    async fn bytes(&mut self) -> Result<Bytes, Error> {
        if !self.first.is_empty() {
            return Ok(Bytes::from(self.first.drain(..).collect::<String>()));
        }
        loop {
            if self.lags() {
                return Ok(self.resync(Resync::Lag));
            }
            let next = match (self.skip, &self.own) {
                _ if self.seen >= self.upto => Next::Nothing,
                // What is shared may go on beyond its end.
                _ if self.upto < u64::MAX => Next::Behind,
                (0, None) => self.view.next(self.seen),
                _ => Next::Behind,
            };
            match next {
                Next::Bytes(shown) => {
                    self.standing.at(Rung::Live);
                    self.fresh = Instant::now();
                    if let Some(bytes) = self.take(shown) {
                        return Ok(bytes);
                    }
                }
                Next::Behind => {
                    self.standing.at(Rung::Journal);
                    let shown = self.page().await?;
                    if let Some(bytes) = self.take(shown) {
                        return Ok(bytes);
                    }
                }
                Next::Nothing if !self.caught_up => {
                    self.caught_up = true;
                    self.standing.at(Rung::Live);
                    let frame = format!(
                        "event: caught-up\ndata: {{\"cursor\":\"{}.{}\"}}\n\n",
                        self.view.thread.epoch, self.seen
                    );
                    return Ok(Bytes::from(self.position() + &frame));
                }
                Next::Nothing => {
                    let seen = self.seen;
                    let over = seen >= self.upto;
                    self.standing.at(Rung::Live);
                    let news = self.edge.wait_for(|edge| edge.head > seen && !over);
                    let news = timeout_at(self.heartbeat, news).await.map(|edge| edge.is_ok());
                    // Whatever comes now, it missed nothing until now.
                    self.fresh = Instant::now();
                    match news {
                        Ok(true) => {}
                        Ok(false) => {
                            return Err(Error::new(ErrorCode::NotFound, "the thread is gone"));
                        }
                        Err(_) => {
                            let position = self.position();
                            let beat = if position.is_empty() { ":\n\n".into() } else { position };
                            return Ok(Bytes::from(beat));
                        }
                    }
                }
            }
        }
    }

    /// Whether it is further behind than it may be.
    fn lags(&mut self) -> bool {
        let behind = self.view.tail.head().saturating_sub(self.seen);
        if behind == 0 || self.seen < self.past || self.upto < u64::MAX {
            self.fresh = Instant::now();
            return false;
        }
        behind > self.lag.entries || self.fresh.elapsed() > self.lag.time
    }

    /// A frame that only moves the reader's id, where the filter kept everything back.
    fn position(&mut self) -> String {
        self.heartbeat = Instant::now() + HEARTBEAT;
        if self.told == self.seen || self.manner == Manner::Plain {
            return String::new();
        }
        self.told = self.seen;
        format!("id: {}.{}\n\n", self.view.thread.epoch, self.seen)
    }

    /// Goes on to what was looked at; gives the bytes, if it shows anything.
    fn take(&mut self, shown: Shown) -> Option<Bytes> {
        self.seen = shown.seen;
        self.told = shown.told.unwrap_or(self.told);
        if shown.bytes.is_empty() {
            return None;
        }
        self.heartbeat = Instant::now() + HEARTBEAT;
        Some(shown.bytes)
    }

    /// Catches up a page from the journal.
    async fn page(&mut self) -> Result<Shown, Error> {
        self.metrics.pages.add(1);
        self.metrics.lag.observe(self.view.tail.head().saturating_sub(self.seen));
        let (store, view, seen, skip) =
            (self.store.clone(), self.view.clone(), self.seen, self.skip);
        let own = self.own.take();
        let run = move || -> Result<_, Error> {
            let mut own = match own {
                Some(own) => own,
                None => {
                    let mut own = Encoder::new(&view.kind, view.thread.epoch);
                    let mut past = if own.needs_the_past() { view.kind.filter.after } else { seen };
                    while past < seen {
                        // The last page of the past must end where the reader stands.
                        past = own.past(&store, &view.thread, past, seen, PIECE)?;
                    }
                    own.skip(skip);
                    own
                }
            };
            let chunk = own.page(&store, &view.thread, seen, PIECE)?;
            if own.needs_the_past() {
                view.catch_up(&store)?;
            }
            Ok((own, chunk))
        };
        let (own, chunk) = match tokio::task::spawn_blocking(run).await {
            Ok(result) => result?,
            Err(error) => return Err(Error::new(ErrorCode::Internal, error.to_string())),
        };
        self.skip = 0;
        // Back to what all readers share, as soon as it has what comes next.
        let shared = self.upto == u64::MAX
            && matches!(self.view.next(chunk.last), Next::Bytes(_) | Next::Nothing);
        self.own = if shared || !own.needs_the_past() { None } else { Some(own) };
        Ok(chunk.after(seen))
    }
}

//! One reader of a view: the resume contract, as a stream of bytes.

use std::ops::RangeInclusive;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::quote;
use selvedge_store::{Edge, End, Store, ThreadRef};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

use super::readers::Seat;
use super::{Chunk, Ear, Encoder, Next, PIECE, Shown, View};
use crate::app::{Closing, Lag};
use crate::metrics::{Resync, Rung, Standing};
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

/// A reader of a view. There may be very many, so it has nothing that it does not need.
pub(crate) struct Reader {
    store: Store,
    view: Arc<View>,
    edge: watch::Receiver<Edge>,
    ear: Ear,
    /// The last entry looked at.
    seen: u64,
    /// The last entry whose id the reader knows.
    told: u64,
    /// Its own encoder, while it catches up.
    own: Option<Box<Encoder>>,
    /// The next page, made while the last one is written.
    coming: Option<Coming>,
    skip: usize,
    /// Control frames to send first.
    first: String,
    caught_up: bool,
    /// The last entry that there is for it; what comes after is for others.
    upto: u64,
    /// How far it may be behind, once it has seen what was there when it came.
    lag: Lag,
    past: u64,
    /// When it last had no need of the journal.
    fresh: Instant,
    heartbeat: Instant,
    /// Runs out at the next heartbeat at the latest, and is not wound up for each event.
    clock: Pin<Box<Sleep>>,
    closing: watch::Receiver<Closing>,
    standing: Standing,
    /// Where it is seen among the others.
    seat: Option<Seat>,
    manner: Manner,
    /// Entries that are one now, of which it had seen some.
    inside: Option<Box<RangeInclusive<u64>>>,
    /// The same, if it cannot be told of them.
    refused: Option<Box<RangeInclusive<u64>>>,
    ended: bool,
}

/// A page in the making, and who makes it.
type Coming = JoinHandle<Result<(Box<Encoder>, Chunk), Error>>;

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
        let mut first = String::new();
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
            first.push_str(&format!(
                "event: gap\ndata: {{\"requested\":\"{cursor}\",\"earliest\":\"{}.0\",\
                 \"head\":\"{}.{head}\",\"snapshot\":{}}}\n\n",
                thread.epoch,
                thread.epoch,
                quote(snapshot)
            ));
        }
        // What it saw is a part of what is one entry now, and comes next.
        let inside = match seen {
            0 => None,
            _ => store.folded(thread, seen)?,
        };
        if let Some(folded) = &inside {
            first.push_str(&format!(
                "event: folded\ndata: {{\"requested\":\"{}.{seen}\",\"from\":{},\"to\":{},\
                 \"snapshot\":{}}}\n\n",
                thread.epoch,
                folded.start(),
                folded.end(),
                quote(snapshot)
            ));
        }
        // Primes the reader's id, so that it can resume even if nothing else arrives.
        let own_id = match skip {
            0 => format!("{}.{seen}", thread.epoch),
            _ => format!("{}.{seen}.{skip}", thread.epoch),
        };
        first.push_str(&format!("retry: 1000\nid: {own_id}\n\n"));
        let (edge, ear) = (view.tail.watch(), view.ear());
        let now = Instant::now();
        Ok(Self {
            store,
            view,
            edge,
            ear,
            seen,
            told: seen,
            own: None,
            coming: None,
            skip,
            first,
            caught_up: false,
            upto,
            lag: app.options().lag,
            past: head,
            fresh: now,
            heartbeat: now + HEARTBEAT,
            clock: Box::pin(sleep_until(now + HEARTBEAT)),
            closing: app.closing(),
            standing: Standing::new(app.metrics().clone()),
            seat: None,
            manner: Manner::Ours,
            inside: inside.map(Box::new),
            refused: None,
            ended: false,
        })
    }

    /// Without our control events, for readers who would not know them.
    pub(crate) fn plainly(mut self) -> Self {
        self.manner = Manner::Plain;
        // A text half of which it has would come whole, without a word about it.
        self.refused = self.inside.take();
        self.first = String::new();
        self.caught_up = true;
        self
    }

    /// Listed as whoever makes the request that is answered now, in the thread of that id.
    pub(crate) fn seated(mut self, app: &App, thread: Option<&str>) -> Self {
        self.seat = Seat::take(app.readers(), thread, &self.view, (self.seen, self.told));
        self
    }

    /// The last entry looked at.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The next bytes for the reader; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    /// The same, for those who need no future of it.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if let Some(folded) = self.refused.take() {
            self.ended = true;
            return Poll::Ready(Some(Err(Error::folded(&folded))));
        }
        let bytes = ready!(self.poll_bytes(cx));
        self.ended |= bytes.is_err();
        Poll::Ready(Some(bytes))
    }

    /// Why it cannot go on, if so.
    fn interrupted(&self, edge: Edge) -> Option<Resync> {
        match edge.end {
            Some(End::Deleted) => Some(Resync::Deleted),
            Some(End::Renamed) => Some(Resync::Promoted),
            None if edge.rewritten != self.view.rewritten => Some(Resync::Rewritten),
            None => (*self.closing.borrow() == Closing::Now).then_some(Resync::Shutdown),
        }
    }

    fn edge(&self) -> Edge {
        *self.edge.borrow()
    }

    /// Tells the reader why it ends, and to come again where it stands if it can.
    fn resync(&mut self, reason: Resync) -> Bytes {
        self.ended = true;
        self.standing.metrics().resync(reason);
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

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Error>> {
        // One look at the clock for all that is done at once.
        let now = Instant::now();
        if self.ear.waits() {
            // Whatever comes now, it missed nothing until now.
            self.fresh = now;
            self.ear.asked();
        }
        if !self.first.is_empty() {
            return Poll::Ready(Ok(Bytes::from(std::mem::take(&mut self.first))));
        }
        loop {
            let edge = self.edge();
            if let Some(reason) = self.interrupted(edge) {
                return Poll::Ready(Ok(self.resync(reason)));
            }
            if self.lags(edge, now) {
                return Poll::Ready(Ok(self.resync(Resync::Lag)));
            }
            let shown = match self.ahead() {
                Next::Bytes(shown) => {
                    self.ear.asked();
                    self.stand(Rung::Live);
                    self.fresh = now;
                    shown
                }
                Next::Behind => {
                    self.ear.asked();
                    self.stand(Rung::Journal);
                    let Some(shown) = ready!(self.poll_page(cx))? else {
                        return Poll::Ready(Ok(self.resync(Resync::Rewritten)));
                    };
                    // What was taken out meanwhile is not to be shown any more.
                    if self.interrupted(self.edge()).is_some() {
                        continue;
                    }
                    shown
                }
                Next::Nothing if !self.caught_up => {
                    self.caught_up = true;
                    self.stand(Rung::Live);
                    let frame = format!(
                        "event: caught-up\ndata: {{\"cursor\":\"{}.{}\"}}\n\n",
                        self.view.thread.epoch, self.seen
                    );
                    return Poll::Ready(Ok(Bytes::from(self.position() + &frame)));
                }
                Next::Nothing if !self.ear.waits() => {
                    self.stand(Rung::Live);
                    self.ear.wait(cx);
                    // Something may have come in between.
                    continue;
                }
                Next::Nothing => {
                    ready!(self.poll_silence(cx));
                    let position = self.position();
                    let beat = if position.is_empty() { ":\n\n".into() } else { position };
                    return Poll::Ready(Ok(Bytes::from(beat)));
                }
            };
            if let Some(bytes) = self.take(shown, now) {
                return Poll::Ready(Ok(bytes));
            }
        }
    }

    /// What lies ahead of it.
    fn ahead(&self) -> Next {
        match (self.skip, &self.own, &self.coming) {
            _ if self.seen >= self.upto => Next::Nothing,
            // What is shared may go on beyond its end.
            _ if self.upto < u64::MAX => Next::Behind,
            (0, None, None) => self.view.next(self.seen),
            _ => Next::Behind,
        }
    }

    /// Ready when there was nothing for so long that it is to be told so.
    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.clock.as_mut().poll(cx));
            if Instant::now() >= self.heartbeat {
                self.clock.as_mut().reset(self.heartbeat + HEARTBEAT);
                return Poll::Ready(());
            }
            // Something was sent since it was wound up.
            self.clock.as_mut().reset(self.heartbeat);
        }
    }

    /// Moves it to a rung.
    fn stand(&mut self, rung: Rung) {
        self.standing.at(rung);
        if let Some(seat) = &self.seat {
            seat.on(rung);
        }
    }

    /// Whether it is further behind than it may be.
    fn lags(&mut self, edge: Edge, now: Instant) -> bool {
        let behind = edge.head.saturating_sub(self.seen);
        if behind == 0 || self.seen < self.past || self.upto < u64::MAX {
            self.fresh = now;
            return false;
        }
        behind > self.lag.entries || now.saturating_duration_since(self.fresh) > self.lag.time
    }

    /// A frame that only moves the reader's id, where the filter kept everything back.
    fn position(&mut self) -> String {
        self.heartbeat = Instant::now() + HEARTBEAT;
        if self.told == self.seen || self.manner == Manner::Plain {
            return String::new();
        }
        self.told = self.seen;
        self.show();
        format!("id: {}.{}\n\n", self.view.thread.epoch, self.seen)
    }

    /// Shows where it stands.
    fn show(&self) {
        if let Some(seat) = &self.seat {
            seat.at(self.seen, self.told);
        }
    }

    /// Goes on to what was looked at; gives the bytes, if it shows anything.
    fn take(&mut self, shown: Shown, now: Instant) -> Option<Bytes> {
        self.seen = shown.seen;
        self.told = shown.told.unwrap_or(self.told);
        self.show();
        if shown.bytes.is_empty() {
            return None;
        }
        self.heartbeat = now + HEARTBEAT;
        Some(shown.bytes)
    }

    /// Catches up a page from the journal; none if what it has read was folded meanwhile.
    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Shown>, Error>> {
        let seen = self.seen;
        let coming = match self.coming.take() {
            Some(coming) => coming,
            None => {
                let own = self.own.take();
                self.prepare(seen, own)
            }
        };
        // Kept while it is waited for: whoever asks may give up and ask again.
        let made = ready!(Pin::new(self.coming.insert(coming)).poll(cx));
        self.coming = None;
        let metrics = self.standing.metrics();
        metrics.pages.add(1);
        metrics.lag.observe(self.view.tail.head().saturating_sub(seen));
        let (own, chunk) = match made {
            Ok(result) => result?,
            Err(error) => {
                let error = Error::new(ErrorCode::Internal, error.to_string());
                return Poll::Ready(Err(error));
            }
        };
        self.skip = 0;
        let told = self.inside.take().map(|told| *told);
        if chunk.folded.is_some() && chunk.folded != told {
            return Poll::Ready(Ok(None));
        }
        // Back to what all readers share, as soon as it has what comes next. Whoever has come so far
        // that the ring has the rest can let the others have what it remembers.
        let shares = |view: &View| matches!(view.next(chunk.last), Next::Bytes(_) | Next::Nothing);
        self.own = match own {
            own if !own.needs_the_past() || self.upto == u64::MAX && shares(&self.view) => None,
            own if self.upto == u64::MAX && self.view.reaches(chunk.last) => {
                self.view.adopt(*own, chunk.last);
                None
            }
            own => Some(own),
        };
        // While this is written the next can be made.
        if !self.view.reaches(chunk.last) && chunk.last < self.upto {
            let own = self.own.take();
            self.coming = Some(self.prepare(chunk.last, own));
        }
        Poll::Ready(Ok(Some(chunk.after(seen))))
    }

    /// Makes the page after an entry, where nothing else waits for the disk; with what it remembers
    /// of the past, or else going through it first.
    fn prepare(&self, seen: u64, own: Option<Box<Encoder>>) -> Coming {
        let (store, view, skip) = (self.store.clone(), self.view.clone(), self.skip);
        tokio::task::spawn_blocking(move || {
            let mut own = match own {
                Some(own) => own,
                None => {
                    let mut own = Box::new(Encoder::new(&view.kind, view.thread.epoch));
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
            Ok((own, chunk))
        })
    }
}

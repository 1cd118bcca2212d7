//! Projections: what is known of a thread without reading its journal.
//!
//! The rules are the fold's (`selvedge_protocol::journal::fold`); here they work on rows. The
//! threads, tasks and participants that events touch are held in memory, written once a step, and
//! remembered for the next.
//!
//! Invariant: what is written depends on the journal alone, not on how it was cut into steps.
//! Invariant: no event makes a step fail. What does not fit is passed over.

mod artifact;
mod call;
mod failure;
mod inbox;
mod labels;
mod past;
mod people;
mod task;
mod thread;
mod usage;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use crate::db::{self, Connection};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Node};

use super::text::Place;
use crate::Batch;
use thread::{Thread, Written, write_lines};

/// Counts the changes to what projections hold: another number makes them anew.
pub(crate) const VERSION: i64 = 10;
/// Tables that are made from events, here.
pub(crate) const PROJECTIONS: &[&str] = &[
    "summary",
    "participant",
    "label",
    "task",
    "inbox",
    "call",
    "artifact",
    "artifact_version",
    "artifact_early",
    "usage",
    "failure",
];

/// Bytes of an id; events with longer ones are no one's.
const ID_BYTES: usize = 1024;

/// Whether an id can be one. Where PostgreSQL keeps it, a NUL and what stands for it are two bytes.
pub(crate) fn fits(id: &str) -> bool {
    id.len() <= ID_BYTES / 2 || id.len() + id.bytes().filter(|byte| *byte < 2).count() <= ID_BYTES
}

/// Threads that are remembered from one step to the next.
const REMEMBERED: usize = 4096;
/// Tasks and participants of a thread that are.
const REMEMBERED_OF_EACH: usize = 64;

/// Projecting, and what is known of the threads that it met.
#[derive(Default)]
pub(crate) struct Projection {
    threads: HashMap<i64, Option<Thread>>,
    /// Those that this step has met, the same again and again perhaps.
    met: Vec<i64>,
}

impl Projection {
    /// Takes a row of the journal in.
    pub(crate) fn apply(&mut self, conn: &Connection, num: i64, batch: &Batch) -> db::Result<()> {
        if self.met.last() != Some(&num) {
            self.met.push(num);
        }
        let thread = match self.threads.entry(num) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(load(conn, num, batch.first)?),
        };
        match thread {
            Some(thread) => take(conn, thread, batch, Origin::Own),
            // Deleted.
            None => Ok(()),
        }
    }

    /// Writes what has changed. If the transaction fails, what is remembered must be forgotten.
    pub(crate) fn write(&mut self, conn: &Connection) -> db::Result<()> {
        let met = std::mem::take(&mut self.met);
        let mut changed = Vec::with_capacity(met.len());
        for num in &met {
            if let Some(Some(thread)) = self.threads.get_mut(num)
                && thread.write(conn)? == Written::AllButLine
            {
                changed.push(*num);
            }
        }
        let lines = changed.iter().filter_map(|num| Some(self.threads.get(num)?.as_ref()?.line()));
        write_lines(conn, &lines.collect::<Vec<_>>())?;
        for num in met {
            let is_small = |thread: &Thread| thread.met() <= REMEMBERED_OF_EACH;
            if !self.threads.get(&num).is_some_and(|known| known.as_ref().is_some_and(is_small)) {
                self.threads.remove(&num);
            }
        }
        if self.threads.len() > REMEMBERED {
            self.threads.clear();
        }
        Ok(())
    }

    /// Forgets a thread: what is written of it may be something else now.
    pub(crate) fn forget_thread(&mut self, num: i64) {
        self.threads.remove(&num);
    }

    /// Forgets what is remembered: what is written may be something else now.
    pub(crate) fn forget(&mut self) {
        self.threads.clear();
        self.met.clear();
    }
}

impl fmt::Debug for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Projection").field("threads", &self.threads.len()).finish()
    }
}

/// An event at its place.
struct Seen<'e, 'a> {
    event: &'e Event<'a>,
    seq: u64,
    at: i64,
    origin: Origin,
}

impl Seen<'_, '_> {
    /// A text field.
    fn text(&self, name: &str) -> Option<String> {
        self.event.str(name).map(|text| text.into_owned())
    }

    /// An id, if it can be one.
    fn id(&self, name: &str) -> Option<String> {
        self.text(name).filter(|id| fits(id))
    }
}

/// Whose row an event is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The thread's own.
    Own,
    /// One of a thread it branched off from.
    Shared {
        /// That thread.
        home: i64,
    },
}

/// The thread as far as it was projected, up to an event; one that branched off begins with its
/// shared past.
fn load(conn: &Connection, num: i64, first: u64) -> db::Result<Option<Thread>> {
    // Nothing was known of it before its first event.
    if first > 1
        && let Some(thread) = Thread::load(conn, num)?
    {
        return Ok(Some(thread));
    }
    let Some((mut thread, branch)) = Thread::begin(conn, num)? else { return Ok(None) };
    if let Some((parent, fork)) = branch {
        past::each(conn, parent, fork, |home, batch| {
            take(conn, &mut thread, batch, Origin::Shared { home })
        })?;
    }
    Ok(Some(thread))
}

fn take(conn: &Connection, thread: &mut Thread, batch: &Batch, origin: Origin) -> db::Result<()> {
    for (seq, event) in batch.events() {
        if let Ok(doc) = Doc::parse_bytes(event) {
            apply(conn, thread, doc.root(), seq, batch.at, origin)?;
        }
        thread.reached(seq, batch.at);
    }
    Ok(())
}

fn apply(
    conn: &Connection,
    thread: &mut Thread,
    node: Node<'_, '_>,
    seq: u64,
    at: i64,
    origin: Origin,
) -> db::Result<()> {
    let Some(name) = node.get("kind").and_then(Node::str) else { return Ok(()) };
    let kind = Kind::named(&name);
    if thread.repeats(kind, node) {
        return Ok(());
    }
    let Some(event) = Event::parse(node) else { return Ok(()) };
    let seen = Seen { event: &event, seq, at, origin };
    people::note(conn, thread, &seen)?;
    task::apply(conn, thread, &seen)?;
    usage::apply(conn, thread, &seen)?;
    match kind {
        Kind::ThreadCreated | Kind::ThreadUpdated => labels::apply(conn, thread, &seen)?,
        Kind::Message | Kind::ContentComplete | Kind::PartFinished => {
            let home = match origin {
                Origin::Own => thread.num,
                Origin::Shared { home } => home,
            };
            thread.hear(conn, Place { thread: home, seq }, node, kind)?;
        }
        Kind::ParticipantJoined => people::joined(conn, thread, &seen)?,
        Kind::ParticipantLeft => people::left(conn, thread, &seen)?,
        Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => {
            artifact::write(conn, thread, &seen)?;
        }
        Kind::InputRequired | Kind::ToolInputRequired => {
            inbox::asked(conn, thread, &seen, inbox::INPUT)?;
        }
        Kind::AuthRequired => inbox::asked(conn, thread, &seen, inbox::AUTH)?,
        Kind::InputReceived => inbox::answered(conn, thread, &seen, inbox::INPUT)?,
        Kind::AuthCompleted => inbox::answered(conn, thread, &seen, inbox::AUTH)?,
        Kind::InputExpired => inbox::expired(conn, thread, &seen)?,
        Kind::ToolCallStarted | Kind::ToolCall | Kind::ToolStart => {
            call::began(conn, thread, &seen)?;
        }
        Kind::ToolComplete => call::ended(conn, thread, &seen)?,
        Kind::Error => failure::count(conn, thread, &seen, failure::ERROR, None)?,
        _ => {}
    }
    thread.settle(kind, node);
    Ok(())
}

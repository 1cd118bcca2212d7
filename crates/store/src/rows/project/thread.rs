//! A thread while its events are projected, and its line in the list of threads.

use std::collections::{HashMap, HashSet};

use crate::db::{self, Connection, Optional as _, Row, params};
use rusqlite::types::{ToSqlOutput, ValueRef};
use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::Node;

use super::task::{self, Bearing, Task};
use crate::query::ThreadStatus;
use crate::rows::text::{self, Place};

/// Characters of a thread's last words that a list shows.
const WORDS: usize = 200;

/// A thread, with the tasks and participants that this step has met.
pub(super) struct Thread {
    pub(super) num: i64,
    pub(super) tenant: String,
    pub(super) summary: Summary,
    pub(super) tasks: HashMap<String, Task>,
    pub(super) people: HashSet<String>,
    /// The last entry that was imported, once someone had to know.
    past: Option<i64>,
    holds: Holds,
    /// Whether calls of tools were met.
    pub(super) has_calls: bool,
    last: Option<Repeat>,
    is_changed: bool,
}

/// Whether there is more of a thread than what was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// It began here: what was not met is not there.
    All,
    /// It was written down before.
    Some,
}

/// A thread's line in the list.
#[derive(Debug, Default)]
pub(super) struct Summary {
    head: i64,
    updated: i64,
    pub(super) title: Option<String>,
    pub(super) metadata: Option<String>,
    words: Option<String>,
    messages: i64,
    pub(super) tasks: i64,
    pub(super) participants: i64,
    pub(super) artifacts: i64,
    /// Tasks at work, and tasks that wait for someone.
    working: i64,
    waiting: i64,
    /// Open questions and requests for credentials.
    pub(super) pending: i64,
    /// Whether the last task that ended, not counting subtasks, failed.
    pub(super) failed: bool,
    /// Whether `thread-created` or `thread-updated` came.
    pub(super) made: bool,
    /// Whether model calls without a task told their usage.
    pub(super) told: bool,
}

impl Summary {
    fn status(&self) -> ThreadStatus {
        if self.waiting > 0 || self.pending > 0 {
            ThreadStatus::Waiting
        } else if self.working > 0 {
            ThreadStatus::Working
        } else if self.failed {
            ThreadStatus::Failed
        } else {
            ThreadStatus::Idle
        }
    }

    /// A task bears on the thread in another way than before.
    pub(super) fn shift(&mut self, before: Bearing, after: Bearing) {
        for (bearing, by) in [(before, -1), (after, 1)] {
            match bearing {
                Bearing::Works => self.working += by,
                Bearing::Waits => self.waiting += by,
                Bearing::Rests => {}
            }
        }
    }
}

/// An event of a frequent kind, by all that could make the next one matter.
struct Repeat {
    kind: Kind,
    fields: [Option<String>; 6],
}

const TELLING: [&str; 6] = ["taskId", "agentId", "author", "parentTaskId", "metadata", "initiator"];

impl Thread {
    fn new(num: i64, tenant: String, summary: Summary, holds: Holds) -> Self {
        Self {
            num,
            tenant,
            summary,
            tasks: HashMap::new(),
            people: HashSet::new(),
            past: None,
            holds,
            has_calls: holds == Holds::Some,
            last: None,
            is_changed: false,
        }
    }

    /// Whether there is nothing of it but what was met.
    pub(super) fn is_whole(&self) -> bool {
        self.holds == Holds::All
    }

    /// The last entry that was imported: it happened elsewhere.
    pub(super) fn past(&mut self, conn: &Connection) -> db::Result<i64> {
        if let Some(past) = self.past {
            return Ok(past);
        }
        let mut find = conn.prepare_cached("SELECT past FROM thread WHERE num = ?1")?;
        let past = find.query_row(params![self.num], |row| row.get(0))?;
        Ok(*self.past.insert(past))
    }

    /// The thread, if it was projected before.
    pub(super) fn load(conn: &Connection, num: i64) -> db::Result<Option<Self>> {
        let mut find = conn.prepare_cached(
            "SELECT tenant, head, updated, title, metadata, words, messages, tasks, participants, \
                 artifacts, working, waiting, pending, failed, made, told \
             FROM summary WHERE thread = ?1",
        )?;
        let read = |row: &Row<'_>| {
            let summary = Summary {
                head: row.get(1)?,
                updated: row.get(2)?,
                title: row.get(3)?,
                metadata: row.get(4)?,
                words: row.get(5)?,
                messages: row.get(6)?,
                tasks: row.get(7)?,
                participants: row.get(8)?,
                artifacts: row.get(9)?,
                working: row.get(10)?,
                waiting: row.get(11)?,
                pending: row.get(12)?,
                failed: row.get(13)?,
                made: row.get(14)?,
                told: row.get(15)?,
            };
            Ok(Self::new(num, row.get(0)?, summary, Holds::Some))
        };
        find.query_row(params![num], read).optional()
    }

    /// A thread that was not, with where it branched off; `None` if it is deleted.
    pub(super) fn begin(conn: &Connection, num: i64) -> db::Result<Option<(Self, Fork)>> {
        let mut find = conn.prepare_cached(
            "SELECT tenant, created, parent, fork, past FROM thread \
             WHERE num = ?1 AND deleted IS NULL",
        )?;
        let read = |row: &Row<'_>| {
            let fork: i64 = row.get(3)?;
            let summary = Summary { head: fork, updated: row.get(1)?, ..Summary::default() };
            let parent: Option<i64> = row.get(2)?;
            let mut thread = Self::new(num, row.get(0)?, summary, Holds::All);
            thread.past = Some(row.get(4)?);
            Ok((thread, parent.map(|parent| (parent, fork as u64))))
        };
        find.query_row(params![num], read).optional()
    }

    /// Events up to this one were taken in.
    pub(super) fn reached(&mut self, seq: u64, at: i64) {
        self.summary.head = seq as i64;
        self.summary.updated = at;
        self.is_changed = true;
    }

    /// How many tasks and participants were met.
    pub(super) fn met(&self) -> usize {
        self.tasks.len() + self.people.len()
    }

    /// Whether an event says nothing that the one before did not say.
    pub(super) fn repeats(&self, kind: Kind, event: Node<'_, '_>) -> bool {
        let Some(last) = &self.last else { return false };
        let own = event.select(TELLING);
        let same = last.fields.iter().zip(own).all(|(last, own)| match (last, own) {
            (Some(last), Some(own)) => last == own.raw(),
            (None, None) => true,
            _ => false,
        });
        last.kind == kind && same
    }

    /// An event was taken in.
    pub(super) fn settle(&mut self, kind: Kind, event: Node<'_, '_>) {
        let frequent = matches!(
            kind,
            Kind::ContentDelta | Kind::ToolCallDelta | Kind::ThoughtStream | Kind::ToolProgress
        );
        self.last = frequent.then(|| {
            let fields = event.select(TELLING).map(|node| node.map(|node| node.raw().to_owned()));
            Repeat { kind, fields }
        });
    }

    /// Someone said something.
    pub(super) fn hear(
        &mut self,
        conn: &Connection,
        place: Place,
        event: Node<'_, '_>,
        kind: Kind,
    ) -> db::Result<()> {
        if let Some(said) = text::said(conn, place, event, kind)? {
            self.summary.messages += 1;
            self.summary.words = Some(text::beginning(&said, WORDS));
        }
        Ok(())
    }

    /// Writes what this step has changed, but for its line in the list, which is to be written.
    pub(super) fn write(&mut self, conn: &Connection) -> db::Result<Written> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(Written::Nothing);
        }
        for (id, task) in self.tasks.iter_mut().filter(|(_, task)| task.is_changed) {
            task::write(conn, (self.num, &self.tenant), id, task)?;
        }
        Ok(Written::AllButLine)
    }

    /// Its line in the list, as [`write_lines`] takes it.
    pub(super) fn line(&self) -> Vec<ToSqlOutput<'_>> {
        let own = &self.summary;
        vec![
            self.num.into(),
            self.tenant.as_str().into(),
            own.head.into(),
            own.updated.into(),
            own.status().name().into(),
            nullable(&own.title),
            nullable(&own.metadata),
            nullable(&own.words),
            own.messages.into(),
            own.tasks.into(),
            own.participants.into(),
            own.artifacts.into(),
            own.working.into(),
            own.waiting.into(),
            own.pending.into(),
            i64::from(own.failed).into(),
            i64::from(own.made).into(),
            i64::from(own.told).into(),
        ]
    }
}

fn nullable(text: &Option<String>) -> ToSqlOutput<'_> {
    let bytes = text.as_ref().map(|text| ValueRef::Text(text.as_bytes()));
    ToSqlOutput::Borrowed(bytes.unwrap_or(ValueRef::Null))
}

/// What there is to write of a thread besides what was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    Nothing,
    AllButLine,
}

/// Columns of a line, with their types.
const LINE: &[(&str, &str)] = &[
    ("thread", "bigint"),
    ("tenant", "text"),
    ("head", "bigint"),
    ("updated", "bigint"),
    ("status", "text"),
    ("title", "text"),
    ("metadata", "text"),
    ("words", "text"),
    ("messages", "bigint"),
    ("tasks", "bigint"),
    ("participants", "bigint"),
    ("artifacts", "bigint"),
    ("working", "bigint"),
    ("waiting", "bigint"),
    ("pending", "bigint"),
    ("failed", "bigint"),
    ("made", "bigint"),
    ("told", "bigint"),
];

/// Writes lines of threads.
pub(super) fn write_lines(conn: &Connection, lines: &[Vec<ToSqlOutput<'_>>]) -> db::Result<()> {
    let conflict = "ON CONFLICT (thread) DO UPDATE SET head = excluded.head, \
         updated = excluded.updated, status = excluded.status, title = excluded.title, \
         metadata = excluded.metadata, words = excluded.words, messages = excluded.messages, \
         tasks = excluded.tasks, participants = excluded.participants, \
         artifacts = excluded.artifacts, working = excluded.working, waiting = excluded.waiting, \
         pending = excluded.pending, failed = excluded.failed, made = excluded.made, \
         told = excluded.told";
    conn.insert("summary", LINE, conflict, lines)
}

/// The thread it branched off from, and the last sequence number they share.
pub(super) type Fork = Option<(i64, u64)>;

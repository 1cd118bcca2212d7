//! What is made from the journal behind the acknowledgement.
//!
//! Invariant: what follows is written together with how far it has come, so that a stopped store
//! goes on where it was. None of it is needed to answer an append.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use crate::db::{self, Connection, params};
use bytes::Bytes;

use super::marks::{self, What};
use super::recent::Known;
use crate::rows::project::Projection;
use crate::{Batch, Key};

/// A committed row that has not been followed.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) row: i64,
    pub(super) thread: i64,
    pub(super) key: Option<Key>,
    pub(super) batch: Arc<Batch>,
}

/// How far following has come.
pub(super) struct Followed {
    pub(super) row: i64,
    /// Whether what the rows mean is written, too.
    pub(super) known: Known,
}

/// Rows that wait.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    items: VecDeque<Item>,
    keys: HashMap<(i64, String), Used>,
    projection: Projection,
}

/// What a key was used for: first, last, at, digest.
pub(super) type Used = (u64, u64, i64, [u8; 32]);

impl Backlog {
    /// What a stopped store left behind.
    pub(super) fn load(conn: &Connection) -> db::Result<Self> {
        let mut backlog = Self::default();
        let mut rows = conn.prepare_cached(
            "SELECT row, thread, first, at, key, digest, body FROM journal \
             WHERE row > (SELECT row FROM followed WHERE what = 'position') ORDER BY row",
        )?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let body = Bytes::from(row.get::<String>(6)?);
            let key = match (row.get::<Option<String>>(4)?, row.get(5)?) {
                (Some(text), Some(digest)) => Some(Key { text, digest }),
                _ => None,
            };
            let item = Item {
                row: row.get(0)?,
                thread: row.get(1)?,
                key,
                batch: Arc::new(Batch::parse(row.get::<i64>(2)? as u64, row.get(3)?, &body)),
            };
            backlog.announce(&item);
            backlog.push(item);
        }
        Ok(backlog)
    }

    /// How many rows wait.
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Makes a row's key known before its commit, for appends of the same commit.
    pub(super) fn announce(&mut self, item: &Item) {
        if let Some(key) = &item.key {
            let used = (item.batch.first, item.batch.last(), item.batch.at, key.digest);
            self.keys.insert((item.thread, key.text.clone()), used);
        }
    }

    /// Forgets the keys of rows that were announced and not committed.
    pub(super) fn recall(&mut self) {
        self.keys.clear();
        for item in std::mem::take(&mut self.items) {
            self.announce(&item);
            self.push(item);
        }
    }

    /// The rows, with their threads.
    pub(super) fn rows(&self) -> Vec<(i64, Arc<Batch>)> {
        self.items.iter().map(|item| (item.thread, item.batch.clone())).collect()
    }

    /// Adds a row.
    pub(super) fn push(&mut self, item: Item) {
        self.items.push_back(item);
    }

    /// What a key was used for, by a row that waits.
    pub(super) fn key(&self, thread: i64, key: &str) -> Option<Used> {
        if self.keys.is_empty() {
            return None;
        }
        self.keys.get(&(thread, key.to_owned())).copied()
    }

    /// Forgets what is known of threads: one was deleted, or all are made anew.
    pub(super) fn forget(&mut self) {
        self.projection.forget();
    }

    /// Follows up to so many rows.
    pub(super) fn follow(
        &mut self,
        conn: &Connection,
        rows: usize,
    ) -> db::Result<Option<Followed>> {
        let count = self.items.len().min(rows);
        let Some(last) = count.checked_sub(1).and_then(|last| self.items.get(last)) else {
            return Ok(None);
        };
        let upto = last.row;
        let together = marks::lightly(conn, |conn| {
            self.places(conn, count)?;
            let known = self.project(conn, count, upto)?;
            marks::set(conn, What::Position, upto)?;
            Ok(known)
        });
        let known = together.or_else(|_| {
            self.projection.forget();
            // Whatever is wrong with what is known of threads, their rows must be found. The
            // rest is left behind and caught up with.
            marks::lightly(conn, |conn| {
                self.places(conn, count)?;
                marks::set(conn, What::Position, upto)?;
                Ok(Known::Not)
            })
        })?;
        for item in self.items.drain(..count) {
            if let Some(key) = item.key {
                self.keys.remove(&(item.thread, key.text));
            }
        }
        Ok(Some(Followed { row: upto, known }))
    }

    /// Writes down where rows are.
    fn places(&self, conn: &Connection, count: usize) -> db::Result<()> {
        let mut position =
            conn.prepare_cached("INSERT INTO position (thread, last, row) VALUES (?1, ?2, ?3)")?;
        let mut key =
            conn.prepare_cached("INSERT INTO idempotency (thread, key, row) VALUES (?1, ?2, ?3)")?;
        for item in self.items.iter().take(count) {
            position.execute(params![item.thread, item.batch.last() as i64, item.row])?;
            if let Some(own) = &item.key {
                key.execute(params![item.thread, own.text, item.row])?;
            }
        }
        Ok(())
    }

    /// Projects rows, unless earlier ones are still to be projected. Only after the places of all
    /// of them: a branch's past is read through these.
    fn project(&mut self, conn: &Connection, count: usize, upto: i64) -> db::Result<Known> {
        if marks::get(conn, What::Projection)? != marks::get(conn, What::Position)? {
            self.projection.forget();
            return Ok(Known::Not);
        }
        for item in self.items.iter().take(count) {
            self.projection.apply(conn, item.thread, &item.batch)?;
        }
        self.projection.write(conn)?;
        marks::set(conn, What::Projection, upto)?;
        Ok(Known::All)
    }
}

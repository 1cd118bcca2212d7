//! How far nodes have come with following what they have acknowledged, so that whoever asks one
//! node for a list gets what another was told just before.
//!
//! A node that has something to follow says so in the transaction that brings it, and takes that
//! back when all is followed; while it never comes to rest it counts how often it followed all
//! there was. Where a node is alone it says nothing.
//!
//! Invariant: a node whose row does not say so has followed all that it has acknowledged.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::node::NOW;
use crate::db::{self, Connection, params};

/// What a node says of itself.
#[derive(Debug, Default)]
pub(super) struct Pace {
    state: Mutex<State>,
    /// Whether there are other nodes.
    others: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Whether the writer is at work: what it commits is not yet known to whoever follows.
    is_writing: bool,
    /// Whether the row says that there is something to follow.
    is_behind: bool,
}

impl Pace {
    /// Whether there are other nodes that are alive.
    pub(super) fn has_others(&self) -> bool {
        self.others.load(Ordering::Relaxed)
    }

    pub(super) fn note_others(&self, are_there: bool) {
        self.others.store(are_there, Ordering::Relaxed);
    }

    /// Whether the row says that there is something to follow.
    pub(super) fn is_behind(&self) -> bool {
        self.state().is_behind
    }

    /// The writer begins something.
    pub(super) fn begin(&self) {
        self.state().is_writing = true;
    }

    /// It has noted all that it committed.
    pub(super) fn end(&self) {
        self.state().is_writing = false;
    }

    /// Whether a transaction that brings something to follow has to say so.
    pub(super) fn is_to_say(&self) -> bool {
        self.has_others() && !self.is_behind()
    }

    /// Says that there is something to follow, inside the transaction that brings it; whether that
    /// had to be said.
    pub(super) fn say(&self, conn: &Connection, node: i64) -> db::Result<bool> {
        let is_needed = self.is_to_say();
        if is_needed {
            conn.execute(
                "INSERT INTO pace (node, behind) VALUES (?1, 1) \
                 ON CONFLICT (node) DO UPDATE SET behind = 1",
                params![node],
            )?;
        }
        Ok(is_needed)
    }

    /// A transaction that said so was committed.
    pub(super) fn said(&self) {
        self.state().is_behind = true;
    }

    /// All was followed that there was when a round began; `is_clean` tells whether there is more.
    pub(super) fn round(
        &self,
        conn: &Connection,
        node: i64,
        is_clean: impl FnOnce() -> bool,
    ) -> db::Result<()> {
        // Held until it is written: the writer must not say anything else in between.
        let mut state = self.state();
        if !state.is_behind {
            return Ok(());
        }
        if !state.is_writing && is_clean() {
            conn.execute(
                "UPDATE pace SET behind = 0, rounds = rounds + 1 WHERE node = ?1",
                params![node],
            )?;
            state.is_behind = false;
            return Ok(());
        }
        drop(state);
        conn.execute("UPDATE pace SET rounds = rounds + 1 WHERE node = ?1", params![node])?;
        Ok(())
    }

    /// Says again that there is nothing, should the database have forgotten it in a crash.
    pub(super) fn renew(&self, conn: &Connection, node: i64) -> db::Result<()> {
        let state = self.state();
        if !state.is_behind && !state.is_writing {
            conn.execute(
                "UPDATE pace SET behind = 0 WHERE node = ?1 AND behind = 1",
                params![node],
            )?;
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Other nodes that are alive and have something to follow, with the rounds they have made.
pub(super) fn behind(conn: &Connection, node: i64) -> db::Result<HashMap<i64, i64>> {
    let mut find = conn.prepare_cached(&format!(
        "SELECT p.node, p.rounds FROM pace p JOIN node n ON n.id = p.node AND n.until > {NOW} \
         WHERE p.behind = 1 AND p.node <> ?1"
    ))?;
    let found = find.query_map(params![node], |row| Ok((row.get(0)?, row.get(1)?)))?;
    found.collect()
}

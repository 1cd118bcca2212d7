//! Taking the content out of events.
//!
//! Invariant: events, receipt, projections and index change in one transaction, or not at all; what
//! was taken out is in memory no more when that is answered. `scrub` overwrites the rest behind.

use super::follower::{Follower, failed};
use super::stage::Stop;
use super::writer::Writer;
use super::{marks, scrub, search};
use crate::db::{self, Connection, Optional as _, params};
use crate::rows::project::{PROJECTIONS, Projection};
use crate::rows::redact::{blanked, kin, receipt, write};
use crate::rows::text::Place;
use crate::rows::thread::{find_thread, rows_after, written_head};
use crate::rows::words::unlist_row;
use crate::{Append, Draft, REDACT_EVENTS, Redact, RedactError, Redacted, TendError};

impl Writer {
    /// Takes the content out of events, and leaves a receipt.
    pub(super) fn redact(&mut self, asked: &Redact) -> Result<Redacted, RedactError> {
        if asked.events.is_empty() || asked.events.len() > REDACT_EVENTS {
            return Err(RedactError::Count { limit: REDACT_EVENTS });
        }
        let following = self.following.clone();
        let mut follower = following.stop();
        // Nothing waits: what is on the disk is all there is.
        follower.fresh()?;
        let conn = &follower.conn;
        let thread = find_thread(conn, &asked.thread).map_err(failed)?;
        let thread = thread.ok_or(TendError::NotFound)?;
        let head = written_head(conn, &thread).map_err(failed)?;
        let at = self.stage.tick();
        let mut seqs = asked.events.clone();
        seqs.sort_unstable();
        seqs.dedup();
        let (rows, events) = blanked(conn, &thread, &seqs, head)?;
        if events.is_empty() {
            return Ok(Redacted { events, receipt: None, at });
        }
        let homes: Vec<i64> = rows.values().map(|changed| changed.thread).collect();
        let affected = kin(conn, &homes).map_err(failed)?;
        self.stage.forget_threads(&affected);
        follower.forget();
        let staged = self.together(&mut follower, |writer, follower| {
            let conn = &follower.conn;
            write(conn, &rows)?;
            anew(conn, &affected)?;
            scrub::want(conn)?;
            let receipt = Draft::new(receipt(asked, &events));
            writer.put(follower, Append::new(asked.thread.clone(), vec![receipt]))
        });
        let staged = match staged {
            Ok(staged) => staged,
            Err(Stop::Refused(error)) => return Err(error.into()),
            Err(Stop::Failed(error)) => return Err(failed(error).into()),
        };
        let receipt = Some(staged.answer.last);
        drop(self.publish([staged]));
        self.rewritten(&mut follower, &affected);
        self.clear_log().map_err(unlogged)?;
        Ok(Redacted { events, receipt, at })
    }

    /// Tells who reads threads that rows have changed, and lets what follows see to the rest.
    pub(super) fn rewritten(&mut self, follower: &mut Follower, threads: &[i64]) {
        for thread in threads {
            self.live.rewritten(*thread);
        }
        follower.set_behind();
    }
}

/// What was taken out is gone from the tables; that it may be left in the log is an error.
pub(super) fn unlogged(error: std::io::Error) -> TendError {
    TendError::Storage(format!("it may be left in the log: {error}"))
}

/// Makes what is known of threads, and the index of their words, anew.
fn anew(conn: &Connection, threads: &[i64]) -> db::Result<()> {
    let searched = marks::get(conn, marks::What::Search)?;
    for &thread in threads {
        let tenant: Option<String> = conn
            .prepare_cached("SELECT tenant FROM thread WHERE num = ?1 AND deleted IS NULL")?
            .query_row(params![thread], |row| row.get(0))
            .optional()?;
        for table in PROJECTIONS {
            conn.prepare_cached(&format!("DELETE FROM {table} WHERE thread = ?1"))?
                .execute(params![thread])?;
        }
        // Deleted, and there for its branches only.
        let Some(tenant) = tenant else { continue };
        let mut projection = Projection::default();
        rows_after(conn, thread, 0, |row, batch| {
            projection.apply(conn, thread, batch)?;
            if row <= searched {
                unlist_row(conn, row)?;
                let first = Place { thread, seq: batch.first };
                search::add(conn, row, &tenant, first, &batch.body())?;
            }
            Ok::<_, db::Error>(true)
        })?;
        projection.write(conn)?;
    }
    Ok(())
}

//! A database that follows another one, for reading what was written long ago.
//!
//! Nothing is known of how far it has come until it says so: rows are read in one statement with
//! how often their threads had been written anew, and are taken if that is what the primary says.
//!
//! Invariant: what was redacted, erased or folded before a read began is not told by a replica that
//! has not heard of it. A replica that is gone or behind costs a try, and is then left alone for a
//! while; the primary answers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx_postgres::PgArguments;

use crate::db::{self, Connection, Row};
use crate::postgres::argue;
use crate::read::{Readers, Stretch};
use crate::rows::thread::batch;
use crate::sqlite::{Known, Recent};
use crate::{Address, Branch, ReadError, ThreadRef};

/// How old the last entry of a thread must be, or how many are asked for, for a replica to be
/// likely to have them.
const COLD: i64 = 5_000;
const MANY: u64 = 500;
/// How long it is left alone after it failed, and after it was behind.
const GONE: Duration = Duration::from_secs(5);
const BEHIND: Duration = Duration::from_millis(500);
/// Rows of one thread that are read together.
const ROWS: i64 = 128;

/// A replica of one database.
#[derive(Debug)]
pub(crate) struct Replica {
    readers: Readers,
    /// Until when it is left alone.
    rest: Mutex<Option<Instant>>,
}

/// How a thread stands by the primary, with those that it branched off from.
pub(crate) struct Standing {
    pub(crate) head: u64,
    /// How old its last entry is, in milliseconds.
    age: i64,
    /// Each one's number, epoch, and how often it was written anew. Epochs tell a replica of this
    /// database from one of another.
    marks: Vec<[i64; 3]>,
}

impl Standing {
    /// Asks the primary; none if the thread is gone.
    pub(crate) fn of(conn: &Connection, thread: &ThreadRef) -> db::Result<Option<Self>> {
        let Connection::Postgres(client) = conn else { return Ok(None) };
        let mut arguments = PgArguments::default();
        argue(&mut arguments, line(thread).map(|own| own.num).collect::<Vec<_>>())?;
        argue(&mut arguments, thread.num)?;
        let rows = client.rows(
            "SELECT num, t.epoch, rewrites, head, CASE WHEN deleted IS NULL AND num = $2 THEN \
                 CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS bigint) - at END \
             FROM thread t WHERE num = ANY($1)",
            arguments,
        )?;
        let (mut own, mut marks) = (None, Vec::with_capacity(rows.len()));
        for row in rows.into_iter().map(Row::Postgres) {
            marks.push([row.get(0)?, row.get(1)?, row.get(2)?]);
            if let Some(age) = row.get::<Option<i64>>(4)? {
                own = Some((row.get::<i64>(3)? as u64, age));
            }
        }
        Ok(own.map(|(head, age)| Self { head, age, marks }))
    }

    /// Whether what a thread has after a sequence number was most likely written long ago.
    pub(crate) fn is_cold(&self, after: u64) -> bool {
        self.age > COLD || self.head.saturating_sub(after) > MANY
    }
}

impl Replica {
    pub(crate) fn new(address: &Address) -> Self {
        let recent = Arc::new(Recent::default());
        recent.note(Known::Not);
        Self { readers: Readers::new(address, recent), rest: Mutex::default() }
    }

    /// Whether it may be asked.
    pub(crate) fn is_ready(&self) -> bool {
        self.rest().is_none_or(|until| until <= Instant::now())
    }

    /// Reads what it has of what is asked for; the rest is the primary's.
    pub(crate) fn read(&self, thread: &ThreadRef, known: &Standing, stretch: &mut Stretch) {
        let upto = stretch.upto;
        let read = self.readers.with(|conn| {
            let mut more = true;
            while more && !stretch.is_full() {
                more = some(conn, thread, known, stretch)?;
                stretch.upto = upto;
            }
            Ok::<_, ReadError>(())
        });
        stretch.upto = upto;
        let rest = match read {
            Err(_) => GONE,
            Ok(()) if stretch.is_full() => return,
            Ok(()) => BEHIND,
        };
        *self.rest() = Some(Instant::now() + rest);
    }

    fn rest(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread and those that it branched off from.
fn line(thread: &ThreadRef) -> impl Iterator<Item = &ThreadRef> {
    std::iter::successors(Some(thread), |own| Some(&*own.branch.as_ref()?.parent))
}

/// Reads some rows of a thread, those it shares first; whether there may be more.
fn some(
    conn: &Connection,
    thread: &ThreadRef,
    known: &Standing,
    stretch: &mut Stretch,
) -> db::Result<bool> {
    let Connection::Postgres(client) = conn else { return Ok(false) };
    // Where each one's part ends, the eldest first.
    let mut parts: Vec<(i64, u64)> = Vec::new();
    let mut end = stretch.upto;
    for own in line(thread) {
        parts.push((own.num, end));
        end = own.branch.as_ref().map_or(0, |Branch { at, .. }| end.min(*at));
    }
    parts.reverse();
    let mut arguments = PgArguments::default();
    argue(&mut arguments, parts.iter().map(|(num, _)| *num).collect::<Vec<_>>())?;
    argue(&mut arguments, parts.iter().map(|(_, upto)| *upto as i64).collect::<Vec<_>>())?;
    argue(&mut arguments, stretch.seen as i64)?;
    argue(&mut arguments, ROWS)?;
    let rows = client.rows(
        "SELECT k.n, j.first, j.at, j.body, t.num, t.epoch, t.rewrites \
         FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS k (num, upto, n) \
         JOIN thread t ON t.num = k.num \
         LEFT JOIN LATERAL (SELECT o.first, o.at, o.body FROM journal o WHERE o.thread = k.num \
             AND o.last > $3 AND o.first <= k.upto ORDER BY o.last LIMIT $4) j ON true \
         ORDER BY k.n, j.first",
        arguments,
    )?;
    let rows: Vec<Row<'_>> = rows.into_iter().map(Row::Postgres).collect();
    if !is_as_known(&rows, known)? {
        return Ok(false);
    }
    for (nth, (_, upto)) in (1..).zip(&parts) {
        stretch.upto = *upto;
        let mut own = 0;
        for row in &rows {
            if row.get::<i64>(0)? != nth || row.get::<Option<i64>>(1)?.is_none() {
                continue;
            }
            own += 1;
            let batch = batch(row)?;
            // Whatever is missing here is not passed over.
            if batch.first > stretch.seen + 1 {
                return Ok(false);
            }
            stretch.take(&batch);
            if stretch.is_spent() {
                return Ok(false);
            }
        }
        if own == ROWS {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether all threads are there, and were written anew as often as the primary says.
fn is_as_known(rows: &[Row<'_>], known: &Standing) -> db::Result<bool> {
    let mut seen: Vec<[i64; 3]> = Vec::with_capacity(known.marks.len());
    for row in rows {
        let own = [row.get(4)?, row.get(5)?, row.get(6)?];
        if !seen.contains(&own) {
            seen.push(own);
        }
    }
    Ok(seen.len() == known.marks.len() && seen.iter().all(|own| known.marks.contains(own)))
}

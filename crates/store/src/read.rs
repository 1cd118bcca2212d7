//! Reading: a pool of connections, each used by one caller at a time.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::address::Address;
use crate::db::{self, Connection, Optional as _, params};
use crate::replica::{Replica, Standing};
use crate::rows::promote::lineage;
use crate::rows::thread::{find_numbered, find_thread, folded, is_live, rows_after, written_head};
use crate::sqlite::{Known, Recent};
use crate::{Batch, Branch, End, Lineage, Page, ReadError, ThreadKey, ThreadRef};

/// Connections kept for the next caller.
const POOL: usize = 16;
/// How long a connection to a server is trusted to be there still.
const TRUSTED: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Readers {
    address: Address,
    recent: Arc<Recent>,
    /// Where what was written long ago is read, if there is one.
    replica: Option<Box<Replica>>,
    pool: Mutex<Vec<(Connection, Instant)>>,
}

impl Readers {
    pub(crate) fn new(address: &Address, recent: Arc<Recent>) -> Self {
        Self { address: address.clone(), recent, replica: None, pool: Mutex::default() }
    }

    /// The same, with a replica.
    pub(crate) fn with_replica(self, replica: Option<&Address>) -> Self {
        let replica = replica.map(|address| Box::new(Replica::new(address)));
        Self { replica, ..self }
    }

    /// Runs something on a connection of its own.
    pub(crate) fn with<T>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        let conn = match self.kept() {
            Some(conn) => conn,
            None => self.address.reader()?,
        };
        let result = run(&conn);
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        if conn.is_broken() {
            // What ended this one has ended the others, too.
            let broken = std::mem::take(&mut *pool);
            drop(pool);
            drop(broken);
        } else if pool.len() < POOL {
            pool.push((conn, Instant::now()));
        }
        result
    }

    /// A connection that was kept and can still be used.
    fn kept(&self) -> Option<Connection> {
        loop {
            let kept = self.pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let (conn, since) = kept?;
            if !conn.may_break() || since.elapsed() < TRUSTED || conn.is_alive() {
                return Some(conn);
            }
        }
    }

    pub(crate) fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRef>, ReadError> {
        // First here, then the disk: what has left here is there.
        match self.recent.thread(key) {
            Some(thread) => Ok(Some(thread)),
            None => self.with(|conn| Ok(find_thread(conn, key)?)),
        }
    }

    /// Whether a thread of that name can be looked up without the disk.
    pub(crate) fn has_named(&self, key: &ThreadKey) -> bool {
        self.recent.thread(key).is_some()
    }

    /// Whether all that a thread has after a sequence number can be read without the disk.
    pub(crate) fn has_all(&self, thread: &ThreadRef, seq: u64) -> bool {
        self.recent.has_all(thread.num, seq)
    }

    /// What was appended to a thread last and is still in memory.
    pub(crate) fn newest(&self, thread: &ThreadRef) -> Vec<Arc<Batch>> {
        self.recent.after(thread.num, 0)
    }

    pub(crate) fn numbered(&self, num: i64) -> Result<Option<ThreadRef>, ReadError> {
        match self.recent.numbered(num) {
            Some(thread) => Ok(Some(thread)),
            None => self.with(|conn| {
                Ok(if is_live(conn, num)? { find_numbered(conn, num)? } else { None })
            }),
        }
    }

    pub(crate) fn head(&self, thread: &ThreadRef) -> Result<u64, ReadError> {
        // First here, then the disk: what has left here is there.
        match self.recent.head(thread.num) {
            Some(head) => Ok(head),
            None => self.with(|conn| Ok(written_head(conn, thread)?)),
        }
    }

    pub(crate) fn lineage(&self, key: &ThreadKey) -> Result<Option<Lineage>, ReadError> {
        // First here, then the disk: what has left here is there.
        let here = self.recent.thread(key);
        let found = self.with(|conn| Ok(lineage(conn, key)?))?;
        match here {
            // What is here only was made just now, and from nothing; another may have had its id.
            Some(thread) if found.as_ref().is_none_or(|found| found.thread.num != thread.num) => {
                let id = key.id.to_string();
                Ok(Some(Lineage { thread, id, parent: None, promoted: false }))
            }
            _ => Ok(found),
        }
    }

    /// Whether all rows of the thread are known by what they mean.
    pub(crate) fn is_followed(&self, thread: &ThreadRef) -> bool {
        self.recent.is_followed(thread.num) && self.recent.known() == Known::All
    }

    /// Whether a thread that was found has since lost its name, and how.
    pub(crate) fn end(&self, thread: &ThreadRef) -> Result<Option<End>, ReadError> {
        if self.recent.is_named(thread) {
            return Ok(None);
        }
        self.with(|conn| {
            let mut renamed = conn
                .prepare_cached("SELECT renamed FROM thread WHERE num = ?1 AND deleted IS NULL")?;
            let renamed = renamed.query_row(params![thread.num], |row| row.get::<i64>(0));
            Ok(match renamed.optional()? {
                None => Some(End::Deleted),
                Some(renamed) if renamed != thread.renamed => Some(End::Renamed),
                Some(_) => None,
            })
        })
    }

    /// What the entry of a sequence number was folded into, if it was and is not the last of it.
    pub(crate) fn folded(
        &self,
        thread: &ThreadRef,
        seq: u64,
    ) -> Result<Option<RangeInclusive<u64>>, ReadError> {
        // Of what was just written nothing was folded, and the rest is on the disk.
        if self.recent.has_all(thread.num, seq) {
            return Ok(None);
        }
        self.with(|conn| Ok(folded(conn, thread, seq)?))
    }

    pub(crate) fn read(
        &self,
        thread: &ThreadRef,
        after: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<Page, ReadError> {
        // What a replica says is held against what the primary does.
        let replica = self.replica.as_ref().filter(|replica| replica.is_ready());
        let known = match replica {
            Some(_) => self.with(|conn| Ok(Standing::of(conn, thread)?))?,
            None => None,
        };
        let head = match &known {
            Some(known) => known.head,
            None => self.head(thread)?,
        };
        let mut stretch = Stretch {
            entries: Vec::new(),
            seen: after,
            upto: head,
            most: entries,
            bytes,
            room: bytes,
        };
        let recent = self.recent.after(thread.num, after);
        if recent.first().is_some_and(|first| first.first <= after + 1) {
            stretch.take_all(&recent);
            return Ok(Page { entries: stretch.entries, head });
        }
        if let (Some(replica), Some(known)) = (replica, &known)
            && known.is_cold(after)
            && !stretch.is_full()
        {
            replica.read(thread, known, &mut stretch);
        }
        if !stretch.is_full() {
            self.with(|conn| self.thread_rows(conn, thread, &mut stretch))?;
        }
        Ok(Page { entries: stretch.entries, head })
    }

    /// A thread's rows, those it shares with the thread it branched off from first.
    fn thread_rows(
        &self,
        conn: &Connection,
        thread: &ThreadRef,
        stretch: &mut Stretch,
    ) -> Result<(), ReadError> {
        if let Some(Branch { parent, at }) = &thread.branch
            && stretch.seen < *at
        {
            let upto = stretch.upto;
            stretch.upto = upto.min(*at);
            self.thread_rows(conn, parent, stretch)?;
            stretch.upto = upto;
            if stretch.seen < *at {
                return Ok(());
            }
        }
        let recent = self.recent.after(thread.num, stretch.seen);
        if !stretch.is_full() {
            rows_after(conn, thread.num, stretch.seen, |_, batch| {
                stretch.take(batch);
                Ok::<_, db::Error>(!stretch.is_full())
            })?;
        }
        stretch.take_all(&recent);
        Ok(())
    }
}

/// Entries being gathered.
pub(crate) struct Stretch {
    entries: Vec<crate::Entry>,
    /// The last sequence number that was taken, or passed over.
    pub(crate) seen: u64,
    /// The last one to take.
    pub(crate) upto: u64,
    most: usize,
    bytes: usize,
    room: usize,
}

impl Stretch {
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0 || self.is_over()
    }

    /// Whether nothing more goes into it, whatever is still to come.
    pub(crate) fn is_spent(&self) -> bool {
        self.room == 0 || self.entries.len() >= self.most
    }

    /// Whether there must not be more in it.
    fn is_over(&self) -> bool {
        self.entries.len() >= self.most || self.seen >= self.upto
    }

    fn take_all(&mut self, batches: &[Arc<Batch>]) {
        for batch in batches {
            if self.is_full() {
                return;
            }
            self.take(batch);
        }
    }

    pub(crate) fn take(&mut self, batch: &Batch) {
        // One that was begun is finished where that is not too much: all of it would be read again
        // for what is left of it.
        let is_whole = batch.size() <= self.bytes;
        self.entries.reserve(batch.len().min(self.most.saturating_sub(self.entries.len())));
        for entry in batch.after(self.seen) {
            if self.is_over() || self.room == 0 && !is_whole {
                return;
            }
            self.seen = entry.seq;
            self.room = self.room.saturating_sub(entry.event.len());
            self.entries.push(entry);
        }
    }
}

//! The store: a cheap handle to the writer, the readers and the live tails.

use std::fs::File;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tokio::sync::watch;

use crate::chain::Chained;
use crate::handle::WriterHandle;
use crate::live::{Live, Tail};
use crate::read::Readers;
use crate::rows::chain::chained;
use crate::rows::erase::erasures;
use crate::rows::fold::Folding;
use crate::sqlite::{Known, Recent, open};
use crate::{
    Address, Append, AppendError, Appended, Erase, Erasure, HashChain, Hints, KeyHash, Lease,
    Limits, Lineage, OpenError, Page, Progress, Promote, PromoteError, Promoted, ReadError, Redact,
    RedactError, Redacted, TendError, Then, ThreadKey, ThreadRef, postgres, sqlite,
};

/// How to open a store.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Bounds of one append.
    pub limits: Limits,
    /// Whether appends are chained by hashes.
    pub chain: HashChain,
    /// How nodes that share a database tell each other.
    pub hints: Hints,
}

/// A journal on disk. Clones share it; it closes when the last is gone.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    writer: WriterHandle,
    readers: Readers,
    live: Arc<Live>,
    limits: Limits,
    address: Address,
    /// Which of those it is that share a database.
    node: Option<Arc<postgres::Node>>,
    /// Last, so that the writer is done before another store may begin. Nodes share a database.
    _lock: Option<File>,
}

impl Store {
    /// Opens the store in a file, making it if it is not there, or in a database. Blocks.
    ///
    /// A file has one store at a time: another process that has it open is an error. A database may
    /// have many.
    pub fn open(at: impl Into<Address>, options: Options) -> Result<Self, OpenError> {
        let address = at.into();
        let live = Arc::new(Live::default());
        let recent = Arc::new(Recent::default());
        let readers = Readers::new(&address, recent.clone());
        let (writer, node, lock) = match &address {
            Address::File(path) => {
                let lock = open::lock(path)?;
                let conn = open::writer(path)?;
                let writer = sqlite::Writer::start(path, conn, live.clone(), recent, options.chain);
                (writer?, None, Some(lock))
            }
            Address::Postgres(url) => {
                // Nothing is at hand here that another node may have changed.
                recent.note(Known::Not);
                let Options { chain, hints, .. } = &options;
                let started = postgres::Writer::start(url, live.clone(), *chain, hints);
                let (writer, node) = started.map_err(|error| error.at(&address))?;
                (writer, Some(node), None)
            }
        };
        let limits = options.limits;
        let inner = Inner { writer, readers, live, limits, address, node, _lock: lock };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Makes the tables of a store, or brings those of an older version up to date, and does nothing
    /// else; how many steps it has taken in all. Blocks.
    pub fn migrate(at: impl Into<Address>) -> Result<i64, OpenError> {
        let address = at.into();
        match &address {
            Address::File(path) => {
                let _lock = open::lock(path)?;
                open::writer(path)?;
                Ok(open::VERSION)
            }
            Address::Postgres(url) => postgres::migrate(&address, url),
        }
    }

    /// Where it is.
    pub fn address(&self) -> &Address {
        &self.inner.address
    }

    /// Whether other nodes may have it, too.
    pub fn is_shared(&self) -> bool {
        self.inner.node.is_some()
    }

    /// Changes when another node may have done something that matters to those who work on tasks;
    /// none if there are no other nodes. It may be late, or be missed.
    pub fn stirs(&self) -> Option<watch::Receiver<u64>> {
        self.inner.node.as_ref().map(|node| node.stirs())
    }

    /// Claims what only one node may do at a time: the turn of a task by its id, or anything else
    /// of a thread by a name of its own; whether it is this node's from now on. A node keeps what
    /// it claimed while it is alive. Blocks for the disk.
    pub fn claim(&self, thread: i64, what: &str) -> Result<bool, ReadError> {
        match &self.inner.node {
            None => Ok(true),
            Some(node) => self.inner.readers.with(|conn| Ok(node.claim(conn, thread, what)?)),
        }
    }

    /// Gives back what it claimed. Blocks for the disk.
    pub fn release(&self, thread: i64, what: &str) -> Result<(), ReadError> {
        match &self.inner.node {
            None => Ok(()),
            Some(node) => self.inner.readers.with(|conn| Ok(node.release(conn, thread, what)?)),
        }
    }

    /// Appends events; when it answers, they are on disk.
    pub async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        append.check(&self.inner.limits)?;
        self.inner.writer.append(append).await
    }

    /// The thread, if it is there. Blocks for the disk.
    pub fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRef>, ReadError> {
        self.inner.readers.thread(key)
    }

    /// The thread of that number, if it is there. Blocks for the disk.
    pub fn numbered(&self, num: i64) -> Result<Option<ThreadRef>, ReadError> {
        self.inner.readers.numbered(num)
    }

    /// Whether a thread was just written to, so that neither looking it up nor opening its live end
    /// waits for the disk.
    pub fn is_at_hand(&self, key: &ThreadKey) -> bool {
        self.inner.readers.has_named(key)
    }

    /// Whether all that a thread has after a sequence number is in memory, so that reading it does
    /// not wait for the disk.
    pub fn has_at_hand(&self, thread: &ThreadRef, after: u64) -> bool {
        self.inner.readers.has_all(thread, after)
    }

    /// The last sequence number of a thread. Blocks for the disk.
    pub fn head(&self, thread: &ThreadRef) -> Result<u64, ReadError> {
        self.inner.readers.head(thread)
    }

    /// Reads entries after a sequence number: at least one if there is one, up to so many and
    /// about so many bytes. Blocks for the disk.
    pub fn read(
        &self,
        thread: &ThreadRef,
        after: u64,
        entries: usize,
        bytes: usize,
    ) -> Result<Page, ReadError> {
        self.inner.readers.read(thread, after, entries, bytes)
    }

    /// The live end of a thread. Blocks for the disk.
    pub fn tail(&self, thread: &ThreadRef) -> Result<Arc<Tail>, ReadError> {
        // In this order: what is committed in between reaches the tail by itself.
        let tail = self.inner.live.tail(thread);
        if self.inner.node.is_some() {
            // By what the database says now: another node may have been there.
            let end = self.inner.readers.with(|conn| Ok(postgres::standing(conn, thread, &tail)?));
            return Ok(match end? {
                None => tail,
                Some(end) => Arc::new(Tail::ended_by(end)),
            });
        }
        if tail.is_new() {
            tail.begin_with(self.inner.readers.newest(thread));
        }
        tail.reached(self.head(thread)?);
        match self.inner.readers.end(thread)? {
            None => Ok(tail),
            // It lost its name before the tail began, so nobody else will say so; who knows it by
            // its new name goes on.
            Some(end) => Ok(Arc::new(Tail::ended_by(end))),
        }
    }

    /// Deletes a thread. It is gone when this answers, and its id can be used again; its rows are
    /// removed behind. Threads that branched off from it keep their shared past.
    pub async fn delete(&self, key: ThreadKey) -> Result<(), TendError> {
        self.inner.writer.delete(key).await
    }

    /// Takes the content out of events and leaves a receipt in the journal. When it answers, nobody
    /// can read it any more; [`Store::scrubbed`] waits until its bytes are overwritten, too.
    pub async fn redact(&self, redact: Redact) -> Result<Redacted, RedactError> {
        self.inner.writer.redact(redact).await
    }

    /// Erases a thread, and those that branched off from it if asked, and keeps a receipt of each.
    /// [`Store::scrubbed`] waits until its bytes are overwritten.
    pub async fn erase(&self, erase: Erase) -> Result<Vec<Erasure>, TendError> {
        self.inner.writer.erase(erase).await
    }

    /// Receipts of a tenant's erased threads, the newest first. Blocks for the disk.
    pub fn erasures(&self, tenant: &str, limit: usize) -> Result<Vec<Erasure>, ReadError> {
        self.inner.readers.with(|conn| erasures(conn, tenant, limit))
    }

    /// Waits until nothing of what was taken out is left in the file.
    pub async fn scrubbed(&self) -> Result<(), TendError> {
        self.settle().await
    }

    /// Folds some of the finished pieces of text that were committed before a moment, in
    /// milliseconds since 1970; to be called until there is no more.
    pub async fn fold_before(&self, moment: i64) -> Result<Folding, TendError> {
        self.inner.writer.fold(moment).await
    }

    /// What the entry of a sequence number was folded into, if it was and is not the last of it: a
    /// reader that stands there has seen a part of what is one entry now. Blocks for the disk.
    pub fn folded(
        &self,
        thread: &ThreadRef,
        seq: u64,
    ) -> Result<Option<RangeInclusive<u64>>, ReadError> {
        self.inner.readers.folded(thread, seq)
    }

    /// Entries after a sequence number with their places in the hash chain, about so many, once
    /// [`Store::fresh`] has answered. Blocks for the disk.
    pub fn chained(
        &self,
        thread: &ThreadRef,
        after: u64,
        entries: usize,
    ) -> Result<Vec<Chained>, ReadError> {
        self.inner.readers.with(|conn| chained(conn, thread, after, entries))
    }

    /// Lets a branch take the place of the thread it came from, whose journal lives on under
    /// another id. Live tails of both end.
    pub async fn promote(&self, promote: Promote) -> Result<Promoted, PromoteError> {
        self.inner.writer.promote(promote).await
    }

    /// The thread of an id, or the one that had it until it was promoted, and where it came from.
    /// Blocks for the disk.
    pub fn lineage(&self, key: &ThreadKey) -> Result<Option<Lineage>, ReadError> {
        self.inner.readers.lineage(key)
    }

    /// Waits until all that follows behind the acknowledgement has caught up.
    pub async fn settle(&self) -> Result<(), TendError> {
        while !self.inner.writer.catch_up().await?.is_done() {}
        Ok(())
    }

    /// The same, telling how far it has come.
    pub async fn catch_up(&self, mut progress: impl FnMut(Progress)) -> Result<(), TendError> {
        loop {
            let now = self.inner.writer.catch_up().await?;
            progress(now);
            if now.is_done() {
                return Ok(());
            }
        }
    }

    /// Waits until what can be asked of a thread tells of all that was appended to it. Refused
    /// while all of it is built anew.
    pub async fn fresh(&self, thread: &ThreadRef) -> Result<(), TendError> {
        // Where rows are is written down together with what they mean, as a rule.
        if self.inner.readers.is_followed(thread) {
            return Ok(());
        }
        self.inner.writer.fresh(Some(thread.num)).await
    }

    /// Waits until what can be asked of all threads tells of all that was appended before, by
    /// whichever node.
    pub async fn up_to_date(&self) -> Result<(), TendError> {
        self.inner.writer.fresh(None).await
    }

    /// Renews a lease or lets it go, if nobody else has its task; nothing is appended.
    pub async fn hold(
        &self,
        thread: ThreadKey,
        token: KeyHash,
        then: Then,
    ) -> Result<Lease, AppendError> {
        self.inner.writer.lease(thread, token, then).await
    }

    /// Drops all that follows the journal and builds it anew, telling how far it has come. The
    /// store serves meanwhile; lists and search are not complete until it is done. Stopped, it
    /// goes on when the store is opened again.
    pub async fn rebuild(&self, mut progress: impl FnMut(Progress)) -> Result<(), TendError> {
        let mut now = self.inner.writer.rebuild().await?;
        while !now.is_done() {
            progress(now);
            now = self.inner.writer.catch_up().await?;
        }
        progress(now);
        Ok(())
    }

    /// Connections to read with.
    pub(crate) fn readers(&self) -> &Readers {
        &self.inner.readers
    }
}

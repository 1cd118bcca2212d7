//! The store: a cheap handle to its databases, one or several, each with a writer, readers and live
//! tails.

use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

use tokio::sync::watch;

use crate::chain::Chained;
use crate::live::Tail;
use crate::rows::chain::chained;
use crate::rows::erase::erasures;
use crate::rows::fold::Folding;
use crate::spread::Spread;
use crate::sqlite::open;
use crate::{
    Address, Addresses, Append, AppendError, Appended, Erase, Erasure, HashChain, Hints, KeyHash,
    Lease, Limits, Lineage, OpenError, Page, Progress, Promote, PromoteError, Promoted, ReadError,
    Redact, RedactError, Redacted, TendError, Then, ThreadKey, ThreadRef, postgres,
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
    /// More databases that threads are in, always in the same order. None: one is enough.
    pub shards: Vec<Address>,
    /// A replica of each database, in their order, which is read where it has what is asked for and
    /// that was written long ago. None: the databases themselves are.
    pub replicas: Vec<Address>,
}

/// A journal on disk. Clones share it; it closes when the last is gone.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    spread: Spread,
    limits: Limits,
}

impl Store {
    /// Opens the store in a file, making it if it is not there, or in a database. Blocks.
    ///
    /// A file has one store at a time: another process that has it open is an error. A database may
    /// have many.
    pub fn open(at: impl Into<Address>, options: Options) -> Result<Self, OpenError> {
        let spread = Spread::open(&at.into(), &options)?;
        let limits = options.limits;
        Ok(Self { inner: Arc::new(Inner { spread, limits }) })
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

    /// Where it is; of several databases the first, which has the keys.
    pub fn address(&self) -> &Address {
        &self.inner.spread.first.address
    }

    /// Where all of it is.
    pub fn addresses(&self) -> Addresses {
        let mut all = self.spread().all().map(|shard| shard.address.clone());
        let first = all.next().unwrap_or_else(|| self.address().clone());
        Addresses::new(first, all.collect())
    }

    /// Whether other nodes may have it, too.
    pub fn is_shared(&self) -> bool {
        self.inner.spread.first.node.is_some()
    }

    /// Changes when another node may have done something that matters to those who work on tasks;
    /// none if there are no other nodes. It may be late, or be missed.
    pub fn stirs(&self) -> Option<watch::Receiver<u64>> {
        self.inner.spread.first.node.as_ref().map(|node| node.stirs())
    }

    /// Claims what only one node may do at a time: the turn of a task by its id, or anything else
    /// of a thread by a name of its own; whether it is this node's from now on. A node keeps what
    /// it claimed while it is alive. Blocks for the disk.
    pub fn claim(&self, thread: i64, what: &str) -> Result<bool, ReadError> {
        let shard = self.spread().of(thread)?;
        match &shard.node {
            None => Ok(true),
            Some(node) => shard.with(|conn| Ok(node.claim(conn, thread, what)?)),
        }
    }

    /// Gives back what it claimed. Blocks for the disk.
    pub fn release(&self, thread: i64, what: &str) -> Result<(), ReadError> {
        let shard = self.spread().of(thread)?;
        match &shard.node {
            None => Ok(()),
            Some(node) => shard.with(|conn| Ok(node.release(conn, thread, what)?)),
        }
    }

    /// Appends events; when it answers, they are on disk.
    pub async fn append(&self, append: Append) -> Result<Appended, AppendError> {
        append.check(&self.inner.limits)?;
        let shard = match self.spread().only() {
            Some(only) => only,
            // Apart, so that whoever has one database does not carry it along.
            None => Box::pin(self.spread().place(&append)).await?,
        };
        shard.writer.append(append).await
    }

    /// The thread, if it is there. Blocks for the disk.
    pub fn thread(&self, key: &ThreadKey) -> Result<Option<ThreadRef>, ReadError> {
        match self.spread().named(key)? {
            Some(shard) => shard.readers.thread(key),
            None => Ok(None),
        }
    }

    /// The thread of that number, if it is there. Blocks for the disk.
    pub fn numbered(&self, num: i64) -> Result<Option<ThreadRef>, ReadError> {
        self.spread().of(num)?.readers.numbered(num)
    }

    /// Whether a thread was just written to, so that neither looking it up nor opening its live end
    /// waits for the disk.
    pub fn is_at_hand(&self, key: &ThreadKey) -> bool {
        self.inner.spread.first.readers.has_named(key)
    }

    /// Whether all that a thread has after a sequence number is in memory, so that reading it does
    /// not wait for the disk.
    pub fn has_at_hand(&self, thread: &ThreadRef, after: u64) -> bool {
        self.inner.spread.first.readers.has_all(thread, after)
    }

    /// The last sequence number of a thread. Blocks for the disk.
    pub fn head(&self, thread: &ThreadRef) -> Result<u64, ReadError> {
        self.spread().of(thread.num)?.readers.head(thread)
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
        self.spread().of(thread.num)?.readers.read(thread, after, entries, bytes)
    }

    /// The live end of a thread. Blocks for the disk.
    pub fn tail(&self, thread: &ThreadRef) -> Result<Arc<Tail>, ReadError> {
        self.spread().of(thread.num)?.tail(thread)
    }

    /// Deletes a thread. It is gone when this answers, and its id can be used again; its rows are
    /// removed behind. Threads that branched off from it keep their shared past.
    pub async fn delete(&self, key: ThreadKey) -> Result<(), TendError> {
        self.spread().find(&key).await?.writer.delete(key).await
    }

    /// Takes the content out of events and leaves a receipt in the journal. When it answers, nobody
    /// can read it any more; [`Store::scrubbed`] waits until its bytes are overwritten, too.
    pub async fn redact(&self, redact: Redact) -> Result<Redacted, RedactError> {
        self.spread().find(&redact.thread).await?.writer.redact(redact).await
    }

    /// Erases a thread, and those that branched off from it if asked, and keeps a receipt of each.
    /// [`Store::scrubbed`] waits until its bytes are overwritten.
    pub async fn erase(&self, erase: Erase) -> Result<Vec<Erasure>, TendError> {
        self.spread().find(&erase.thread).await?.writer.erase(erase).await
    }

    /// Receipts of a tenant's erased threads, the newest first. Blocks for the disk.
    pub fn erasures(&self, tenant: &str, limit: usize) -> Result<Vec<Erasure>, ReadError> {
        let mut lists = self.spread().each(|conn| erasures(conn, tenant, limit))?;
        if lists.len() == 1 {
            return Ok(lists.pop().unwrap_or_default());
        }
        let mut all: Vec<Erasure> = lists.into_iter().flatten().collect();
        all.sort_by_key(|erased| Reverse(erased.at));
        all.truncate(limit);
        Ok(all)
    }

    /// Waits until nothing of what was taken out is left in the file.
    pub async fn scrubbed(&self) -> Result<(), TendError> {
        self.settle().await
    }

    /// Folds some of the finished pieces of text that were committed before a moment, in
    /// milliseconds since 1970; to be called until there is no more.
    pub async fn fold_before(&self, moment: i64) -> Result<Folding, TendError> {
        let mut folding = Folding { entries: 0, more: false };
        let mut trouble = None;
        for shard in self.spread().all() {
            match shard.writer.fold(moment).await {
                Ok(folded) => {
                    folding.entries += folded.entries;
                    folding.more |= folded.more;
                }
                // The others are folded all the same.
                Err(error) => trouble = Some(error),
            }
        }
        trouble.map_or(Ok(folding), Err)
    }

    /// What the entry of a sequence number was folded into, if it was and is not the last of it: a
    /// reader that stands there has seen a part of what is one entry now. Blocks for the disk.
    pub fn folded(
        &self,
        thread: &ThreadRef,
        seq: u64,
    ) -> Result<Option<RangeInclusive<u64>>, ReadError> {
        self.spread().of(thread.num)?.readers.folded(thread, seq)
    }

    /// Entries after a sequence number with their places in the hash chain, about so many, once
    /// [`Store::fresh`] has answered. Blocks for the disk.
    pub fn chained(
        &self,
        thread: &ThreadRef,
        after: u64,
        entries: usize,
    ) -> Result<Vec<Chained>, ReadError> {
        self.spread().of(thread.num)?.with(|conn| chained(conn, thread, after, entries))
    }

    /// Lets a branch take the place of the thread it came from, whose journal lives on under
    /// another id. Live tails of both end.
    pub async fn promote(&self, promote: Promote) -> Result<Promoted, PromoteError> {
        let shard = self.spread().find(&promote.branch).await?;
        if !self.spread().put_beside(&promote.old, &promote.branch).await? {
            return Err(PromoteError::Exists { id: promote.old.id.to_string() });
        }
        shard.writer.promote(promote).await
    }

    /// The thread of an id, or the one that had it until it was promoted, and where it came from.
    /// Blocks for the disk.
    pub fn lineage(&self, key: &ThreadKey) -> Result<Option<Lineage>, ReadError> {
        match self.spread().named(key)? {
            Some(shard) => shard.readers.lineage(key),
            None => Ok(None),
        }
    }

    /// Waits until all that follows behind the acknowledgement has caught up.
    pub async fn settle(&self) -> Result<(), TendError> {
        self.catch_up(|_| {}).await
    }

    /// The same, telling how far it has come, in one database after the other.
    pub async fn catch_up(&self, mut progress: impl FnMut(Progress)) -> Result<(), TendError> {
        let (mut done, mut total) = (0, 0);
        for shard in self.spread().all() {
            let mut now = shard.writer.catch_up().await?;
            while !now.is_done() {
                progress(Progress { done: done + now.done, total: total + now.total });
                now = shard.writer.catch_up().await?;
            }
            (done, total) = (done + now.done, total + now.total);
            progress(Progress { done, total });
        }
        Ok(())
    }

    /// Waits until what can be asked of a thread tells of all that was appended to it. Refused
    /// while all of it is built anew.
    pub async fn fresh(&self, thread: &ThreadRef) -> Result<(), TendError> {
        // Where rows are is written down together with what they mean, as a rule.
        let shard = self.spread().of(thread.num)?;
        if shard.readers.is_followed(thread) {
            return Ok(());
        }
        shard.writer.fresh(Some(thread.num)).await
    }

    /// Waits until what can be asked of all threads tells of all that was appended before, by
    /// whichever node.
    pub async fn up_to_date(&self) -> Result<(), TendError> {
        for shard in self.spread().all() {
            shard.writer.fresh(None).await?;
        }
        Ok(())
    }

    /// Renews a lease or lets it go, if nobody else has its task; nothing is appended.
    pub async fn hold(
        &self,
        thread: ThreadKey,
        token: KeyHash,
        then: Then,
    ) -> Result<Lease, AppendError> {
        self.spread().find(&thread).await?.writer.lease(thread, token, then).await
    }

    /// Drops all that follows the journal and builds it anew, telling how far it has come. The
    /// store serves meanwhile; lists and search are not complete until it is done. Stopped, it
    /// goes on when the store is opened again.
    pub async fn rebuild(&self, mut progress: impl FnMut(Progress)) -> Result<(), TendError> {
        for shard in self.spread().all() {
            progress(shard.writer.rebuild().await?);
        }
        self.catch_up(progress).await
    }

    /// Its databases.
    pub(crate) fn spread(&self) -> &Spread {
        &self.inner.spread
    }
}

//! One database of a store, with all that a store does in it: a writer, readers, live tails.
//!
//! A file is one, too. What is asked of several is put together in `spread.rs`.

use std::fs::File;
use std::sync::Arc;

use crate::db::Connection;
use crate::handle::WriterHandle;
use crate::live::{Live, Tail};
use crate::read::Readers;
use crate::sqlite::{Known, Recent, open};
use crate::{Address, OpenError, Options, ReadError, ThreadRef, postgres, sqlite};

/// Bits of a thread's number below those that say which database it is in. All of it stays below
/// 2^53, which every reader of JSON can count to.
const BITS: u32 = 40;

/// The most databases of one store.
pub(crate) const SHARDS: usize = 4096;

/// The database that a thread is in, by its number.
pub(crate) fn shard_of(thread: i64) -> usize {
    usize::try_from(thread >> BITS).unwrap_or(0)
}

/// The number that a database's threads are counted from.
pub(crate) fn numbers_of(shard: usize) -> i64 {
    (shard as i64) << BITS
}

/// One database, opened.
#[derive(Debug)]
pub(crate) struct Shard {
    pub(crate) writer: WriterHandle,
    pub(crate) readers: Readers,
    live: Arc<Live>,
    pub(crate) address: Address,
    /// Which of those it is that share a database.
    pub(crate) node: Option<Arc<postgres::Node>>,
    /// Last, so that the writer is done before another store may begin. Nodes share a database.
    _lock: Option<File>,
}

impl Shard {
    /// Opens it, making what is missing. Blocks.
    pub(crate) fn open(
        address: &Address,
        replica: Option<&Address>,
        options: &Options,
    ) -> Result<Self, OpenError> {
        let live = Arc::new(Live::default());
        let recent = Arc::new(Recent::default());
        let readers = Readers::new(address, recent.clone()).with_replica(replica);
        let (writer, node, lock) = match address {
            Address::File(path) => {
                let lock = open::lock(path)?;
                let conn = open::writer(path)?;
                let writer = sqlite::Writer::start(path, conn, live.clone(), recent, options.chain);
                (writer?, None, Some(lock))
            }
            Address::Postgres(url) => {
                // Nothing is at hand here that another node may have changed.
                recent.note(Known::Not);
                let Options { chain, hints, .. } = options;
                let started = postgres::Writer::start(url, live.clone(), *chain, hints);
                let (writer, node) = started.map_err(|error| error.at(address))?;
                (writer, Some(node), None)
            }
        };
        Ok(Self { writer, readers, live, address: address.clone(), node, _lock: lock })
    }

    /// Runs something on a connection that reads.
    pub(crate) fn with<T>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, ReadError>,
    ) -> Result<T, ReadError> {
        self.readers.with(run)
    }

    /// The live end of a thread.
    pub(crate) fn tail(&self, thread: &ThreadRef) -> Result<Arc<Tail>, ReadError> {
        // In this order: what is committed in between reaches the tail by itself.
        let tail = self.live.tail(thread);
        if self.node.is_some() {
            // By what the database says now: another node may have been there.
            let end = self.with(|conn| Ok(postgres::standing(conn, thread, &tail)?));
            return Ok(match end? {
                None => tail,
                Some(end) => Arc::new(Tail::ended_by(end)),
            });
        }
        if tail.is_new() {
            tail.begin_with(self.readers.newest(thread));
        }
        tail.reached(self.readers.head(thread)?);
        match self.readers.end(thread)? {
            None => Ok(tail),
            // It lost its name before the tail began, so nobody else will say so; who knows it by
            // its new name goes on.
            Some(end) => Ok(Arc::new(Tail::ended_by(end))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SHARDS, numbers_of, shard_of};

    #[test]
    fn a_number_says_which_database_it_is_of() {
        for shard in [0, 1, 2, SHARDS - 1] {
            assert_eq!(shard_of(numbers_of(shard) + 1), shard);
            assert_eq!(shard_of(numbers_of(shard + 1) - 1), shard);
        }
        assert!(numbers_of(SHARDS) <= 1 << 53);
        assert_eq!(shard_of(-1), 0);
    }
}

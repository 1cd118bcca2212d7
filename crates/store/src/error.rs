//! What can go wrong, one enum per kind of operation.

use crate::{Instead, db};

/// Why an append was refused. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum AppendError {
    #[error("thread not found")]
    NotFound,
    #[error("the thread exists already")]
    Exists,
    #[error("the thread's head is {head}, not {expected}")]
    Conflict { expected: u64, head: u64 },
    #[error("the cursor is of another journal")]
    OtherJournal,
    #[error("the idempotency key was used for another body")]
    KeyReused,
    #[error(transparent)]
    Instead(#[from] Instead),
    #[error("what is known of threads is being built anew; try again")]
    Behind,
    #[error("the id belongs to another database than the thread to branch off from; take another")]
    OtherShard,
    #[error("a branch must begin between 0 and the head {head}")]
    BadBranch { head: u64 },
    #[error("entries {from} to {to} were folded into one: nothing can end between them")]
    Folded { from: u64, to: u64 },
    #[error("a thread's id must have 1 to {limit} bytes")]
    BadId { limit: usize },
    #[error("an idempotency key must have 1 to {limit} bytes")]
    BadKey { limit: usize },
    #[error("there is no event to append")]
    NoEvents,
    #[error("more than {limit} events in one append")]
    TooManyEvents { limit: usize },
    #[error("event {index} has {size} bytes, more than {limit}")]
    EventTooLarge { index: usize, size: usize, limit: usize },
    #[error("the append has {size} bytes, more than {limit}")]
    BatchTooLarge { size: usize, limit: usize },
    #[error("too many appends are waiting; try again")]
    Busy,
    #[error("the store is closed")]
    Closed,
    #[error("could not write: {0}")]
    Storage(String),
}

/// Why a thread was not deleted, or what follows the journal not built anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum TendError {
    #[error("thread not found")]
    NotFound,
    #[error("what is known of threads is being built anew; try again")]
    Behind,
    #[error("too many appends are waiting; try again")]
    Busy,
    #[error("the store is closed")]
    Closed,
    #[error("could not write: {0}")]
    Storage(String),
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum ReadError {
    #[error("could not read: {0}")]
    Storage(#[from] db::Error),
    #[error("could not read: the store {0}")]
    Shard(#[from] ShardError),
    #[error("`{0}` is no place in a list")]
    BadPlace(String),
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum OpenError {
    #[error("could not open {path}: {cause}")]
    Storage { path: String, cause: db::Error },
    #[error("{path} was written by a newer version (schema {found}, this one knows {known})")]
    Newer { path: String, found: i64, known: i64 },
    #[error(
        "{path} was brought up to date by version {found}; this is {own}, which runs beside the \
         next minor version and no later one: start a newer one"
    )]
    OtherRelease { path: String, found: String, own: String },
    #[error("{path} keeps text as {found}; only UTF8 can hold a journal")]
    Encoding { path: String, found: String },
    #[error("{path} {cause}")]
    Shard { path: String, cause: ShardError },
    #[error("a store has at most {limit} databases")]
    TooManyShards { limit: usize },
    #[error("there are {databases} databases and {replicas} replicas: give one for each, in order")]
    Replicas { databases: usize, replicas: usize },
    #[error("a copy into {path} is not complete")]
    Copying { path: String },
    #[error("{path} is open in another process")]
    InUse { path: String },
    #[error("could not lock {path}: {cause}")]
    Lock { path: String, cause: std::io::Error },
    #[error("could not open the log of {path}: {cause}")]
    Log { path: String, cause: std::io::Error },
    #[error("could not start a thread: {0}")]
    Thread(#[from] std::io::Error),
}

/// Why a database cannot be one of a store's. Said of its address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum ShardError {
    #[error("is a file: only a PostgreSQL database can be one of several")]
    File,
    #[error(
        "is database {number} of a store that has several: name the first of them with --store, \
         and the others with --shard, in the order they had"
    )]
    Part { number: i64 },
    #[error(
        "is the first of {count} databases, and {given} were given: name all others with --shard, \
         in the order they had"
    )]
    Missing { count: i64, given: i64 },
    #[error("is database {found} of its store, not {asked}: give them in the order they had")]
    Order { found: i64, asked: i64 },
    #[error("belongs to another store than the first database")]
    OtherStore,
    #[error("has threads of its own: only an empty database can become database {asked}")]
    Occupied { asked: i64 },
    #[error(
        "is one of several databases of a store: copy each of them as a whole, with pg_dump and \
         pg_restore"
    )]
    Copied,
    #[error("has something in database {number}, which this node does not know: give it --shard")]
    Unknown { number: usize },
}

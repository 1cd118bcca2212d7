//! The journal on disk, and its live tail.
//!
//! One table is the truth: rows of events in the order they were committed. All else (where a
//! thread's rows are, thread lists, idempotency keys, projections, search) follows behind the
//! acknowledgement, from those rows, and can be built anew from them.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use selvedge_store::{Append, Create, Draft, Options, Store, ThreadKey};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Store::open(Path::new("selvedge.db"), Options::default())?;
//! let thread = ThreadKey::new("default", "t1");
//! let event = Draft::new(r#"{"kind":"message","content":"hello"}"#);
//! let appended = store.append(Append::new(thread, vec![event]).creating(Create::IfMissing)).await?;
//! assert_eq!((appended.first, appended.last), (1, 1));
//! # Ok(())
//! # }
//! ```

mod address;
mod append;
mod archive;
mod ask;
mod batch;
pub mod chain;
mod check;
mod copy;
mod db;
mod error;
mod fold;
mod guard;
mod handle;
mod hints;
mod keys;
mod lease;
mod link;
mod live;
mod postgres;
mod progress;
mod promote;
mod pushes;
mod query;
mod read;
mod replica;
mod retain;
mod rows;
mod shard;
mod shares;
mod spread;
mod sqlite;
mod store;
mod thread;
mod vault;

pub use address::{Address, Addresses};
pub use append::{Append, Appended, Create, Draft, Expect, Key, Limits};
pub use archive::ArchiveCheck;
pub use batch::{Batch, Entry, Page};
pub use chain::HashChain;
pub use check::{CheckError, Checked, Stage, check, check_places};
pub use copy::{Begin, Copied, Copy, CopyError, CopyStage, Outcome, copy};
pub use db::Error as StorageError;
pub use error::{AppendError, OpenError, ReadError, ShardError, TendError};
pub use guard::{Guard, Instead};
pub use hints::{Hints, HintsError, Service};
pub use keys::{ApiKey, KeyError, KeyHash, Keys, NewKey};
pub use lease::{Lease, NewLease, Prior, Queue, Queued, Then, lease_token};
pub use live::{Ahead, Edge, End, Tail};
pub use progress::Progress;
pub use promote::{Lineage, Promote, PromoteError, Promoted};
pub use pushes::{Push, Pushes};
pub use query::{
    Artifact, ArtifactVersion, Call, DayUsage, Due, Failures, Found, Glance, InboxItem, InboxKind,
    InboxOrder, InboxQuery, Kin, Listed, Overdue, Participant, Piece, Place, Placed, Scalar, Spent,
    Summary, Task, TaskQuery, ThreadQuery, ThreadStatus, Timed, Unfinished, Usage, UsageBy,
    UsageOrder, UsageQuery, Wanted, WhichVersion, Within,
};
pub use retain::{Branches, Erase, Erasure, REDACT_EVENTS, Redact, RedactError, Redacted};
pub use rows::fold::Folding;
pub use shares::{NewShare, SHARE_PREFIX, Share, Shares};
pub use store::{Options, Store};
pub use thread::{Branch, ThreadKey, ThreadRef};
pub use vault::{Grant, SealedKey, Vault};

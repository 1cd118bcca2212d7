//! What was measured: the inputs of the simulation, and the points that it must reproduce.
//!
//! Figures are those of docs/performance.md and the README: two cores of a shared AMD EPYC, the load
//! on the same two cores, 300-byte events. A new run of `cargo xtask bench server` or `cargo xtask
//! bench cluster` changes the figures here and nothing else. Times are in seconds.

const US: f64 = 1e-6;
const KIB: f64 = 1024.0;

/// A machine that was measured.
pub(crate) const CORES: usize = 2;

/// Appends to a node, or commits of a database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appends {
    /// CPU of the server before and after the commit.
    pub(crate) cpu: f64,
    /// CPU of the commit for each append in it.
    pub(crate) row: f64,
    /// CPU of a commit, whatever is in it.
    pub(crate) commit: f64,
    /// The disk's time for a commit.
    pub(crate) sync: f64,
    /// Until a thread that waits is at work.
    pub(crate) wake: f64,
    /// How long it is waited for as many appends as the last commit had, as a share of that commit's
    /// time.
    pub(crate) gather: f64,
    /// CPU of whoever asks, which is on the same machine in the measurements.
    pub(crate) load: f64,
}

/// A node with its journal in a file. 18 µs for an append of one of 64 writers on a quiet machine; a
/// sync takes 0.1 ms in place; a lone writer, who commits what it brings itself, waits 0.17 ms.
pub(crate) const FILE: Appends = Appends {
    cpu: 15.0 * US,
    row: 5.0 * US,
    commit: 10.0 * US,
    sync: 100.0 * US,
    wake: 12.0 * US,
    gather: 0.0,
    load: 8.0 * US,
};

/// PostgreSQL by itself: an `INSERT` and its commit for each event.
pub(crate) const INSERTS: Appends = Appends {
    cpu: 55.0 * US,
    row: 1.0 * US,
    commit: 5.0 * US,
    sync: 100.0 * US,
    wake: 15.0 * US,
    gather: 0.0,
    load: 18.0 * US,
};

/// Appends a second by writers that send the next when the last is acknowledged.
pub(crate) const FILE_POINTS: &[(usize, f64)] =
    &[(1, 5_700.0), (16, 38_700.0), (64, 60_300.0), (256, 66_700.0)];
pub(crate) const INSERT_POINTS: &[(usize, f64)] =
    &[(1, 4_600.0), (16, 22_800.0), (64, 28_400.0), (256, 24_000.0)];

/// Writing to readers of one thread.
pub(crate) struct Deliveries {
    /// CPU of one write to one reader, and of each event in it: at 50 events a second a delivery costs
    /// 8.8 µs, as fast as events are acknowledged it is 0.7 µs.
    pub(crate) write: f64,
    pub(crate) event: f64,
    /// Events that one write takes at most.
    pub(crate) most: f64,
    /// CPU of whoever reads, for an event.
    pub(crate) load: f64,
}

pub(crate) const DELIVERIES: Deliveries =
    Deliveries { write: 8.4 * US, event: 0.41 * US, most: 64.0, load: 0.5 * US };

/// Deliveries a second to so many readers of one thread, as fast as its events are acknowledged.
pub(crate) const DELIVERY_POINTS: &[(usize, f64)] = &[(1_000, 1_690_000.0), (5_000, 2_040_000.0)];
/// CPU of a delivery at 50 events a second to 1,000 readers.
pub(crate) const SLOW_DELIVERY: f64 = 8.8 * US;

/// Memory of a reader to whom nothing is told, and of a node besides.
pub(crate) const READER_BYTES: f64 = 2.3 * KIB;
pub(crate) const NODE_BYTES: f64 = 256.0 * 1024.0 * KIB;
/// Disk of an event in PostgreSQL with its indexes; of a thread with one event and its rows in lists.
pub(crate) const EVENT_BYTES: f64 = 450.0;
pub(crate) const THREAD_BYTES: f64 = 1_400.0;

/// Nodes on PostgreSQL: a group of appends is one transaction. What an append and what a commit costs
/// was parted by what both cost at one, two and three nodes, with groups of 64, 32 and 21. `looks` is
/// counted, not measured.
pub(crate) struct Cluster {
    /// CPU of a node for an append, and for a commit, besides its database.
    pub(crate) node: f64,
    pub(crate) commit: f64,
    /// CPU of the database for a transaction and for each event in it, pieces of answers.
    pub(crate) transaction: f64,
    pub(crate) event: f64,
    /// CPU of the database for what follows an event that has words and changes lists. 51,000 events
    /// of 1,000 threads took 1.35 s, many of a thread at a time; each by itself would take more.
    pub(crate) follow: f64,
    /// Connections of a node: its writer, what follows, hints, and those that read.
    pub(crate) connections: f64,
    /// Statements a second of a node that only looks: reconciliation, its own place, keys.
    pub(crate) looks: f64,
}

pub(crate) const CLUSTER: Cluster = Cluster {
    node: 12.0 * US,
    commit: 200.0 * US,
    transaction: 400.0 * US,
    event: 12.0 * US,
    follow: 26.0 * US,
    connections: 24.0,
    looks: 5.0,
};

impl Cluster {
    /// The same as appends of nodes that are on one machine with their database and the load.
    pub(crate) const fn appends(&self) -> Appends {
        Appends {
            cpu: self.node,
            row: self.event,
            commit: self.transaction + self.commit,
            sync: FILE.sync,
            wake: FILE.wake,
            gather: 0.25,
            load: FILE.load,
        }
    }
}

/// Events acknowledged a second by so many nodes on one database, with so many writers in all, on
/// threads of their own.
pub(crate) const CLUSTER_POINTS: &[(usize, usize, f64)] =
    &[(1, 64, 28_700.0), (2, 64, 27_600.0), (3, 64, 24_300.0)];

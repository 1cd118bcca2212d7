//! What a number of threads and readers takes: nodes, databases, connections, memory and disk.

use crate::costs::{
    CLUSTER, Cluster, DELIVERIES, EVENT_BYTES, NODE_BYTES, READER_BYTES, THREAD_BYTES,
};
use crate::fanout::delivery;

/// What is asked of a cluster.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(crate) name: &'static str,
    pub(crate) threads: f64,
    pub(crate) events_per_thread: f64,
    /// Threads with an answer on its way, and events a second of each.
    pub(crate) active: f64,
    pub(crate) events_a_second: f64,
    /// Readers with an open stream, and how many of them read a thread that is active.
    pub(crate) readers: f64,
    pub(crate) readers_of_active: f64,
    /// Cores of a node and of a database, and how much of them is to be used at most.
    pub(crate) node_cores: f64,
    pub(crate) database_cores: f64,
    pub(crate) used: f64,
    /// Connections that one node takes: ports, files, and what one failure may cut off.
    pub(crate) node_readers: f64,
}

/// What that takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Needs {
    /// Events a second, and deliveries.
    pub(crate) events: f64,
    pub(crate) deliveries: f64,
    pub(crate) nodes: f64,
    pub(crate) databases: f64,
    /// Of each node: memory in bytes, share of its cores, deliveries a second.
    pub(crate) node_bytes: f64,
    pub(crate) node_used: f64,
    pub(crate) node_deliveries: f64,
    /// Of each database: events a second, transactions, share of its cores, connections, bytes.
    pub(crate) shard_events: f64,
    pub(crate) shard_transactions: f64,
    pub(crate) shard_used: f64,
    pub(crate) shard_connections: f64,
    pub(crate) shard_bytes: f64,
}

/// The longest that appends wait for others to be committed with, by the pace of one node's writer:
/// one transaction after the other.
const GROUPS_A_SECOND: f64 = 400.0;

/// What a demand takes. Nodes and databases are as many as the scarcest thing asks for.
pub(crate) fn needs(demand: &Demand) -> Needs {
    let events = demand.active * demand.events_a_second;
    let deliveries = demand.readers_of_active * demand.events_a_second;
    // A write to a reader has one event: each thread has its own pace.
    let per_delivery = delivery(&DELIVERIES, demand.events_a_second, 1.0);
    let Cluster { node, commit, transaction, event, follow, connections, looks } = CLUSTER;
    let node_cpu = events * node + deliveries * per_delivery;
    let by_cpu = node_cpu / (demand.node_cores * demand.used);
    let by_readers = demand.readers / demand.node_readers;
    // One more than needed: a node may be gone.
    let nodes = by_cpu.max(by_readers).ceil().max(2.0) + 1.0;
    let mut databases = 1.0;
    loop {
        // Each node has a writer for each database, which commits what has come meanwhile.
        let shard_events = events / databases;
        let groups = (nodes * GROUPS_A_SECOND).min(shard_events);
        let cpu =
            groups * transaction + shard_events * (event + follow) + nodes * looks * transaction;
        let used = cpu / demand.database_cores;
        if used <= demand.used || databases >= 4_096.0 {
            let bytes = demand.threads * (THREAD_BYTES + demand.events_per_thread * EVENT_BYTES);
            return Needs {
                events,
                deliveries,
                nodes,
                databases,
                node_bytes: NODE_BYTES + demand.readers / nodes * READER_BYTES,
                // Each of its writers' commits takes some of it.
                node_used: (node_cpu + groups * databases * commit) / nodes / demand.node_cores,
                node_deliveries: deliveries / nodes,
                shard_events,
                shard_transactions: groups,
                shard_used: used,
                shard_connections: nodes * connections,
                shard_bytes: bytes / databases,
            };
        }
        databases += 1.0;
    }
}

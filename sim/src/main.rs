//! `cargo run -p selvedge-sim`: what was measured, simulated, and what more than that would take.
//!
//! Nodes, databases, threads and readers are queues; what a piece of work costs is what was measured
//! (`costs.rs`). Tests hold the simulation to the measured points. What is beyond them is arithmetic
//! on paper: it says what would be scarce first, not what will be reached.

mod costs;
mod fanout;
mod queue;
mod scale;

use costs::{
    CLUSTER, CLUSTER_POINTS, CORES, DELIVERIES, DELIVERY_POINTS, FILE, FILE_POINTS, INSERT_POINTS,
    INSERTS, SLOW_DELIVERY,
};
use scale::{Demand, needs};

const MILLION: f64 = 1e6;
const GIB: f64 = (1_u64 << 30) as f64;

/// From one node to a hundred million threads and a million live readers. An answer is ten seconds
/// of twenty pieces; one reader in twenty-five waits for one.
const DEMANDS: &[Demand] = &[
    Demand {
        name: "a team",
        threads: 100_000.0,
        events_per_thread: 200.0,
        active: 100.0,
        events_a_second: 20.0,
        readers: 2_000.0,
        readers_of_active: 200.0,
        node_cores: 2.0,
        database_cores: 4.0,
        used: 0.6,
        node_readers: 10_000.0,
    },
    Demand {
        name: "a product",
        threads: 10.0 * MILLION,
        events_per_thread: 200.0,
        active: 4_000.0,
        events_a_second: 20.0,
        readers: 100_000.0,
        readers_of_active: 4_000.0,
        node_cores: 8.0,
        database_cores: 32.0,
        used: 0.6,
        node_readers: 50_000.0,
    },
    Demand {
        name: "100M threads, 1M live readers",
        threads: 100.0 * MILLION,
        events_per_thread: 200.0,
        active: 40_000.0,
        events_a_second: 20.0,
        readers: MILLION,
        readers_of_active: 40_000.0,
        node_cores: 8.0,
        database_cores: 32.0,
        used: 0.6,
        node_readers: 50_000.0,
    },
];

fn main() {
    println!("measured and simulated, two cores with the load on them:");
    for (what, costs, points) in [
        ("appends to a file", &FILE, FILE_POINTS),
        ("commits of PostgreSQL", &INSERTS, INSERT_POINTS),
    ] {
        for &(writers, measured) in points {
            let own = queue::closed(costs, CORES, 1, writers);
            let (p50, p99) = (own.p50 * 1e3, own.p99 * 1e3);
            println!(
                "  {what}, {writers:>3} writers: {measured:>8.0}/s measured, {:>8.0}/s simulated, \
                 p50 {p50:.2} ms, p99 {p99:.2} ms",
                own.rate
            );
        }
    }
    for &(nodes, writers, measured) in CLUSTER_POINTS {
        let own = queue::closed(&CLUSTER.appends(), CORES, nodes, writers);
        println!(
            "  {nodes} nodes on one database, {writers:>3} writers: {measured:>8.0}/s measured, \
             {:>8.0}/s simulated",
            own.rate
        );
    }
    for &(readers, measured) in DELIVERY_POINTS {
        let (own, in_one) = fanout::flat_out(&DELIVERIES, &FILE, CORES, readers);
        println!(
            "  one thread to {readers} readers: {measured:>9.0}/s measured, {own:>9.0}/s simulated, \
             {in_one:.0} events in a write"
        );
    }
    let slow = fanout::delivery(&DELIVERIES, 50.0, 1_000.0);
    println!(
        "  CPU of a delivery at 50 events/s: {:.1} µs measured, {:.1} µs simulated",
        SLOW_DELIVERY * 1e6,
        slow * 1e6
    );
    for demand in DEMANDS {
        let own = needs(demand);
        println!(
            "\n{}: {:.0} threads, {:.0} of them active, {:.0} readers",
            demand.name, demand.threads, demand.active, demand.readers
        );
        println!("  {:.0} events/s written, {:.0} deliveries/s", own.events, own.deliveries);
        println!(
            "  {:.0} nodes of {:.0} cores: {:.0} readers and {:.1} GiB each, {:.0} deliveries/s, \
             {:.0} % of the cores",
            own.nodes,
            demand.node_cores,
            demand.readers / own.nodes,
            own.node_bytes / GIB,
            own.node_deliveries,
            own.node_used * 100.0
        );
        println!(
            "  {:.0} databases of {:.0} cores: {:.0} events/s in {:.0} transactions each, {:.0} \
             connections, {:.0} GiB, {:.0} % of the cores",
            own.databases,
            demand.database_cores,
            own.shard_events,
            own.shard_transactions,
            own.shard_connections,
            own.shard_bytes / GIB,
            own.shard_used * 100.0
        );
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    /// How far a simulated point may be from the measured one. Two runs on machines of the same kind
    /// differ by more.
    const TOLERANCE: f64 = 0.15;

    fn near(what: &str, simulated: f64, measured: f64) {
        let off = simulated / measured - 1.0;
        assert!(off.abs() <= TOLERANCE, "{what}: {simulated:.0} for {measured:.0}, {off:+.2} off");
    }

    #[test]
    fn appends_are_as_many_as_were_measured() {
        for (name, costs, points) in
            [("file", &FILE, FILE_POINTS), ("PostgreSQL", &INSERTS, INSERT_POINTS)]
        {
            for &(writers, measured) in points {
                let own = queue::closed(costs, CORES, 1, writers);
                near(&format!("{name}, {writers} writers"), own.rate, measured);
                assert!(own.p50 <= own.p99);
            }
        }
    }

    #[test]
    fn nodes_on_one_database_append_as_many_as_were_measured() {
        for &(nodes, writers, measured) in CLUSTER_POINTS {
            let own = queue::closed(&CLUSTER.appends(), CORES, nodes, writers);
            near(&format!("{nodes} nodes, {writers} writers"), own.rate, measured);
        }
        // They share the cores and the database: nobody gets more than there is.
        let one = queue::closed(&CLUSTER.appends(), CORES, 1, 64).rate;
        let three = queue::closed(&CLUSTER.appends(), CORES, 3, 64).rate;
        assert!(three < one * 1.5, "{one} {three}");
    }

    #[test]
    fn deliveries_are_as_many_as_were_measured() {
        for &(readers, measured) in DELIVERY_POINTS {
            let (own, _) = fanout::flat_out(&DELIVERIES, &FILE, CORES, readers);
            near(&format!("{readers} readers"), own, measured);
        }
        let slow = fanout::delivery(&DELIVERIES, 50.0, 1_000.0);
        near("a delivery at 50 events/s", slow * 1e9, SLOW_DELIVERY * 1e9);
    }

    #[test]
    fn more_of_anything_takes_no_less() {
        let base = DEMANDS[1];
        let was = needs(&base);
        for more in [
            Demand { readers: base.readers * 4.0, ..base },
            Demand { active: base.active * 4.0, ..base },
            Demand { threads: base.threads * 4.0, ..base },
        ] {
            let own = needs(&more);
            assert!(own.nodes >= was.nodes && own.databases >= was.databases);
            assert!(own.shard_bytes * own.databases >= was.shard_bytes * was.databases);
        }
        // Nothing is used beyond what was allowed.
        for demand in DEMANDS {
            let own = needs(demand);
            assert!(own.node_used <= demand.used && own.shard_used <= demand.used, "{own:?}");
            assert!(demand.readers / own.nodes <= demand.node_readers);
        }
    }
}

//! Three nodes over one PostgreSQL under fire: `cargo xtask chaos --cluster`.
//!
//! Each part is one fault, with a database and nodes of its own. Writers come again to another node
//! with the same key, readers with their cursor to whichever node is next, and clients that write
//! down what they saw are checked for an order in which it can have happened. Whatever the fault,
//! nothing acknowledged is lost, there is no hole and no duplicate, and every reader has seen the
//! journal.

mod fault;
mod gate;
mod history;
mod linear;
mod live;
mod nodes;
mod pulse;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reqwest::Client;
use tokio::time::sleep;

use self::fault::Fault;
use self::history::Recording;
use self::nodes::{NODES, Nodes};
use self::pulse::Pulse;
use super::follow::{Patience, Reader};
use super::kills::{Load, THREADS, VIEWS, WRITERS, ended, forked, judge};
use super::{Place, Random, Report, setting, thread, verified};
use crate::postgres::Postgres;
use crate::server::http;

/// Threads whose histories are checked, beside those that writers fill.
const HISTORIES: usize = 2;
/// Connections that the database has.
const CONNECTIONS: u32 = 100;
/// How long a writer waits for a node until it goes to another.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many kills at most are for every change, without faults that take long.
const SHORT: u32 = 5;
/// How long all is well before a fault and after it.
const CALM: Duration = Duration::from_millis(1000);

/// The longest time that nothing may be acknowledged to anyone: what a node has locked when it is
/// stopped or cut off is free five seconds later.
const PAUSE: Duration = Duration::from_secs(8);

/// Runs the load beside one fault, and judges what came of it.
async fn unit(
    fault: Fault,
    times: u32,
    postgres: &Postgres,
    random: &mut Random,
    client: &Client,
    report: &mut Report,
) {
    let began = Instant::now();
    let place = Place::new(&format!("{}-{}", fault.name(), random.below(u64::MAX)), report);
    let database = format!("{}_{}", fault.name(), random.below(1 << 40));
    let mut nodes = Nodes::start(postgres, &database, fault.manner(), client).await;
    let scene = nodes.scene.clone();
    let load = Load::new(&scene, PATIENCE);
    for number in 0..THREADS + HISTORIES {
        thread(client, nodes.url(number % NODES), &format!("t{number}")).await;
    }
    let readers: Vec<_> = (0..THREADS * 2 * VIEWS.len())
        .map(|n| {
            let path = format!("/api/threads/t{}/stream{}", n % THREADS, VIEWS[n / THREADS % 2]);
            let patience = match n / THREADS / 2 {
                0 => Patience::Endless,
                _ => Patience::Random(random.other()),
            };
            Reader::spawn(&scene, path, patience)
        })
        .collect();
    fault.prepare(postgres);
    let writers = load.writers(random);
    let histories: Vec<_> =
        (0..HISTORIES).map(|n| Recording::begin(&scene, THREADS + n, random)).collect();
    let pulse = Pulse::begin();
    sleep(CALM).await;
    let told = fault.strike(times, &mut nodes, postgres, random).await;
    sleep(CALM).await;
    load.stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    // What one node holds is the others' again soon, however the one is.
    let (pause, own) = (load.longest_pause(), pulse.end().await);
    report.hold(pause < PAUSE + own * 3, || {
        format!("nothing was acknowledged for {pause:?}, and this machine stood still for {own:?}")
    });
    let soon = live::slowest(&nodes, client, report).await;
    let (mut acts, mut unknown) = (0, 0);
    for history in histories {
        let (all, lost) = history.judge(report).await;
        (acts, unknown) = (acts + all, unknown + lost);
    }
    let (mut journals, mut events) = (Vec::new(), 0);
    for number in 0..THREADS {
        let journal = ended(&load, number, Vec::new(), report).await;
        events += journal.len();
        forked(&load, number, &journal, random, report).await;
        journals.push(journal);
    }
    judge(&scene, readers, &journals, report).await;
    for node in 0..NODES {
        verified(report, &["--url", nodes.url(node)]);
    }
    report.tried(format!(
        "{}: {told}; {events} events acknowledged by {WRITERS} writers, {} requests tried again, \
         {} readers' resumptions, nothing acknowledged for {:.1} s at most, told at every node \
         within {} ms afterwards, {acts} acts in histories ({unknown} unknown), {} s",
        fault.name(),
        load.retried.load(Ordering::Relaxed),
        scene.resumed.load(Ordering::Relaxed),
        pause.as_secs_f64(),
        soon.as_millis(),
        began.elapsed().as_secs(),
    ));
    nodes.end(&place.path);
    place.done(report);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "run by `cargo xtask chaos --cluster`"]
async fn every_node_tells_the_same() {
    let seed = super::Plan::from_environment().seed;
    let parts: String = setting("PARTS", String::new());
    let times: u32 = setting("KILLS", 3);
    let at_least = Duration::from_secs(setting("MINUTES", 0) * 60);
    let (mut random, mut report) = (Random(seed), Report::new(seed));
    let (client, began) = (http(), Instant::now());
    let faults: Vec<Fault> = match parts.as_str() {
        "" => Fault::ALL.into_iter().filter(|fault| times > SHORT || !fault.is_long()).collect(),
        some => some.split(',').map(|name| Fault::named(name).expect("a part's name")).collect(),
    };
    let postgres = Postgres::start(CONNECTIONS);
    loop {
        for fault in &faults {
            if let Err(why) = fault.can_be_tried() {
                report.tried(format!("{}: NOT TRIED: {why}", fault.name()));
                continue;
            }
            // One that a standby takes the place of is not to be used again.
            let own = fault.needs_its_own().then(|| Postgres::start(CONNECTIONS));
            let postgres = own.as_ref().unwrap_or(&postgres);
            unit(*fault, times, postgres, &mut random, &client, &mut report).await;
        }
        if began.elapsed() >= at_least {
            break;
        }
    }
    report.finish(began.elapsed());
}

//! The server under fire, as a process of its own: killed, out of space, cut off, beside readers
//! who do not read. `cargo xtask chaos` runs it, and `cargo xtask test --only chaos` for a moment.
//!
//! Every choice follows from one number, which is printed. What is broken is told at once and
//! again at the end, and the folder in which it happened is kept. Each run has a folder and a
//! loopback address of its own, so that two at once do not meet. What merely took too long to be
//! judged is told apart from what is broken; a run has to be without either.

mod cluster;
mod cuts;
mod disk;
mod follow;
mod kills;
#[path = "../../../server/tests/it/cut/proxy.rs"]
mod proxy;
mod report;
mod slow;

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use reqwest::Client;

use self::report::{Place, Report};
use crate::server::{Server, http};

/// How much is tried.
struct Plan {
    seed: u64,
    kills: u32,
    /// How long to go on with kills, at least.
    at_least: Duration,
    /// How long readers are cut off, and beside slow ones.
    time: Duration,
    readers: usize,
    parts: Vec<String>,
}

impl Plan {
    fn from_environment() -> Self {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let parts = setting("PARTS", "kills,disk,cuts,slow".to_owned());
        Self {
            seed: setting("SEED", u64::from(clock.subsec_nanos()) ^ clock.as_secs()),
            kills: setting("KILLS", 5),
            at_least: Duration::from_secs(setting("MINUTES", 0) * 60),
            time: Duration::from_secs(setting("SECONDS", 10)),
            readers: setting("READERS", 200),
            parts: parts.split(',').map(str::to_owned).collect(),
        }
    }

    fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|own| own == part)
    }
}

/// What the environment says, or else.
fn setting<T: FromStr>(name: &str, or: T) -> T {
    let name = format!("SELVEDGE_CHAOS_{name}");
    match std::env::var(&name) {
        Ok(text) => text.parse().ok().unwrap_or_else(|| panic!("{name} is `{text}`")),
        Err(_) => or,
    }
}

/// Numbers that follow from the seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end.max(1)
    }

    /// Others that follow from it, for something that goes on beside.
    fn other(&mut self) -> Self {
        Self(self.below(u64::MAX))
    }
}

/// Where this run's servers listen. A port that one of them leaves may be another run's a moment
/// later, and readers that come again would find that; an address of its own is nobody else's.
fn address() -> String {
    let number = std::process::id();
    let [_, a, b, c] = number.to_be_bytes();
    let own = Ipv4Addr::new(127, 64 | a & 63, b, c);
    // Elsewhere than on Linux there is only one.
    match TcpListener::bind((own, 0)) {
        Ok(_) => format!("{own}:0"),
        Err(_) => "127.0.0.1:0".to_owned(),
    }
}

/// Starts a server on a port of its own, at this run's address.
fn start(db: &Path) -> Server {
    Server::start_with(&["--listen", &address(), "--db", db.to_str().unwrap()])
}

/// Makes a thread.
async fn thread(client: &Client, url: &str, id: &str) {
    let body = format!("{{\"id\":\"{id}\"}}");
    let made = client.post(format!("{url}/api/threads")).body(body).send().await.unwrap();
    assert_eq!(made.status().as_u16(), 201, "{}", made.text().await.unwrap());
}

/// Runs `selvedge verify`, which must find nothing.
fn verified(report: &mut Report, args: &[&str]) {
    let run = crate::selvedge(&[&["verify"], args].concat());
    report.hold(run.code == Some(0), || format!("verify {args:?}: {}{}", run.stdout, run.stderr));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by `cargo xtask chaos`"]
async fn everything_holds() {
    let plan = Plan::from_environment();
    let (mut random, mut report) = (Random(plan.seed), Report::new(plan.seed));
    let (client, began) = (http(), Instant::now());
    if plan.has("kills") {
        kills::run(&plan, random.other(), &client, &mut report).await;
    }
    if plan.has("disk") {
        disk::run(&client, &mut report).await;
    }
    if plan.has("cuts") {
        cuts::run(&plan, random.other(), &client, &mut report).await;
    }
    if plan.has("slow") {
        slow::run(&plan, &client, &mut report).await;
    }
    report.finish(began.elapsed());
}

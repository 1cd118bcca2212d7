//! What is done to nodes, to their database and to the way between them.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::gate::Way;
use super::nodes::{Manner, NODES, Nodes};
use crate::chaos::Random;
use crate::postgres::{Idler, PRIMARY, Postgres, STANDBY};

/// How long there are no connections left.
const EXHAUSTED: Duration = Duration::from_secs(3);
/// How long a node has to give up connections that say nothing.
const LOST: Duration = Duration::from_secs(45);
/// How long a node is stopped.
const STOPPED: Duration = Duration::from_secs(10);

/// One way to break something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    Kill,
    Stop,
    Restart,
    Cut,
    Connections,
    Clocks,
    Hints,
    Lost,
    Failover,
}

impl Fault {
    pub(super) const ALL: [Self; 9] = [
        Self::Kill,
        Self::Stop,
        Self::Restart,
        Self::Cut,
        Self::Connections,
        Self::Clocks,
        Self::Hints,
        Self::Lost,
        Self::Failover,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Stop => "stop",
            Self::Restart => "restart",
            Self::Cut => "cut",
            Self::Connections => "connections",
            Self::Clocks => "clocks",
            Self::Hints => "hints",
            Self::Lost => "lost",
            Self::Failover => "failover",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.name() == name)
    }

    /// Whether it takes too long for every change.
    pub(super) fn is_long(self) -> bool {
        self == Self::Lost
    }

    /// Whether what it needs is there.
    pub(super) fn can_be_tried(self) -> Result<(), String> {
        match self {
            Self::Clocks if clock().is_none() => {
                Err("libfaketime is not installed (apt-get install faketime)".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Whether the database is of no use afterwards.
    pub(super) fn needs_its_own(self) -> bool {
        self == Self::Failover
    }

    /// How nodes are started.
    pub(super) fn manner(self) -> Manner {
        let mut manner = Manner::default();
        if self == Self::Hints {
            manner.args = vec!["--hints", "none"];
        }
        if self == Self::Clocks
            && let Some(clock) = clock()
        {
            for (variables, offset) in manner.variables.iter_mut().zip(["-1h", "+0", "+36h"]) {
                let all = [
                    ("LD_PRELOAD", clock.to_str().unwrap()),
                    ("FAKETIME", offset),
                    // How long something takes is another matter.
                    ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
                ];
                let all = all.into_iter();
                *variables = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            }
        }
        manner
    }

    /// What is to be there before the load.
    pub(super) fn prepare(self, postgres: &Postgres) {
        if self == Self::Failover {
            tokio::task::block_in_place(|| postgres.add_standby());
        }
    }

    /// Does it so often; says what was done.
    pub(super) async fn strike(
        self,
        times: u32,
        nodes: &mut Nodes,
        postgres: &Postgres,
        random: &mut Random,
    ) -> String {
        let some = random.below(NODES as u64) as usize;
        match self {
            Self::Kill | Self::Clocks | Self::Hints => {
                for _ in 0..times {
                    let node = random.below(NODES as u64) as usize;
                    nodes.kill(node);
                    sleep(Duration::from_millis(random.below(500))).await;
                    nodes.up(node).await;
                    sleep(Duration::from_millis(200 + random.below(700))).await;
                }
                let so = match self {
                    Self::Clocks => ", with clocks from an hour behind to 36 before",
                    Self::Hints => ", and no node told another anything",
                    _ => "",
                };
                format!("{times} kills of {NODES} nodes{so}")
            }
            Self::Stop => {
                nodes.signal(some, "STOP");
                sleep(STOPPED).await;
                nodes.signal(some, "CONT");
                format!("a node stopped for {} s", STOPPED.as_secs())
            }
            Self::Restart => {
                let began = Instant::now();
                let rounds = times.div_ceil(5);
                for _ in 0..rounds {
                    tokio::task::block_in_place(|| {
                        postgres.crash(PRIMARY);
                        postgres.up(PRIMARY);
                    });
                    sleep(Duration::from_secs(1)).await;
                }
                let took = began.elapsed().as_secs_f64();
                format!("{rounds} immediate restarts of the database in {took:.1} s")
            }
            Self::Cut => {
                let open = Way::To(postgres.socket(PRIMARY));
                // In the middle of things, and then told so or not.
                for (node, then) in [(some, Way::Closed), ((some + 1) % NODES, open.clone())] {
                    nodes.set(node, &Way::Silent);
                    sleep(Duration::from_secs(4)).await;
                    nodes.set(node, &then);
                    sleep(Duration::from_millis(500)).await;
                    nodes.set(node, &open);
                }
                "a node's way to the database silent for 4 s and then cut, another's silent for 4 s"
                    .to_owned()
            }
            Self::Lost => {
                // Nobody says that they are gone, as if a machine had lost its power.
                let socket = postgres.socket(PRIMARY);
                nodes.set(some, &Way::Anew(socket));
                sleep(LOST).await;
                format!("a node's connections silent for good, and {} s for it", LOST.as_secs())
            }
            Self::Connections => {
                let socket = postgres.socket(PRIMARY);
                // Nodes have theirs since before: they are to need new ones, and find none.
                nodes.set_all(&Way::Closed);
                let held = tokio::task::block_in_place(|| taken(&socket));
                nodes.set_all(&Way::To(socket));
                sleep(EXHAUSTED).await;
                format!(
                    "all {} connections held by others for {} s",
                    held.len(),
                    EXHAUSTED.as_secs()
                )
            }
            Self::Failover => {
                let began = Instant::now();
                tokio::task::block_in_place(|| {
                    postgres.crash(PRIMARY);
                    postgres.promote();
                });
                nodes.set_all(&Way::To(postgres.socket(STANDBY)));
                let took = began.elapsed().as_secs_f64();
                format!("the primary crashed, its standby promoted in {took:.1} s")
            }
        }
    }
}

/// Takes every connection that a database has, those included that others are about to leave.
fn taken(socket: &Path) -> Vec<Idler> {
    let mut held = Vec::new();
    let mut refused = 0;
    while refused < 50 {
        match Idler::take(socket) {
            Some(one) => {
                held.push(one);
                refused = 0;
            }
            None => {
                refused += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    held
}

/// The library that tells a process another time than it is, as Debian installs it.
fn clock() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?;
    let mut found = folders.filter_map(|folder| {
        Some(folder.ok()?.path().join("faketime/libfaketimeMT.so.1")).filter(|path| path.exists())
    });
    found.next()
}

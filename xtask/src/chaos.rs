//! `cargo xtask chaos`: the server killed, out of space, cut off and beside slow readers; or three
//! nodes and their database.

use anyhow::Result;

use crate::process::{cargo, run as run_command};
use crate::{postgres, workspace};

/// Arguments of `cargo xtask chaos`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often the server is killed.
    #[arg(long, default_value_t = 50)]
    kills: u32,
    /// Minutes that kills go on for at least.
    #[arg(long, default_value_t = 0)]
    minutes: u32,
    /// Seconds that readers are cut off for, and are beside slow ones.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// The number that all choices follow from; another each time unless given.
    #[arg(long)]
    seed: Option<u64>,
    /// Only these parts: kills, disk, cuts, slow; of a cluster: kill, stop, restart, cut,
    /// connections, clocks, hints, lost, failover.
    #[arg(long, value_delimiter = ',')]
    part: Vec<String>,
    /// Three nodes over one PostgreSQL, instead of one server.
    #[arg(long)]
    cluster: bool,
}

/// The test of one server, and that of a cluster.
const ALONE: &str = "chaos::everything_holds";
const CLUSTER: &str = "chaos::cluster::every_node_tells_the_same";

impl Args {
    /// A few moments of each, for every change.
    pub(crate) fn short() -> Self {
        Self { kills: 5, minutes: 0, seconds: 8, seed: None, part: Vec::new(), cluster: false }
    }

    /// The same of a cluster.
    pub(crate) fn short_cluster() -> Self {
        Self { cluster: true, kills: 3, ..Self::short() }
    }
}

/// Runs it, saying how far it is.
pub(crate) fn run(args: &Args) -> Result<()> {
    if args.cluster {
        postgres::install()?;
        postgres::install_clock()?;
    }
    let mut command = cargo();
    command
        .current_dir(workspace::root()?)
        .env("SELVEDGE_CHAOS_KILLS", args.kills.to_string())
        .env("SELVEDGE_CHAOS_MINUTES", args.minutes.to_string())
        .env("SELVEDGE_CHAOS_SECONDS", args.seconds.to_string())
        // Of all crates, as the tests before: of one alone they would be built anew.
        .args(["test", "--workspace", "--locked", "--test", "it"])
        .args(["--", if args.cluster { CLUSTER } else { ALONE }])
        .args(["--exact", "--ignored", "--nocapture"]);
    if let Some(seed) = args.seed {
        command.env("SELVEDGE_CHAOS_SEED", seed.to_string());
    }
    if !args.part.is_empty() {
        command.env("SELVEDGE_CHAOS_PARTS", args.part.join(","));
    }
    run_command(&mut command)
}

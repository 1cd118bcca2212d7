//! `cargo xtask chaos`: the server killed, out of space, cut off and beside slow readers.

use anyhow::Result;

use crate::process::{cargo, run as run_command};
use crate::workspace;

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
    /// Only these parts: kills, disk, cuts, slow.
    #[arg(long, value_delimiter = ',')]
    part: Vec<String>,
}

impl Args {
    /// A few moments of each, for every change.
    pub(crate) fn short() -> Self {
        Self { kills: 5, minutes: 0, seconds: 8, seed: None, part: Vec::new() }
    }
}

/// Runs it, saying how far it is.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut command = cargo();
    command
        .current_dir(workspace::root()?)
        .env("SELVEDGE_CHAOS_KILLS", args.kills.to_string())
        .env("SELVEDGE_CHAOS_MINUTES", args.minutes.to_string())
        .env("SELVEDGE_CHAOS_SECONDS", args.seconds.to_string())
        // Of all crates, as the tests before: of one alone they would be built anew.
        .args(["test", "--workspace", "--locked", "--test", "it"])
        .args(["--", "chaos::", "--ignored", "--nocapture"]);
    if let Some(seed) = args.seed {
        command.env("SELVEDGE_CHAOS_SEED", seed.to_string());
    }
    if !args.part.is_empty() {
        command.env("SELVEDGE_CHAOS_PARTS", args.part.join(","));
    }
    run_command(&mut command)
}

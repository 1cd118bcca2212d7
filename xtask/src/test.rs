//! `cargo xtask test`: formatting, lints, Rust tests, conformance, models, tools, workers, the
//! hand-off, agents elsewhere, surfaces, the web UI, chaos, then instruction counts.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use crate::bench;
use crate::conformance::{self, Part};
use crate::process::{self, cargo};
use crate::surfaces::House;
use crate::{
    chaos, handoff, models, postgres, proxies, remote, surfaces, tools, ui, workers, workspace,
};

/// Arguments of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this part.
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Run only the conformance checks, or tests of the web UI, whose name contains this text.
    #[arg(long)]
    filter: Option<String>,
    /// Surfaces: served by three nodes over one PostgreSQL, behind a proxy.
    #[arg(long)]
    cluster: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Formatting, lints and Rust tests.
    Rust,
    /// The recordings, the matrix, then live clients.
    Conformance,
    /// Peers load what they wrote themselves and refuse what is wrong.
    Recordings,
    /// Peers load what our encoders write.
    Matrix,
    /// Clients follow a server through cuts and kills, a real browser among them.
    Live,
    /// Models against a mock of their providers' APIs.
    Models,
    /// Tools against the reference servers of MCP.
    Tools,
    /// The TypeScript worker of the examples.
    Workers,
    /// Credentials that npm's jose hands over to a real server.
    Handoff,
    /// Agents elsewhere: real servers of A2A and of the Agent API.
    Remote,
    /// Every surface, used by the real clients of its protocol.
    Surfaces,
    /// The web UI, in a real browser.
    Ui,
    /// The server killed, out of space, cut off: the short form of `cargo xtask chaos`.
    Chaos,
    /// Instruction counts beside the committed baseline.
    Instructions,
}

/// Runs the tests; the exit code tells whether all passed.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if matches!(args.only, None | Some(Only::Rust)) {
        rust()?;
    }
    let parts: &[Part] = match args.only {
        Some(Only::Rust) => return Ok(ExitCode::SUCCESS),
        Some(
            Only::Models
            | Only::Tools
            | Only::Workers
            | Only::Handoff
            | Only::Remote
            | Only::Surfaces
            | Only::Ui
            | Only::Chaos
            | Only::Instructions,
        ) => &[],
        Some(Only::Recordings) => &[Part::Rejects, Part::Recordings],
        Some(Only::Matrix) => &[Part::Matrix],
        Some(Only::Live) => &[Part::Live],
        None | Some(Only::Conformance) => {
            &[Part::Rejects, Part::Recordings, Part::Matrix, Part::Live]
        }
    };
    let conformance = match parts {
        [] => ExitCode::SUCCESS,
        parts => conformance::run(parts, args.filter.as_deref())?,
    };
    let all = args.only.is_none() && args.filter.is_none();
    if all || matches!(args.only, Some(Only::Models)) {
        models::run()?;
    }
    if all || matches!(args.only, Some(Only::Tools)) {
        tools::run()?;
    }
    if all || matches!(args.only, Some(Only::Workers)) {
        workers::run()?;
    }
    if all || matches!(args.only, Some(Only::Handoff)) {
        handoff::run()?;
    }
    if all || matches!(args.only, Some(Only::Remote)) {
        remote::run()?;
    }
    if all || matches!(args.only, Some(Only::Surfaces)) {
        surfaces::run(if args.cluster { House::Cluster } else { House::Alone })?;
    }
    if all || matches!(args.only, Some(Only::Ui)) {
        ui::run(args.filter.as_deref())?;
    }
    if all || matches!(args.only, Some(Only::Chaos)) {
        chaos::run(&chaos::Args::short())?;
        chaos::run(&chaos::Args::short_cluster())?;
    }
    if !matches!(args.only, None | Some(Only::Instructions)) || args.filter.is_some() {
        return Ok(conformance);
    }
    let instructions = bench::check_instructions()?;
    println!("{instructions}");
    // The first failure is the one to look at.
    Ok(if conformance == ExitCode::SUCCESS { instructions.exit_code() } else { conformance })
}

fn rust() -> Result<()> {
    let root = workspace::root()?;
    process::run(cargo().current_dir(&root).args(["fmt", "--all", "--check"]))?;
    process::run(
        cargo()
            .current_dir(&root)
            .args(["clippy", "--workspace", "--all-targets", "--all-features", "--locked"])
            .args(["--", "-D", "warnings"]),
    )?;
    postgres::install()?;
    postgres::install_carriers()?;
    proxies::install()?;
    // Here nothing is left out for want of a database or a proxy.
    let mut all = cargo();
    all.env("SELVEDGE_NEED_POSTGRES", "1").env("SELVEDGE_NEED_PROXIES", "1");
    process::run(all.current_dir(&root).args(["test", "--workspace", "--locked"]))?;
    let traced = ["test", "-p", "selvedge-server", "--features", "otel", "--locked"];
    process::run(cargo().current_dir(&root).args(traced).args(["--test", "it", "traces"]))
}

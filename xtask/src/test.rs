//! `cargo xtask test`: formatting, lints, Rust tests, then conformance.

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use crate::conformance::{self, Part};
use crate::process::{self, cargo};
use crate::workspace;

/// Arguments of `cargo xtask test`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only this part.
    #[arg(long, value_enum)]
    only: Option<Only>,
    /// Run only the conformance checks whose id contains this text.
    #[arg(long)]
    filter: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    /// Formatting, lints and Rust tests.
    Rust,
    /// The recordings, then the matrix.
    Conformance,
    /// Peers load what they wrote themselves and refuse what is wrong.
    Recordings,
    /// Peers load what our encoders write.
    Matrix,
}

/// Runs the tests; the exit code tells whether all passed.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if matches!(args.only, None | Some(Only::Rust)) {
        rust()?;
    }
    let parts: &[Part] = match args.only {
        Some(Only::Rust) => return Ok(ExitCode::SUCCESS),
        Some(Only::Recordings) => &[Part::Rejects, Part::Recordings],
        Some(Only::Matrix) => &[Part::Matrix],
        None | Some(Only::Conformance) => &[Part::Rejects, Part::Recordings, Part::Matrix],
    };
    conformance::run(parts, args.filter.as_deref())
}

fn rust() -> Result<()> {
    let root = workspace::root()?;
    process::run(cargo().current_dir(&root).args(["fmt", "--all", "--check"]))?;
    process::run(
        cargo()
            .current_dir(&root)
            .args(["clippy", "--workspace", "--all-targets", "--locked"])
            .args(["--", "-D", "warnings"]),
    )?;
    process::run(cargo().current_dir(&root).args(["test", "--workspace", "--locked"]))
}

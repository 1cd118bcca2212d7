//! The TypeScript worker of `examples/`, with a node that runs it.

use anyhow::{Context, Result};

use crate::process::{cargo, run as run_command};
use crate::{install, workspace};

/// Runs the tests that start it.
pub(crate) fn run() -> Result<()> {
    install::install_node_packages().context("could not install node")?;
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            .env("SELVEDGE_NODE", install::node()?.get_program())
            // Of all crates, as the tests before: of one alone they would be built anew.
            .args(["test", "--workspace", "--locked", "--test", "it"])
            .args(["--", "workers::", "--ignored"]),
    )
}

//! Tools against the reference servers of MCP.

use anyhow::{Context, Result};

use crate::process::{cargo, run as run_command};
use crate::{install, workspace};

/// Runs the tests that start the servers.
pub(crate) fn run() -> Result<()> {
    install::install_node_packages().context("could not install the MCP servers")?;
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            // Of all crates, as the tests before: of one alone they would be built anew.
            .args(["test", "--workspace", "--locked", "--test", "it"])
            .args(["--", "mcp::reference::", "--ignored"]),
    )
}

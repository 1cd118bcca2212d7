//! The web UI, in a real browser.

use anyhow::{Context, Result};

use crate::install;
use crate::process::{cargo, run as run_command};
use crate::workspace;

/// Installs the browser and runs the tests that start it.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    install::install_node_packages().context("could not install npm packages")?;
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            .env("SELVEDGE_PEERS", workspace::conformance()?)
            // With the features of the whole workspace, so that nothing is built again.
            .args(["test", "--workspace", "--locked", "--test", "it"])
            .args(["--", "--ignored", "--test-threads=1", "--skip", "surfaces::"])
            .arg(format!("ui::{}", filter.unwrap_or_default())),
    )
}

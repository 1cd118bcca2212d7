//! Credentials that npm's `jose` hands over to a real server.

use anyhow::{Context, Result};

use crate::process::run as run_command;
use crate::{conformance, install, workspace};

/// Lets the client do its worst.
pub(crate) fn run() -> Result<()> {
    install::install_node_packages().context("could not install jose")?;
    if workspace::chosen_binary().is_none() {
        conformance::build()?;
    }
    run_command(install::node()?.arg("handoff.mjs").arg(workspace::binary()?))
}

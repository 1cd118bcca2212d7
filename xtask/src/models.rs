//! Models against a mock of the providers' APIs that others wrote.

use anyhow::{Context, Result};

use crate::peer::Peer;
use crate::process::{cargo, run as run_command, step};
use crate::{install, workspace};

/// Runs the tests that need the mock.
pub(crate) fn run() -> Result<()> {
    install::install_node_packages().context("could not install the mock")?;
    let mock = Peer::start(install::node()?.arg("mock_models.mjs"), "models")
        .context("could not start the mock of models")?;
    step(&format!("models at {}", mock.url));
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            .env("SELVEDGE_MODELS_MOCK", &mock.url)
            // Of all crates, as the tests before: of one alone they would be built anew.
            .args(["test", "--workspace", "--locked", "--test", "it"])
            .args(["--", "model::mock::", "--ignored"]),
    )
}

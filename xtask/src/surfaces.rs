//! Every surface, used by the real clients of its protocol.

use anyhow::{Context, Result};

use crate::install::{self, Venv};
use crate::process::{cargo, run as run_command};
use crate::workspace;

/// The Python packages that clients need.
const VENVS: [Venv; 5] =
    [Venv::OpenAi, Venv::A2aV1, Venv::A2aV03, Venv::PydanticAi2, Venv::Schemathesis];

/// Installs the clients and runs the tests that start them.
pub(crate) fn run() -> Result<()> {
    install::install_node_packages().context("could not install npm packages")?;
    for venv in VENVS {
        venv.install().context("could not install Python packages")?;
    }
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            .env("SELVEDGE_PEERS", workspace::conformance()?)
            // Of all crates, as the tests before: of one alone they would be built anew.
            .args(["test", "--workspace", "--locked", "--test", "it"])
            .args(["--", "surfaces::", "--ignored"]),
    )
}

//! Every surface, used by the real clients of its protocol.

use anyhow::{Context, Result};

use crate::install::{self, Venv};
use crate::process::{cargo, run as run_command};
use crate::{postgres, workspace};

/// The Python packages that clients need.
const VENVS: [Venv; 5] =
    [Venv::OpenAi, Venv::A2aV1, Venv::A2aV03, Venv::PydanticAi2, Venv::Schemathesis];

/// What serves them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum House {
    /// One server with its file.
    Alone,
    /// Three nodes over one PostgreSQL, behind a proxy that gives each request to another.
    Cluster,
}

/// Installs the clients and runs the tests that start them.
pub(crate) fn run(house: House) -> Result<()> {
    install::install_node_packages().context("could not install npm packages")?;
    for venv in VENVS {
        venv.install().context("could not install Python packages")?;
    }
    let mut command = cargo();
    command
        .current_dir(workspace::root()?)
        .env("SELVEDGE_PEERS", workspace::conformance()?)
        // Of all crates, as the tests before: of one alone they would be built anew.
        .args(["test", "--workspace", "--locked", "--test", "it"])
        .args(["--", "surfaces::", "--ignored"]);
    if house == House::Cluster {
        postgres::install()?;
        // Each has three nodes, and some take as long as the others let them.
        command.env("SELVEDGE_SURFACES_CLUSTER", "1").arg("--test-threads=2");
    }
    run_command(&mut command)
}

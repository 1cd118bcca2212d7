//! Conformance: the real peers load what our encoders write (the matrix). Before
//! that the drivers are tested: peers refuse what is wrong (rejects) and load what
//! they wrote themselves (recordings). Clients follow a real server through trouble (live).

mod check;
mod driver;
mod expected;
mod live;
mod matrix;
mod peer;
mod recordings;
mod rejects;
mod report;
mod source;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use crate::conformance::check::Check;
use crate::conformance::driver::Drivers;
use crate::conformance::expected::Expected;
use crate::conformance::report::Report;
use crate::process::{cargo, run as run_command, step};
use crate::{install, workspace};

/// A part of the suite.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Peers refuse what is wrong.
    Rejects,
    /// Peers load the recordings.
    Recordings,
    /// Peers load the recordings converted to their dialect.
    Matrix,
    /// Clients follow a server through cuts and kills.
    Live,
}

/// Runs the parts; the exit code tells whether every check passed.
pub(crate) fn run(parts: &[Part], filter: Option<&str>) -> Result<ExitCode> {
    let fixtures = workspace::fixtures()?;
    let sources = source::find(&fixtures)?;
    ensure!(!sources.is_empty(), "no fixtures in {}", fixtures.display());
    let run_ours = parts.contains(&Part::Matrix) || parts.contains(&Part::Live);
    if run_ours && workspace::chosen_binary().is_none() {
        build()?;
    }
    let installed = match parts {
        [Part::Live] => install::install_node_packages(),
        _ => install::install(),
    };
    installed.context("could not install the peers")?;

    let mut checks: Vec<Check> = Vec::new();
    for part in parts {
        checks.extend(match part {
            Part::Rejects => rejects::checks(&workspace::root()?.join("conformance/rejects"))?,
            Part::Recordings => recordings::checks(&sources),
            Part::Matrix => matrix::checks(&sources),
            Part::Live => live::checks(&workspace::binary()?),
        });
    }
    checks.retain(|check| filter.is_none_or(|text| check.id.contains(text)));

    // What an earlier run wrote must not pass for this one's.
    install::remove(&workspace::conformance()?.join("out"))?;
    step(&format!("conformance: {} checks", checks.len()));
    let drivers = Drivers::default();
    let verdicts = check::run_all(&checks, &drivers);
    let expected = Expected::read(&workspace::root()?.join("conformance/expected.txt"))?;
    let report = Report::new(&checks, verdicts, &expected);
    report.write(&workspace::conformance()?.join("report.json"))?;
    report.print();
    Ok(report.exit_code())
}

pub(crate) fn build() -> Result<()> {
    // As the Rust tests build it: nothing is built twice for one run of all tests.
    let tests = ["test", "--workspace", "--locked", "--no-run", "--quiet"];
    run_command(cargo().current_dir(workspace::root()?).args(tests))
}

//! Models against a mock of the providers' APIs that others wrote.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};

use crate::process::{cargo, run as run_command, step};
use crate::{install, workspace};

/// Runs the tests that need the mock.
pub(crate) fn run() -> Result<()> {
    install::install_node_packages().context("could not install the mock")?;
    let mock = Mock::start().context("could not start the mock of models")?;
    step(&format!("models at {}", mock.url));
    run_command(
        cargo()
            .current_dir(workspace::root()?)
            .env("SELVEDGE_MODELS_MOCK", &mock.url)
            .args(["test", "-p", "selvedge-agents", "--locked", "--test", "it"])
            .args(["--", "model::mock::", "--ignored"]),
    )
}

/// The mock, which ends with this value.
struct Mock {
    child: Child,
    url: String,
}

impl Mock {
    fn start() -> Result<Self> {
        let logs = workspace::conformance()?.join("logs");
        fs::create_dir_all(&logs)?;
        let child = install::node()?
            .arg("mock_models.mjs")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(logs.join("models.log"))?)
            .spawn()?;
        let mut mock = Self { child, url: String::new() };
        let stdout = mock.child.stdout.take().context("no stdout")?;
        BufReader::new(stdout).read_line(&mut mock.url)?;
        mock.url.truncate(mock.url.trim_end().len());
        ensure!(mock.url.starts_with("http://"), "it did not start, see {}", logs.display());
        Ok(mock)
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // Nothing can be done about a process that will not end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

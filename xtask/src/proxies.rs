//! nginx and Caddy for the tests of `deploy/`, from Debian's packages.

use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{run_with_retries, step, succeeds};

/// Makes sure that tests find the proxies they are to stand behind.
pub(crate) fn install() -> Result<()> {
    let is_there = |program: &str, version: &str| succeeds(Command::new(program).arg(version));
    let missing: Vec<&str> = [("nginx", "-v"), ("caddy", "version")]
        .into_iter()
        .filter(|(program, version)| !is_there(program, version))
        .map(|(program, _)| program)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_there("apt-get", "--version") {
        bail!("{} must be installed, and there is no apt-get to do it", missing.join(" and "));
    }
    step(&format!("install {}", missing.join(" and ")));
    // A new machine may know of no packages.
    let install = [&["install", "--yes", "--no-install-recommends"][..], &missing].concat();
    for args in [&["update"][..], &install] {
        let mut command = Command::new("apt-get");
        run_with_retries(command.env("DEBIAN_FRONTEND", "noninteractive").args(args))?;
    }
    Ok(())
}

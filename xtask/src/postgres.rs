//! PostgreSQL for the tests of the store, from Debian's packages.

use std::env;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::process::{run_with_retries, step, succeeds};

/// Makes sure that tests find a PostgreSQL to start, or one that they are told of.
pub(crate) fn install() -> Result<()> {
    if env::var_os("SELVEDGE_TEST_POSTGRES").is_some() || is_there() {
        return Ok(());
    }
    if !has_packages() {
        bail!("PostgreSQL is not installed, and there is no apt-get to install it with");
    }
    install_package("postgresql")
}

/// Makes sure that tests find what tells a node another time, where there are packages of it.
pub(crate) fn install_clock() -> Result<()> {
    if succeeds(Command::new("faketime").arg("--version")) || !has_packages() {
        return Ok(());
    }
    install_package("faketime")
}

/// Makes sure that tests find what can carry hints between nodes, where there are packages of it.
pub(crate) fn install_carriers() -> Result<()> {
    for name in ["redis-server", "nats-server"] {
        if !succeeds(Command::new(name).arg("--version")) && has_packages() {
            install_package(name)?;
        }
    }
    Ok(())
}

fn has_packages() -> bool {
    succeeds(Command::new("apt-get").arg("--version"))
}

fn install_package(name: &str) -> Result<()> {
    step(&format!("install {name}"));
    // A new machine may know of no packages.
    for args in [&["update"][..], &["install", "--yes", "--no-install-recommends", name]] {
        let mut command = Command::new("apt-get");
        run_with_retries(command.env("DEBIAN_FRONTEND", "noninteractive").args(args))?;
    }
    Ok(())
}

fn is_there() -> bool {
    let has = |bin: &Path| bin.join("initdb").exists() && bin.join("postgres").exists();
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let mut debian = debian.filter_map(|entry| Some(entry.ok()?.path().join("bin")));
    let paths = env::var_os("PATH").unwrap_or_default();
    debian.any(|bin| has(&bin)) || env::split_paths(&paths).any(|bin| has(&bin))
}

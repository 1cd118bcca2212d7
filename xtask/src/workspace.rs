//! Where things are in the workspace.

use std::env;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// The root of the workspace.
pub(crate) fn root() -> Result<PathBuf> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = here.parent().context("xtask has no parent folder")?;
    Ok(root.to_owned())
}

/// Cargo's target folder.
pub(crate) fn target() -> Result<PathBuf> {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => Ok(root()?.join(folder)),
        None => Ok(root()?.join("target")),
    }
}

/// Where conformance keeps its packages, its output and its report.
pub(crate) fn conformance() -> Result<PathBuf> {
    Ok(target()?.join("conformance"))
}

/// The recordings; `SELVEDGE_FIXTURES` points elsewhere.
pub(crate) fn fixtures() -> Result<PathBuf> {
    match env::var_os("SELVEDGE_FIXTURES") {
        Some(folder) => Ok(root()?.join(folder)),
        None => Ok(root()?.join("crates/protocol/tests/fixtures")),
    }
}

/// The `selvedge` under test: the one that the Rust tests use, unless `SELVEDGE_BIN` names one.
pub(crate) fn binary() -> Result<PathBuf> {
    match chosen_binary() {
        Some(path) => Ok(root()?.join(path)),
        None => {
            let name = format!("selvedge{}", env::consts::EXE_SUFFIX);
            Ok(target()?.join("debug").join(name))
        }
    }
}

/// The binary that `SELVEDGE_BIN` names, which is not ours to build.
pub(crate) fn chosen_binary() -> Option<PathBuf> {
    env::var_os("SELVEDGE_BIN").map(PathBuf::from)
}

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

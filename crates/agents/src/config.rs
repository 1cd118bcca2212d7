//! Agents as configuration: `selvedge.toml`, what is wrong with one, and the plan that it makes.
//!
//! The format is [`file`]; from its types comes the JSON Schema that files are checked against.
//! [`check`] tells every mistake at once, each at its place, or gives a [`Config`]: plain data
//! with every name known, every file read and every key found. [`Config::build`] makes the agents.
//!
//! Invariant: keys come from variables and files only. One that stands in a configuration is
//! refused, and is shown nowhere.

mod build;
mod check;
pub mod file;
mod findings;
mod glob;
pub mod plan;
mod secret;
mod shape;
mod source;

use std::io;
use std::path::Path;

pub use build::{BuildError, ModelError};
pub use findings::{Examined, Findings};
pub use glob::fits;
pub use plan::Config;
pub use secret::Secret;

/// Looks up a variable.
pub type Variables<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// A variable of this process.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The bytes of a configuration; an error if there are more than one may have.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    secret::read_bounded(path, source::LONGEST)
}

/// Checks a configuration: the name to tell it by, its bytes, and the folder that its paths begin
/// in. All that is wrong is told at once.
pub fn check(
    name: &str,
    bytes: &[u8],
    folder: &Path,
    variables: &Variables<'_>,
) -> Result<Config, Findings> {
    check::check(name, bytes, folder, variables)
}

/// The JSON Schema of a configuration, as text.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&file::schema()).unwrap_or_default();
    text.push('\n');
    text
}

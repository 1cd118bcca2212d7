//! Runs commands, saying which.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::workspace;

/// Prints a progress line.
pub(crate) fn step(text: &str) {
    eprintln!("==> {text}");
}

/// The cargo that runs this program.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// Runs the command with its output shown; fails if it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    step(&describe(command));
    let status =
        command.status().with_context(|| format!("could not start `{}`", describe(command)))?;
    if !status.success() {
        bail!("`{}` failed: {status}", describe(command));
    }
    Ok(())
}

/// Runs the command until it succeeds, a few times with growing pauses: package
/// registries answer "too many requests" in bursts.
pub(crate) fn run_with_retries(command: &mut Command) -> Result<()> {
    for pause in [5, 15, 30, 60, 90] {
        match run(command) {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("    {error}; again in {pause} s"),
        }
        thread::sleep(Duration::from_secs(pause));
    }
    run(command)
}

/// Whether the program can be started with these arguments and succeeds.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut text = name.to_string_lossy().into_owned();
    let root = workspace::root().unwrap_or_default();
    for arg in command.get_args() {
        let path = Path::new(arg);
        let shown = path.strip_prefix(&root).unwrap_or(path);
        text.push(' ');
        text.push_str(&shown.to_string_lossy());
    }
    text
}

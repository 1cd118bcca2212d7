//! What a benchmark ran on.

use std::fs;
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

/// The machine and the compiler.
pub(crate) fn describe() -> Value {
    json!({
        "cpu": cpu(),
        "cores": thread::available_parallelism().map_or(0, usize::from),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "rustc": rustc(),
    })
}

fn cpu() -> Option<String> {
    let info = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn rustc() -> Option<String> {
    let output = Command::new("rustc").arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

//! Developer tasks: `cargo xtask test` is the whole test command, the one CI runs;
//! `cargo xtask bench` measures.

mod bench;
mod conformance;
mod handoff;
mod install;
mod models;
mod peer;
mod process;
mod remote;
mod surfaces;
mod test;
mod tools;
mod workers;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Developer tasks of the Selvedge workspace.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test: Rust first, then conformance with the real peers.
    Test(test::Args),
    /// Measure: conversions beside the real peers, instructions beside a baseline.
    Bench(bench::Args),
}

fn main() -> ExitCode {
    let outcome = match Args::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Bench(args) => bench::run(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

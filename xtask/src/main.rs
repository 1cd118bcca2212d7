//! Developer tasks: `cargo xtask test` is the whole test command, the one CI runs;
//! `cargo xtask bench` measures; `cargo xtask chaos` and `cargo xtask fuzz` try to break it;
//! `cargo xtask vendor` renews what the web UI is built on.

mod bench;
mod chaos;
mod conformance;
mod fuzz;
mod handoff;
mod install;
mod models;
mod peer;
mod postgres;
mod process;
mod proxies;
mod remote;
mod surfaces;
mod test;
mod tools;
mod ui;
mod vendor;
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
    /// Kill the server, fill its disk, cut its readers off: it keeps its promises.
    Chaos(chaos::Args),
    /// Try every decoder and every body with inputs that are made up.
    Fuzz(fuzz::Args),
    /// Renew the web UI's libraries and fonts from their pinned packages.
    Vendor,
}

fn main() -> ExitCode {
    let outcome = match Args::parse().task {
        Task::Test(args) => test::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Chaos(args) => chaos::run(&args).map(|()| ExitCode::SUCCESS),
        Task::Fuzz(args) => fuzz::run(&args),
        Task::Vendor => vendor::run().map(|()| ExitCode::SUCCESS),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

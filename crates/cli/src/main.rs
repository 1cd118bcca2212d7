//! The `selvedge` command.
//!
//! One file per command; what they share is [`input`] (reading sources piece by piece),
//! [`output`], [`args`] and [`error`]. Nothing depends on this crate.
//!
//! Invariant: the exit code is 0 when all went well, 1 when `validate`, `config check`, `verify`,
//! `doctor` or `replay --run` found something wrong or `copy` could not be completed yet, 2 when a command could not do its work.

mod act;
mod append;
mod args;
mod artifacts;
mod bench;
mod canon;
mod completions;
mod config;
mod convert;
mod copy;
mod dialects;
mod diff;
mod doctor;
mod error;
mod findings;
mod fork;
mod input;
mod inspect;
mod keys;
mod lists;
mod mcp;
mod migrate;
mod output;
mod place;
mod promote;
mod rebuild;
mod redact;
mod remote;
mod replay;
mod serve;
mod share;
mod tail;
mod transfer;
mod validate;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// One durable thread for every agent conversation.
///
/// Reads and writes the conversations of agents in every protocol they speak, and loses nothing
/// on the way.
#[derive(Parser)]
#[command(
    name = "selvedge",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    disable_help_subcommand = true,
    after_help = "A file name of `-` is standard input. \
                  `selvedge <COMMAND> --help` has examples for each command.",
    styles = args::STYLES,
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Args>),
    Config(config::Args),
    Keys(keys::Args),
    Threads(lists::ThreadsArgs),
    Tail(tail::Args),
    Append(append::Args),
    Fork(fork::Args),
    Diff(diff::Args),
    Import(transfer::ImportArgs),
    Export(transfer::ExportArgs),
    Promote(promote::Args),
    Redact(redact::RedactArgs),
    Erase(redact::EraseArgs),
    Replay(replay::Args),
    Share(share::Args),
    Search(lists::SearchArgs),
    Inbox(lists::InboxArgs),
    Usage(lists::UsageArgs),
    Cancel(act::CancelArgs),
    Artifacts(artifacts::Args),
    Convert(convert::Args),
    Validate(validate::Args),
    Inspect(inspect::Args),
    Canon(canon::Args),
    Dialects(dialects::Args),
    Verify(verify::Args),
    Doctor(doctor::Args),
    Rebuild(rebuild::Args),
    Migrate(migrate::Args),
    Copy(copy::Args),
    Bench(bench::Args),
    Mcp(mcp::Args),
    Completions(completions::Args),
}

/// What is made on one thread is dropped on another all the time: a request's bytes end with
/// whoever follows the journal. This one takes that better than the system's.
#[cfg(unix)]
#[global_allocator]
static MEMORY: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Serve(args) => serve::run(&args),
        Command::Config(args) => config::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Threads(args) => lists::threads(&args),
        Command::Search(args) => lists::search(&args),
        Command::Inbox(args) => lists::inbox(&args),
        Command::Usage(args) => lists::usage(&args),
        Command::Cancel(args) => act::cancel(&args),
        Command::Artifacts(args) => artifacts::run(&args),
        Command::Tail(args) => tail::run(&args),
        Command::Append(args) => append::run(&args),
        Command::Fork(args) => fork::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Import(args) => transfer::import(&args),
        Command::Export(args) => transfer::export(&args),
        Command::Promote(args) => promote::run(&args),
        Command::Redact(args) => redact::redact(&args),
        Command::Erase(args) => redact::erase(&args),
        Command::Replay(args) => replay::run(&args),
        Command::Share(args) => share::run(&args),
        Command::Convert(args) => convert::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Canon(args) => canon::run(&args),
        Command::Dialects(args) => dialects::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Rebuild(args) => rebuild::run(&args),
        Command::Migrate(args) => migrate::run(&args),
        Command::Copy(args) => copy::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Completions(args) => completions::run(&args, Cli::command()),
    };
    match result {
        Ok(code) => code,
        // Whoever read our output has seen enough.
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            error.print();
            error::COULD_NOT_RUN.into()
        }
    }
}

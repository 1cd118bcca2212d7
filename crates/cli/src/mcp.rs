//! `selvedge mcp`: MCP servers that come with this program.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use selvedge_agents::tool::mcp::demo;

use crate::error::Error;

/// Run an MCP server that comes with this program
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Flights that are always the same, over standard input and output:
      selvedge mcp demo")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Toy flights to search and book, over standard input and output
    Demo {
        /// How long each airline takes to answer, in milliseconds
        #[arg(long, default_value_t = 400, value_name = "MS")]
        pace: u64,
    },
}

/// Serves until the input ends.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let Command::Demo { pace } = args.command;
    demo::serve(io::stdin().lock(), io::stdout(), Duration::from_millis(pace))
        .map_err(|cause| Error::Write { name: "standard output".to_owned(), cause })?;
    Ok(ExitCode::SUCCESS)
}

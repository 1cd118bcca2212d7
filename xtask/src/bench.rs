//! `cargo xtask bench`: how fast conversions, turns and surfaces are beside the real peers, and how many
//! instructions each dialect takes.

mod agents;
mod convert;
mod instructions;
mod machine;
mod report;
mod sample;
mod serve;
mod server;
mod surfaces;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

pub(crate) use instructions::check as check_instructions;

/// Arguments of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Compare conversions with pydantic-ai and ai on the same bytes.
    Convert,
    /// Compare turns of an agent with pydantic-ai's loop, and run a thousand at once.
    Agents,
    /// Measure the server beside Redis, Durable Streams, PostgreSQL, Nchan and NATS.
    Server(server::Args),
    /// Measure nodes that share a PostgreSQL beside rows that are put into it by themselves.
    Cluster(server::cluster::Args),
    /// Compare A2A and the Agent API with the servers that their authors offer.
    Surfaces,
    /// Compare instruction counts with the committed baseline.
    Instructions {
        /// Write the counts to the baseline instead.
        #[arg(long)]
        update: bool,
    },
}

/// Runs a benchmark; the exit code tells whether its targets were met.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.what {
        What::Convert => convert::run(),
        What::Agents => agents::run(),
        What::Server(own) => server::run(own),
        What::Cluster(own) => server::cluster::run(own),
        What::Surfaces => surfaces::run(),
        What::Instructions { update: true } => instructions::update(),
        What::Instructions { update: false } => {
            let outcome = instructions::check()?;
            println!("{outcome}");
            Ok(outcome.exit_code())
        }
    }
}

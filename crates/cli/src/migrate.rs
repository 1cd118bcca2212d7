//! `selvedge migrate`: the tables of a store, made or brought up to date.

use std::process::ExitCode;

use selvedge_store::Store;

use crate::error::Error;
use crate::place::{Place, Shards};
use crate::{args, output};

/// Make the tables of a store, or bring those of an older version up to date
///
/// A server does this by itself when it starts. Where a server may not change tables, or many are
/// about to start, this does it before. Servers that begin at the same time wait for each other.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
      selvedge migrate --store postgres://selvedge@db.example/journal")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shards: Shards,
}

/// Migrates.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let first = args.place.address();
    let good = args::GOOD;
    for address in std::iter::once(&first).chain(args.shards.addresses()) {
        let steps = Store::migrate(address)?;
        output::print(&format!("{good}ok{good:#}  {address} is up to date, at step {steps}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

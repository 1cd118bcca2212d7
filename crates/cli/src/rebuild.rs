//! `selvedge rebuild`: lists, inbox, usage and search anew from the journal.

use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use selvedge_store::{Options, Store};

use crate::error::Error;
use crate::place::{Place, Shards};
use crate::{output, remote};

/// Build lists, inbox, usage and search anew from the journal
///
/// The journal is the truth and stays as it is. The server must not be running.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
      selvedge rebuild --db selvedge.db")]
pub(crate) struct Args {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    shards: Shards,
}

/// Rebuilds.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    if let Some(missing) = args.place.missing() {
        let cause = std::io::ErrorKind::NotFound.into();
        return Err(Error::Read { name: missing.display().to_string(), cause });
    }
    let shards = args.shards.addresses().to_vec();
    let store = Store::open(args.place.address(), Options { shards, ..Options::default() })?;
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent}%") {
        bar.set_style(style);
    }
    remote::run(async {
        let progress = |now: selvedge_store::Progress| {
            bar.set_length(now.total);
            bar.set_position(now.done);
        };
        Ok(store.rebuild(progress).await?)
    })?;
    bar.finish_and_clear();
    output::print("lists, inbox, usage and search are made anew\n")?;
    Ok(ExitCode::SUCCESS)
}

//! `selvedge promote`: a branch takes the id of the thread it came from.

use std::process::ExitCode;

use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};

/// Let a branch take the place of the thread it came from
///
/// From then on that thread's id means the branch. The old line lives on under another id, which is
/// printed. Whoever reads either is told to come again.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  The branch becomes the thread:
      selvedge promote t1-second-try

  And the old line gets a name to find it by:
      selvedge promote t1-second-try --old t1-first-try")]
pub(crate) struct Args {
    /// The branch
    thread: String,
    /// What to call the old line
    #[arg(long, value_name = "ID")]
    old: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Promotes.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let client = args.remote.client();
    let done = remote::run(async { Ok(client.promote(&args.thread, args.old.as_deref()).await?) })?;
    let text = |name: &str| done[name].as_str().unwrap_or("(deleted)").to_owned();
    let again = if done["duplicate"] == true { " (done before)" } else { "" };
    output::print(&format!(
        "{} is now {}, and what it was is {}{again}\n",
        text("id"),
        args.thread,
        text("old")
    ))?;
    Ok(ExitCode::SUCCESS)
}

//! `selvedge fork`: another way from some point on.

use std::process::ExitCode;

use serde_json::json;

use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};

/// Branch off from a thread
///
/// The branch has all that the thread has up to there, without a copy. Prints its id and cursor.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  From the end:
      selvedge fork t1 --id t1-again

  After the seventh event, and what became of it:
      selvedge fork t1 --at 7 --id other
      selvedge diff t1 other")]
pub(crate) struct Args {
    /// The thread
    thread: String,
    /// Take everything up to this sequence number or cursor; the end when left out
    #[arg(long, value_name = "N")]
    at: Option<String>,
    /// The branch's id; a new one when left out
    #[arg(long)]
    id: Option<String>,
    /// The branch's title
    #[arg(long)]
    title: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Branches off.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut branch = json!({});
    for (name, value) in [("id", &args.id), ("title", &args.title)] {
        if let Some(value) = value {
            branch[name] = json!(value);
        }
    }
    if let Some(at) = &args.at {
        // What is no number is a cursor, or the server says that it is none.
        branch["at"] = at.parse::<u64>().map_or_else(|_| json!(at), |seq| json!(seq));
    }
    let client = args.remote.client();
    let made = remote::run(async { Ok(client.fork(&args.thread, &branch).await?) })?;
    let text = |name: &str| output::tame(made[name].as_str().unwrap_or_default());
    output::print(&format!("{} {}\n", text("id"), text("cursor")))?;
    Ok(ExitCode::SUCCESS)
}

//! `selvedge redact` and `selvedge erase`: taking out what must not stay.

use std::process::ExitCode;

use serde_json::Value;

use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};

/// Take the content out of events for good
///
/// What they did stays: kinds, names, states and numbers. What they said is gone from the journal,
/// from search and lists, from what branches share, and from the bytes of the file. A receipt is
/// appended: who, when, why, and the hash of what was there. Needs an operator's key.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Two events of a thread:
      selvedge redact t1 17 18 --reason \"a password\"")]
pub(crate) struct RedactArgs {
    /// The thread
    thread: String,
    /// The events, by their sequence numbers
    #[arg(required = true, value_name = "SEQ")]
    events: Vec<u64>,
    /// Why; the receipt says so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Erase a thread: nothing is left of it but a receipt
///
/// Its events, artifacts, shares and whatever was made of them are gone, from the bytes of the file
/// too. What a branch shares with it stays as long as the branch, unless those go as well. Needs an
/// operator's key.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A thread and all that branched off from it:
      selvedge erase t1 --branches --reason \"asked to by ann\"

  What was erased, and on whose word:
      selvedge erase --list")]
pub(crate) struct EraseArgs {
    /// The thread
    #[arg(required_unless_present = "list")]
    thread: Option<String>,
    /// Erase the threads that branched off from it, too
    #[arg(long)]
    branches: bool,
    /// Why; the receipt says so
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print the receipts of erased threads instead
    #[arg(long, conflicts_with_all = ["thread", "branches", "reason"])]
    list: bool,
    #[command(flatten)]
    remote: Remote,
}

/// Takes the content out of events.
pub(crate) fn redact(args: &RedactArgs) -> Result<ExitCode, Error> {
    let client = args.remote.client();
    let done = remote::run(async {
        Ok(client.redact(&args.thread, &args.events, args.reason.as_deref()).await?)
    })?;
    for event in done["events"].as_array().into_iter().flatten() {
        let hash = event["hash"].as_str().unwrap_or_default();
        output::print(&format!("{} {hash}\n", event["seq"]))?;
    }
    match done["receipt"].as_u64() {
        Some(receipt) => output::print(&format!("receipt {receipt}\n"))?,
        None => output::print("nothing was left to take out\n")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Erases a thread, or lists what was erased.
pub(crate) fn erase(args: &EraseArgs) -> Result<ExitCode, Error> {
    let client = args.remote.client();
    let gone = remote::run(async {
        Ok(match &args.thread {
            Some(thread) => client.erase(thread, args.branches, args.reason.as_deref()).await?,
            None => client.erasures().await?,
        })
    })?;
    for receipt in gone["erasures"].as_array().into_iter().flatten() {
        output::print(&line(receipt))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn line(receipt: &Value) -> String {
    let text = |name: &str| output::tame(receipt[name].as_str().unwrap_or("-"));
    let shared = receipt["sharedWith"].as_array().into_iter().flatten();
    let shared: Vec<&str> = shared.filter_map(Value::as_str).collect();
    let shared = match shared.is_empty() {
        true => String::new(),
        false => format!(", a part stays with {}", output::tame(&shared.join(", "))),
    };
    format!(
        "{} {} {} entries {} by {} ({}){shared}\n",
        text("at"),
        text("thread"),
        receipt["entries"],
        text("hash"),
        text("by"),
        text("reason")
    )
}

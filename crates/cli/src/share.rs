//! `selvedge share`: a link to a thread, for whoever has it.

use std::process::ExitCode;

use selvedge_protocol::time;
use serde_json::json;

use crate::args;
use crate::error::Error;
use crate::keys::expiry;
use crate::output;
use crate::remote::{self, Remote};

/// Share a thread by a link
///
/// Whoever has the link can read what was said up to now (or up to --at), and nothing that comes
/// later. Thoughts, what tools were given and gave, metadata, prompts of the system and names are
/// left out unless --show names them.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What was said until now, for a week:
      selvedge share t1 --expires 7d

  The first forty entries, with tools and thoughts:
      selvedge share t1 --at 40 --show tools,thoughts

  See a thread's links, and end one:
      selvedge share t1 --list
      selvedge share t1 --revoke 3f9a1c0b77de")]
pub(crate) struct Args {
    /// The thread
    thread: String,
    /// The last entry to be seen; all there are when left out
    #[arg(long, value_name = "SEQ")]
    at: Option<u64>,
    /// When it ends by itself: `90d`, `12h`, `30m`, or a time such as 2027-01-31T00:00:00Z
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    expires: Option<i64>,
    /// What people call it
    #[arg(long)]
    title: Option<String>,
    /// Show this too
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = [
        "thoughts", "tools", "metadata", "artifacts", "inputs", "auth", "system", "participants",
    ])]
    show: Vec<String>,
    /// List the thread's links instead
    #[arg(long, conflicts_with_all = ["at", "expires", "title", "show", "revoke"])]
    list: bool,
    /// End a link for good instead
    #[arg(long, value_name = "ID", conflicts_with_all = ["at", "expires", "title", "show"])]
    revoke: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Shares.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let client = args.remote.client();
    if let Some(id) = &args.revoke {
        remote::run(async { Ok(client.revoke_share(&args.thread, id).await?) })?;
        output::print(&format!("revoked {id}\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.list {
        let listed = remote::run(async { Ok(client.shares(&args.thread).await?) })?;
        for share in listed["shares"].as_array().into_iter().flatten() {
            let text = |name: &str| share[name].as_str().unwrap_or("-").to_owned();
            let state = match (&share["revokedAt"], &share["expiresAt"]) {
                (revoked, _) if revoked.is_string() => format!("revoked {}", text("revokedAt")),
                (_, expires) if expires.is_string() => format!("until {}", text("expiresAt")),
                _ => "valid".to_owned(),
            };
            let (id, at, title) = (text("id"), &share["at"], text("title"));
            output::print(&format!("{id}  up to {at}  {state}  {title}\n"))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut share = json!({ "show": args.show });
    if let Some(at) = args.at {
        share["at"] = at.into();
    }
    if let Some(title) = &args.title {
        share["title"] = title.as_str().into();
    }
    if let Some(expires) = args.expires.and_then(time::from_millis) {
        share["expiresAt"] = expires.into();
    }
    let made = remote::run(async { Ok(client.share(&args.thread, &share).await?) })?;
    let (dim, id) = (args::DIM, made["id"].as_str().unwrap_or_default());
    // The link alone on standard output, so that a script can take it.
    anstream::eprintln!("{dim}share {id} is shown this once{dim:#}");
    output::print(&format!(
        "{}{}\n",
        args.remote.url(),
        made["link"].as_str().unwrap_or_default()
    ))?;
    Ok(ExitCode::SUCCESS)
}

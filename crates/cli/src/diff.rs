//! `selvedge diff`: what two threads have after the point they share, side against side.

mod align;

use std::process::ExitCode;

use selvedge_client::Client;
use serde_json::{Value, json};

use crate::args;
use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};
use crate::tail::line;
use align::{Side, align};

/// Show what two threads have after the point they share
///
/// What only the first has is marked `-`, what only the second has `+`. Events that say the same
/// at another time are shown once.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A thread and its branch:
      selvedge diff t1 t1-again

  For other tools:
      selvedge diff t1 t1-again --json | jq .base")]
pub(crate) struct Args {
    /// The first thread
    a: String,
    /// The second thread
    b: String,
    /// Print `{"base", "left", "right"}` with all entries of both sides
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    remote: Remote,
}

/// Compares.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let client = args.remote.client();
    let found = remote::run(compare(&client, &args.a, &args.b))?;
    if args.json {
        output::print(&format!("{found}\n"))?;
    } else {
        output::print(&text(&found, args))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Asks, and reads on where a side was too long for one answer.
async fn compare(client: &Client, a: &str, b: &str) -> Result<Value, Error> {
    let query = [("with", b.to_owned()), ("limit", "10000".to_owned())];
    let mut found = client.diff(a, &query).await?;
    for (name, id) in [("left", a), ("right", b)] {
        let side = &mut found[name];
        loop {
            let cursor = side["cursor"].as_str().unwrap_or_default().to_owned();
            let seen = cursor.split('.').nth(1).and_then(|seq| seq.parse().ok());
            if seen >= side["head"].as_u64() {
                break;
            }
            let page = client.page(id, &[("after", cursor), ("limit", "10000".to_owned())]).await?;
            let mut page: Value = serde_json::from_str(&page)
                .map_err(|error| selvedge_client::Error::Answer(error.to_string()))?;
            let more = page["entries"].as_array_mut().map(std::mem::take).unwrap_or_default();
            if let Some(entries) = side["entries"].as_array_mut() {
                entries.extend(more);
            }
            side["cursor"] = page["cursor"].take();
        }
    }
    Ok(found)
}

fn text(found: &Value, args: &Args) -> String {
    let entries = |name: &str| found[name]["entries"].as_array().cloned().unwrap_or_default();
    let (left, right) = (entries("left"), entries("right"));
    let said: [Vec<String>; 2] = [&left, &right].map(|side| side.iter().map(meaning).collect());
    let (gone, new, dim) = (args::ERROR, args::GOOD, args::DIM);
    let mut out = match found["base"].as_u64() {
        Some(0) | None => format!("{dim}they share nothing{dim:#}\n"),
        Some(base) => format!("{dim}they share {base} events{dim:#}\n"),
    };
    out.push_str(&format!("{gone}- {}{gone:#}\n", output::tame(&args.a)));
    out.push_str(&format!("{new}+ {}{new:#}\n", output::tame(&args.b)));
    for side in align(&said[0], &said[1]) {
        let (mark, style, at) = match side {
            Side::Left(at) => ("-", gone, left.get(at)),
            Side::Right(at) => ("+", new, right.get(at)),
            Side::Both(at, _) => (" ", dim, left.get(at)),
        };
        let Some(entry) = at else { continue };
        let line = line::line(&entry["event"].to_string()).unwrap_or_default();
        out.push_str(&format!(
            "{style}{mark}{:>6}{style:#} {}\n",
            entry["seq"].to_string(),
            line.trim_end()
        ));
    }
    if left.is_empty() && right.is_empty() {
        out.push_str(&format!("{dim}and have nothing else{dim:#}\n"));
    }
    out
}

/// An event without where and when it was said.
fn meaning(entry: &Value) -> String {
    let mut event = entry["event"].clone();
    for name in ["contextId", "timestamp"] {
        if event[name].is_string() {
            event[name] = json!(null);
        }
    }
    event.to_string()
}

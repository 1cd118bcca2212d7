//! `selvedge threads`, `inbox`, `search` and `usage`: lists over all threads of a server.

use std::process::ExitCode;

use serde_json::Value;

use crate::act::{self, InboxAct};
use crate::args;
use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};

/// The most of a text that is shown.
const TEXT: usize = 300;

/// What all lists share.
#[derive(clap::Args)]
struct Common {
    /// How many
    #[arg(long, default_value_t = 20, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Lines for people, or one item a line as JSON
    #[arg(long, value_name = "FORMAT", value_parser = ["text", "json"], default_value = "text")]
    format: String,
    #[command(flatten)]
    remote: Remote,
}

/// List threads, the one updated last first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Those in which someone is asked for something:
      selvedge threads --status waiting")]
pub(crate) struct ThreadsArgs {
    /// Only those that are waiting, working, failed or idle
    #[arg(long, value_name = "STATUS", value_parser = ["waiting", "working", "failed", "idle"])]
    status: Option<String>,
    /// Only those that this participant takes part in
    #[arg(long, value_name = "ID")]
    participant: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// List what waits for someone, the oldest first, or answer it
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Everything that waits, for other tools:
      selvedge inbox --format json | jq .prompt
  Say yes to a question:
      selvedge inbox answer t1 approve-1 true")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(subcommand)]
    act: Option<InboxAct>,
    /// What comes first
    #[arg(long, value_name = "ORDER", value_parser = ["oldest", "urgency"], default_value = "oldest")]
    order: String,
    #[command(flatten)]
    common: Common,
}

/// Find what was said, the newest first
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Two words together, and a beginning:
      selvedge search '\"river bank\" swim*'")]
pub(crate) struct SearchArgs {
    /// Words; quoted ones together, `word*` any ending
    words: String,
    #[command(flatten)]
    common: Common,
}

/// Show what models were used for, and what that cost
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  By agent and model, in the last thirty days:
      selvedge usage
  One thread, day by day:
      selvedge usage --thread t1 --by day,model")]
pub(crate) struct UsageArgs {
    /// Rows for each of these: day, thread, agent, model
    #[arg(long, value_name = "NAMES", default_value = "agent,model")]
    by: String,
    /// Only this thread
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    /// From this day on, as in 2026-01-31
    #[arg(long, value_name = "DAY")]
    from: Option<String>,
    /// Up to this day
    #[arg(long, value_name = "DAY")]
    to: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// Shows what was spent.
pub(crate) fn usage(args: &UsageArgs) -> Result<ExitCode, Error> {
    let mut query = vec![("by", args.by.clone())];
    for (name, value) in [("thread", &args.thread), ("from", &args.from), ("to", &args.to)] {
        query.extend(value.clone().map(|value| (name, value)));
    }
    let names: Vec<&str> = args.by.split(',').map(str::trim).collect();
    list(&args.common, "/api/usage", query, "usage", |row| {
        let (name, dim) = (args::NAME, args::DIM);
        let own = names.iter().map(|name| format!("{:<24}", text(row, name).unwrap_or_default()));
        let own: String = own.collect::<Vec<_>>().join(" ");
        let count = |name: &str| row[name].as_u64().unwrap_or(0);
        let cost = row["cost"].as_f64().filter(|cost| *cost > 0.0);
        let cost = cost.map_or(String::new(), |cost| format!("  {cost:.4}"));
        format!(
            "{name}{own}{name:#} {:>12} in {:>10} out {dim}{:>6} calls{dim:#}{cost}",
            count("input"),
            count("output"),
            count("calls"),
        )
    })
}

/// Lists threads.
pub(crate) fn threads(args: &ThreadsArgs) -> Result<ExitCode, Error> {
    let mut query = Vec::new();
    for (name, value) in [("status", &args.status), ("participant", &args.participant)] {
        if let Some(value) = value {
            query.push((name, value.clone()));
        }
    }
    list(&args.common, "/api/threads", query, "threads", |thread| {
        let (name, dim) = (args::NAME, args::DIM);
        let title = text(thread, "title").or(text(thread, "lastWords")).unwrap_or_default();
        format!(
            "{name}{:<38}{name:#} {:<8} {dim}{:<24}{dim:#} {}",
            text(thread, "id").unwrap_or_default(),
            text(thread, "status").unwrap_or_default(),
            text(thread, "updatedAt").unwrap_or_default(),
            title
        )
    })
}

/// Lists what waits.
pub(crate) fn inbox(args: &InboxArgs) -> Result<ExitCode, Error> {
    if let Some(act) = &args.act {
        return act::inbox(act);
    }
    let query = vec![("order", args.order.clone())];
    list(&args.common, "/api/inbox", query, "items", |item| {
        let (name, dim) = (args::NAME, args::DIM);
        format!(
            "{name}{:<38}{name:#} {:<5} {:<24} {dim}{:<24}{dim:#} {}",
            text(item, "thread").unwrap_or_default(),
            text(item, "kind").unwrap_or_default(),
            text(item, "id").unwrap_or_default(),
            text(item, "at").unwrap_or_default(),
            text(item, "prompt").unwrap_or_default()
        )
    })
}

/// Finds what was said.
pub(crate) fn search(args: &SearchArgs) -> Result<ExitCode, Error> {
    let query = vec![("q", args.words.clone())];
    list(&args.common, "/api/search", query, "results", |found| {
        let (name, dim, good) = (args::NAME, args::DIM, args::GOOD);
        let pieces = found["snippet"].as_array().into_iter().flatten();
        let snippet: String = pieces
            .map(|piece| match (text(piece, "hit"), text(piece, "text")) {
                (Some(hit), _) => format!("{good}{hit}{good:#}"),
                (None, around) => around.unwrap_or_default(),
            })
            .collect();
        let thread = text(found, "thread").unwrap_or_default();
        format!("{name}{thread}{name:#} {dim}{}{dim:#} {snippet}", found["seq"])
    })
}

/// Asks for a list and prints its items.
fn list(
    common: &Common,
    path: &str,
    mut query: Vec<(&str, String)>,
    name: &str,
    line: impl Fn(&Value) -> String,
) -> Result<ExitCode, Error> {
    query.push(("limit", common.limit.to_string()));
    let client = common.remote.client();
    let answer = remote::run(async { Ok(client.list(path, &query).await?) })?;
    let items = answer[name].as_array().into_iter().flatten();
    for item in items {
        if common.format == "json" {
            output::print(&format!("{item}\n"))?;
        } else {
            output::print(&format!("{}\n", line(item).trim_end()))?;
        }
    }
    if answer["next"].is_string() && common.format == "text" {
        let dim = args::DIM;
        anstream::eprintln!("{dim}there are more; ask for them with `--limit`{dim:#}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A member's text, safe to show.
pub(crate) fn text(of: &Value, name: &str) -> Option<String> {
    of[name].as_str().map(|text| output::one_line(text, TEXT))
}

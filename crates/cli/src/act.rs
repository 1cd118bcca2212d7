//! `selvedge inbox answer`, `selvedge inbox authenticated` and `selvedge cancel`: acting on threads.

use std::process::ExitCode;

use selvedge_client::Appended;
use serde_json::Value;

use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};

/// What can be done about what waits.
#[derive(clap::Subcommand)]
pub(crate) enum InboxAct {
    Answer(AnswerArgs),
    Authenticated(AuthenticatedArgs),
}

/// Answer a question; the first answer counts
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Say yes:
      selvedge inbox answer t1 approve-1 true --reason 'looks right'")]
pub(crate) struct AnswerArgs {
    /// The thread
    thread: String,
    /// The question's id
    input: String,
    /// The answer: JSON, or else text
    value: String,
    /// Take the answer as text, whatever it looks like
    #[arg(long)]
    text: bool,
    /// Who answers
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Say that a user has authenticated
#[derive(clap::Args)]
pub(crate) struct AuthenticatedArgs {
    /// The thread
    thread: String,
    /// The request's id
    auth: String,
    /// Who has authenticated; whom the token was made for when left out
    #[arg(long, value_name = "ID")]
    user: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Stop what runs in a thread, with all that came of it
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Everything that runs:
      selvedge cancel t1
  One task, with its subtasks:
      selvedge cancel t1 task-7 --reason 'wrong file'")]
pub(crate) struct CancelArgs {
    /// The thread
    thread: String,
    /// Only this task
    task: Option<String>,
    /// Only this tool call
    #[arg(long, value_name = "ID", conflicts_with = "task")]
    tool_call: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Acts on what waits.
pub(crate) fn inbox(act: &InboxAct) -> Result<ExitCode, Error> {
    match act {
        InboxAct::Answer(args) => answer(args),
        InboxAct::Authenticated(args) => authenticated(args),
    }
}

fn answer(args: &AnswerArgs) -> Result<ExitCode, Error> {
    let text = || Value::String(args.value.clone());
    let value = if args.text {
        text()
    } else {
        serde_json::from_str(&args.value).unwrap_or_else(|_| text())
    };
    let mut body = said(&[("userId", &args.user), ("reason", &args.reason)]);
    body["value"] = value;
    let thread = args.remote.client().on(&args.thread);
    told(&remote::run(async { Ok(thread.answer(&args.input, &body).await?) })?)
}

fn authenticated(args: &AuthenticatedArgs) -> Result<ExitCode, Error> {
    let body = said(&[("userId", &args.user)]);
    let thread = args.remote.client().on(&args.thread);
    told(&remote::run(async { Ok(thread.authenticated(&args.auth, &body).await?) })?)
}

/// Stops something.
pub(crate) fn cancel(args: &CancelArgs) -> Result<ExitCode, Error> {
    let body = said(&[("reason", &args.reason)]);
    let thread = args.remote.client().on(&args.thread);
    told(&remote::run(async {
        Ok(match (&args.task, &args.tool_call) {
            (Some(task), _) => thread.cancel_task(task, &body).await?,
            (None, Some(call)) => thread.cancel_call(call, &body).await?,
            (None, None) => thread.cancel(&body).await?,
        })
    })?)
}

/// A body with what was said.
fn said(members: &[(&str, &Option<String>)]) -> Value {
    let said = members.iter().filter_map(|(name, value)| {
        Some(((*name).to_owned(), Value::String(value.as_ref()?.clone())))
    });
    Value::Object(said.collect())
}

fn told(appended: &Appended) -> Result<ExitCode, Error> {
    output::print(&format!("{}\n", appended.cursor))?;
    Ok(ExitCode::SUCCESS)
}

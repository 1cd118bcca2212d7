//! `selvedge import` and `selvedge export`: threads in and out of a server.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::args::{self, Named};
use crate::error::Error;
use crate::input::Source;
use crate::output::{self, Output};
use crate::remote::{self, Remote};

/// Make a thread from a file in any dialect
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A Pydantic AI history becomes a thread:
      selvedge import history.json --thread t1")]
pub(crate) struct ImportArgs {
    /// The source; standard input when left out or `-`
    #[arg(default_value = "-", hide_default_value = true)]
    input: PathBuf,
    /// Dialect of the source; detected when left out
    #[arg(long, short, value_name = "DIALECT", value_parser = args::dialect(), hide_possible_values = true)]
    from: Option<Named>,
    /// The thread's id; the source's own, or a new one, when left out
    #[arg(long, value_name = "ID")]
    thread: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Write a thread to a file in any dialect
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  The thread as the messages of an AI SDK front end:
      selvedge export t1 --to ai-sdk-messages -o messages.json

  A copy that can be verified:
      selvedge export t1 --archive -o t1.journal
      selvedge verify --archive t1.journal")]
pub(crate) struct ExportArgs {
    /// The thread
    thread: String,
    /// Dialect to write
    #[arg(long, short, value_name = "DIALECT", value_parser = args::dialect(), hide_possible_values = true, default_value = "thread-protocol")]
    to: Named,
    /// Write for this version of the reader, such as ai@6 or pydantic-ai@1
    #[arg(long = "for", value_name = "PACKAGE@VERSION")]
    target: Option<String>,
    /// Write the journal byte for byte with its hash chain, for `selvedge verify --archive`
    #[arg(long, conflicts_with_all = ["to", "target"])]
    archive: bool,
    /// Write to this file; it appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// Imports.
pub(crate) fn import(args: &ImportArgs) -> Result<ExitCode, Error> {
    let source = Source::open(&args.input)?;
    let name = source.name().to_owned();
    let text = String::from_utf8(source.read_all()?)
        .map_err(|error| Error::NotUtf8 { name, at: error.utf8_error().valid_up_to() as u64 })?;
    let mut query = Vec::new();
    if let Some(from) = args.from {
        query.push(("dialect", from.0.id.name().to_owned()));
    }
    if let Some(thread) = &args.thread {
        query.push(("thread", thread.clone()));
    }
    let client = args.remote.client();
    let made = remote::run(async { Ok(client.import(&text, &query).await?) })?;
    let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
    output::print(&format!("{} {} ({})\n", text("id"), text("cursor"), text("dialect")))?;
    Ok(ExitCode::SUCCESS)
}

/// Exports.
pub(crate) fn export(args: &ExportArgs) -> Result<ExitCode, Error> {
    let mut query = vec![("dialect", args.to.0.id.name().to_owned())];
    if let Some(target) = &args.target {
        query.push(("for", target.clone()));
    }
    let client = args.remote.client();
    let mut output = Output::open(args.output.as_deref())?;
    remote::run(async {
        let mut answer = match args.archive {
            true => client.archive(&args.thread).await?,
            false => client.export(&args.thread, &query).await?,
        };
        while let Some(piece) = answer.next().await? {
            output.write(&piece)?;
        }
        Ok(())
    })?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

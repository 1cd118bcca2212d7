//! `selvedge append`: events from a file into a thread.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::error::Error;
use crate::input::Source;
use crate::output;
use crate::remote::{self, Remote};

/// Append events to a thread
///
/// Takes one event, an array of events, or one a line. All of them are appended, or none.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  One event, of a thread that is made if it is not there:
      echo '{\"kind\":\"message\",\"role\":\"user\",\"content\":\"hello\"}' | selvedge append t1 --create

  Events of a file, safe to try again:
      selvedge append t1 events.ndjson --idempotency-key upload-42")]
pub(crate) struct Args {
    /// The thread
    thread: String,
    /// The events; standard input when left out or `-`
    #[arg(default_value = "-", hide_default_value = true)]
    input: PathBuf,
    /// Make the thread if it is not there
    #[arg(long)]
    create: bool,
    /// Make a second try harmless
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Appends.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let source = Source::open(&args.input)?;
    let name = source.name().to_owned();
    let text = String::from_utf8(source.read_all()?)
        .map_err(|error| Error::NotUtf8 { name, at: error.utf8_error().valid_up_to() as u64 })?;
    let client = args.remote.client();
    let append = || async {
        match &args.idempotency_key {
            Some(key) => client.append_once(&args.thread, &text, key).await,
            None => client.append(&args.thread, &text).await,
        }
    };
    let appended = remote::run(async {
        match append().await {
            Err(error) if args.create && is(&error, "not_found") => {
                let made = client.create(&json!({ "id": args.thread })).await;
                // Someone else may have made it meanwhile.
                if let Err(error) = made
                    && !is(&error, "thread_exists")
                {
                    return Err(error.into());
                }
                Ok(append().await?)
            }
            Err(error) if is(&error, "not_found") => Err(Error::NoThread(error)),
            other => Ok(other?),
        }
    })?;
    let again = if appended.duplicate { " (there already)" } else { "" };
    output::print(&format!("{}{again}\n", appended.cursor))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the server refused something with this code.
fn is(error: &selvedge_client::Error, wanted: &str) -> bool {
    matches!(error, selvedge_client::Error::Refused { code, .. } if code == wanted)
}

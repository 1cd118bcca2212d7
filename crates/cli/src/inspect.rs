//! `selvedge inspect`: a thread at a glance.

mod page;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use selvedge_protocol::dialect::DecodeOptions;
use selvedge_protocol::journal::Batch;
use selvedge_protocol::journal::fold::State;

use crate::args::{self, Named};
use crate::error::Error;
use crate::input::{Sink, Source};
use crate::output;

/// Show who took part in a conversation, what they did and what it cost
///
/// Prints the participants, the tree of tasks, tools with their failures and times, tokens for
/// each agent and model, artifacts, and what is still waited for.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  selvedge inspect thread.ndjson
  curl -s https://example.com/threads/1 | selvedge inspect --from aitp -")]
pub(crate) struct Args {
    /// Dialect of the source; detected when left out
    #[arg(long, short, value_name = "DIALECT", value_parser = args::dialect())]
    #[arg(hide_possible_values = true)]
    from: Option<Named>,
    /// The source; standard input when left out or `-`
    #[arg(default_value = "-", hide_default_value = true)]
    input: PathBuf,
}

/// Shows.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut source = Source::open(&args.input)?;
    let dialect = source.dialect(args.from.map(|named| named.0), "--from")?;
    let mut fold = Fold(State::new());
    source.decode(dialect, &DecodeOptions::default(), &mut fold)?;
    output::print(&page::render(dialect, &fold.0))?;
    Ok(ExitCode::SUCCESS)
}

struct Fold(State);

impl Sink for Fold {
    fn batch(&mut self, batch: &Batch<'_>) {
        for event in &batch.events {
            self.0.apply(event);
        }
    }
}

//! `selvedge convert`: from one dialect to another, piece by piece.

use std::path::PathBuf;
use std::process::ExitCode;

use selvedge_protocol::dialect::{DecodeOptions, EncodeOptions, Encoding, Frames, Target};
use selvedge_protocol::journal::{Batch, Unread};
use selvedge_protocol::loss::Losses;

use crate::args::{self, Named};
use crate::error::Error;
use crate::input::{Shown, Sink, Source};
use crate::output::Output;

/// Convert a conversation from one dialect to another
///
/// Streams and lines are read and written piece by piece, so that sources larger than memory
/// convert too. Through `journal` and back, every byte survives. Records that cannot be read are
/// named on standard error; the exit code is still 0.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A Pydantic AI history as the messages of an AI SDK 6 front end:
      selvedge convert --to ai-sdk-messages --for ai@6 history.json -o messages.json

  A recorded stream into the archive, and back, byte for byte:
      selvedge convert --to journal stream.sse -o thread.ndjson
      selvedge convert --to ai-sdk-stream thread.ndjson | cmp - stream.sse

  What an OpenAI thread has that A2A has no place for:
      selvedge convert --to a2a --loss lost.json run.sse -o run.a2a.sse

  A live stream, as it arrives:
      curl -sN https://example.com/run | selvedge convert --from ag-ui --to looopy

`selvedge dialects` lists the dialects and their versions.")]
pub(crate) struct Args {
    /// Dialect of the source; detected when left out
    #[arg(long, short, value_name = "DIALECT", value_parser = args::dialect(), hide_possible_values = true)]
    from: Option<Named>,
    /// Dialect to write
    #[arg(long, short, value_name = "DIALECT", value_parser = args::dialect(), hide_possible_values = true)]
    to: Named,
    /// Write the thread as this agent sees it
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Write for this version of the reader, such as ai@6 or pydantic-ai@1
    #[arg(long = "for", value_name = "PACKAGE@VERSION")]
    target: Option<Target>,
    /// Write what was lost to this file, as a JSON array of pointers and reasons; `-` is standard
    /// error
    #[arg(long, value_name = "FILE")]
    loss: Option<PathBuf>,
    /// Write to this file; it appears when it is complete
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The source; standard input when left out or `-`
    #[arg(default_value = "-", hide_default_value = true)]
    input: PathBuf,
}

/// Converts.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let to = args.to.0;
    if let Some(target) = &args.target {
        args::check_target(target, to)?;
    }
    let mut source = Source::open(&args.input)?;
    let from = source.dialect(args.from.map(|named| named.0), "--from")?;
    let name = source.name().to_owned();

    let write = EncodeOptions {
        agent: args.agent.clone(),
        target: args.target.clone(),
        ..EncodeOptions::default()
    };
    let frames = match &args.loss {
        Some(_) => Frames::Keep,
        None => Frames::needed(from, to),
    };
    let read = DecodeOptions { agent: args.agent.clone(), frames, ..DecodeOptions::default() };
    let mut converter = Converter {
        encoding: Encoding::new(to, &write),
        written: Vec::new(),
        output: Output::open(args.output.as_deref())?,
        said: Said::Nothing,
        unread: UnreadRecords::default(),
        loss: match &args.loss {
            Some(path) => Some(Loss::new(Losses::new(to, &write), Output::report(path)?)),
            None => None,
        },
    };
    source.decode(from, &read, &mut converter)?;

    let Converter { encoding, mut written, mut output, said, unread, loss } = converter;
    encoding.finish(&mut written);
    output.write(&written)?;
    output.finish()?;
    if let Some(loss) = loss {
        loss.finish()?;
    }
    let (style, from) = (args::WARNING, from.id.name());
    unread.warn(&name);
    if said == Said::Records {
        anstream::eprintln!(
            "{style}warning:{style:#} nothing in {name} could be read as `{from}`; \
             `selvedge validate --dialect {from}` says why"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes what was read.
struct Converter {
    encoding: Encoding,
    written: Vec<u8>,
    output: Output,
    said: Said,
    unread: UnreadRecords,
    loss: Option<Loss>,
}

/// Records that could not be read: the first few, and how many there are.
#[derive(Default)]
struct UnreadRecords {
    first: Vec<Unread>,
    count: usize,
}

impl UnreadRecords {
    /// So many are named one by one.
    const NAMED: usize = 10;

    fn add(&mut self, unread: Unread) {
        self.count += 1;
        if self.first.len() < Self::NAMED {
            self.first.push(unread);
        }
    }

    fn warn(&self, source: &str) {
        let style = args::WARNING;
        for unread in &self.first {
            anstream::eprintln!(
                "{style}warning:{style:#} {unread} in {source}; \
                 `journal` and `thread-protocol` keep it, other dialects lose it"
            );
        }
        let more = self.count - self.first.len();
        if more > 0 {
            anstream::eprintln!("{style}warning:{style:#} {more} more could not be read");
        }
    }
}

/// Writes what was lost: a JSON array, an entry a line.
struct Loss {
    losses: Losses,
    output: Output,
    entries: Entries,
}

/// The array so far, less what is written already.
struct Entries {
    written: String,
    between: &'static str,
}

impl Entries {
    fn push(&mut self, loss: &selvedge_protocol::loss::Loss) {
        self.written.push_str(self.between);
        self.written.push_str(&loss.to_json());
        self.between = ",\n";
    }
}

impl Loss {
    fn new(losses: Losses, output: Output) -> Self {
        let entries = Entries { written: "[".to_owned(), between: "\n" };
        Self { losses, output, entries }
    }

    fn batch(&mut self, batch: &Batch<'_>) {
        let Self { losses, entries, .. } = self;
        losses.batch(batch, &mut |loss| entries.push(&loss));
    }

    fn piece(&mut self) -> Result<(), Error> {
        self.output.write(self.entries.written.as_bytes())?;
        self.entries.written.clear();
        Ok(())
    }

    fn finish(self) -> Result<(), Error> {
        let Self { losses, mut output, mut entries } = self;
        losses.finish(&mut |loss| entries.push(&loss));
        entries.written.push_str(if entries.between == "\n" { "]\n" } else { "\n]\n" });
        output.write(entries.written.as_bytes())?;
        output.finish()
    }
}

/// What a source has said so far.
#[derive(PartialEq, Eq)]
enum Said {
    Nothing,
    /// There are records, but they mean nothing.
    Records,
    Events,
}

impl Sink for Converter {
    fn batch(&mut self, batch: &Batch<'_>) {
        if !batch.events.is_empty() {
            self.said = Said::Events;
        } else if self.said == Said::Nothing {
            self.said = Said::Records;
        }
        if let Some(unread) = batch.unread {
            self.unread.add(unread);
        }
        self.encoding.batch(batch, &mut self.written);
        if let Some(loss) = &mut self.loss {
            loss.batch(batch);
        }
    }

    fn shown(&self) -> Shown {
        self.output.shown()
    }

    fn piece(&mut self) -> Result<(), Error> {
        self.output.write(&self.written)?;
        self.written.clear();
        self.output.flush()?;
        self.loss.as_mut().map_or(Ok(()), Loss::piece)
    }
}

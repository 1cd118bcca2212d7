//! `selvedge canon`: canonical JSON, and digests to compare.

use std::path::PathBuf;
use std::process::ExitCode;

use selvedge_protocol::canonical::{self, ThreadDigest};
use selvedge_protocol::dialect::{DecodeOptions, Id};
use selvedge_protocol::journal::Batch;
use selvedge_protocol::json::{Doc, SyntaxError, SyntaxKind};

use crate::args::{self, Named};
use crate::error::Error;
use crate::input::{Sink, Source};
use crate::output::{self, Output};

/// Print canonical JSON (RFC 8785), or a digest of it
///
/// Two JSON files that say the same have the same canonical form and digest. JSON lines give one
/// canonical line each.
///
/// With `--digest`, a source of server-sent events or lines gives the digest of its thread: a
/// SHA-256 over its events, the same for a source and for the archive made from it. With
/// `--from`, so does a source that is one JSON document.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Do two files say the same?
      selvedge canon --digest a.json
      selvedge canon --digest b.json

  Is the archive the thread that it was made from?
      selvedge canon --digest --from pydantic-ai history.json
      selvedge canon --digest thread.ndjson")]
pub(crate) struct Args {
    /// Print the SHA-256 instead
    #[arg(long)]
    digest: bool,
    /// Take the digest of the thread that this dialect holds
    #[arg(long, short, value_name = "DIALECT", requires = "digest", value_parser = args::dialect(), hide_possible_values = true)]
    from: Option<Named>,
    /// The source; standard input when left out or `-`
    #[arg(default_value = "-", hide_default_value = true)]
    input: PathBuf,
}

/// Prints.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut source = Source::open(&args.input)?;
    if args.digest {
        let thread = match args.from {
            Some(named) => Some(named.0),
            // What has no dialect may still be JSON.
            None => match source.dialect(None, "--from") {
                Ok(found) if found.id == Id::Journal || is_stream(source.head()?) => Some(found),
                _ => None,
            },
        };
        if let Some(dialect) = thread {
            let mut digest = Digest(ThreadDigest::new());
            source.decode(dialect, &DecodeOptions::default(), &mut digest)?;
            output::print(&format!("{}\n", digest.0.finish()))?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    let name = source.name().to_owned();
    let bytes = source.read_all()?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| Error::NotUtf8 { name: name.clone(), at: e.valid_up_to() as u64 })?;
    let text = text.trim_start_matches('\u{feff}');
    let written = if args.digest { canonical::digest(text) } else { lines(text) };
    let mut written = written.map_err(|cause| Error::NotJson { name, cause })?;
    if args.digest {
        written.push('\n');
    }
    let mut output = Output::open(None)?;
    output.write(written.as_bytes())?;
    output.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the source is not one JSON value: server-sent events, or a value a line.
fn is_stream(head: &str) -> bool {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    if !head.starts_with(['{', '[']) {
        return true;
    }
    let rest = Doc::parse_prefix(head).ok().and_then(|(_, end)| head.get(end..));
    rest.is_some_and(|rest| !rest.trim().is_empty())
}

/// The canonical form of one value, without a line end so that its digest is the printed one, or
/// of each line.
fn lines(text: &str) -> Result<String, SyntaxError> {
    let whole = canonical::canonical(text);
    if !matches!(&whole, Err(error) if error.kind == SyntaxKind::TrailingText) {
        return whole;
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            let canonical = canonical::canonical(line)
                .map_err(|error| SyntaxError { at: from + error.at, ..error })?;
            out.push_str(&canonical);
            out.push('\n');
        }
        from += line.len();
    }
    Ok(out)
}

struct Digest(ThreadDigest);

impl Sink for Digest {
    fn batch(&mut self, batch: &Batch<'_>) {
        self.0.batch(batch);
    }
}

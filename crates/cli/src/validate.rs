//! `selvedge validate`: what is wrong with a source, and where.

mod json;
mod text;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use selvedge_protocol::diagnostic::Report;
use selvedge_protocol::dialect::Dialect;
use selvedge_protocol::json::{Doc, SyntaxKind};
use selvedge_protocol::validate::validate;

use crate::args::{self, Format, Named};
use crate::error::{COULD_NOT_RUN, Error, FOUND};
use crate::input::{self, Source};
use crate::output;

/// Check sources against their dialects
///
/// Exits with 0 when all are valid, 1 when one is not, and 2 when one could not be checked.
/// Warnings do not make a source invalid.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  selvedge validate thread.json
  selvedge validate --dialect looopy recordings/*.sse
  curl -s https://example.com/threads/1 | selvedge validate --dialect thread-protocol -

With `--format json`, one line for each source:
  {\"valid\":false,\"dialect\":\"journal\",\"diagnostics\":[{\"code\":\"missing-field\",\
\"severity\":\"error\",\"pointer\":\"/0/event\",\"message\":\"`kind` is missing\"}]}

docs/errors.md explains every code.")]
pub(crate) struct Args {
    /// Dialect of the sources; detected for each when left out
    #[arg(long, short, value_name = "DIALECT", value_parser = args::dialect(), hide_possible_values = true)]
    dialect: Option<Named>,
    /// How to print what is found
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The sources; `-` is standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
}

/// Checks.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut code = 0;
    for path in &args.inputs {
        let checked = match check(path, args.dialect.map(|named| named.0)) {
            Ok(checked) => checked,
            Err(error) => {
                // The others are still checked.
                error.print();
                code = COULD_NOT_RUN;
                continue;
            }
        };
        if !checked.report.is_valid() {
            code = code.max(FOUND);
        }
        output::print(&match args.format {
            Format::Text => text::render(&checked),
            Format::Json => json::render(&checked),
        })?;
    }
    Ok(code.into())
}

/// A source and what was found in it.
struct Checked {
    name: String,
    bytes: Vec<u8>,
    /// `None` for what is no dialect at all, because it is not even JSON or UTF-8.
    dialect: Option<&'static Dialect>,
    report: Report,
}

fn check(path: &Path, given: Option<&'static Dialect>) -> Result<Checked, Error> {
    let source = Source::open(path)?;
    let name = source.name().to_owned();
    let bytes = source.read_all()?;
    let mut report = Report::new();
    let dialect = given.or_else(|| input::detect(&bytes).ok().flatten());
    match dialect {
        Some(dialect) => validate(dialect, &bytes, &mut report),
        None => {
            unreadable(&bytes, &mut report);
            if report.is_valid() {
                return Err(Error::Undetected { name, option: "--dialect" });
            }
        }
    }
    Ok(Checked { name, bytes, dialect, report })
}

/// Finds what makes a source unreadable in any dialect.
fn unreadable(bytes: &[u8], report: &mut Report) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => {
            let at = e.valid_up_to();
            report.error("utf8", "", Some(at..at + 1), format!("invalid UTF-8 at byte {at}"));
            return;
        }
    };
    if text.trim().is_empty() {
        report.error("empty", "", None, "the source is empty");
    } else if text.trim_start().starts_with(['{', '['])
        && let Err(error) = Doc::parse(text)
        && error.kind != SyntaxKind::TrailingText
    {
        let message = format!("not JSON: {}", error.kind);
        report.error("json-syntax", "", Some(error.at..error.at + 1), message);
    }
}

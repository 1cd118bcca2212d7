//! `selvedge dialects`: what can be read and written.

use std::fmt::Write as _;
use std::process::ExitCode;

use selvedge_protocol::dialect::{self, Dialect};
use selvedge_protocol::json::quote;
use selvedge_protocol::record::Framing;

use crate::args::{self, Format};
use crate::error::Error;
use crate::output;

/// List the dialects that can be read and written
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  selvedge dialects
  selvedge dialects --format json")]
pub(crate) struct Args {
    /// How to print the list
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// Lists.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    output::print(&match args.format {
        Format::Text => table(),
        Format::Json => json(),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn table() -> String {
    let rows: Vec<[String; 4]> = dialect::ALL.iter().map(row).collect();
    let head = ["DIALECT", "FRAMING", "WHAT IT IS", "VERSIONS"].map(str::to_owned);
    let mut widths = head.each_ref().map(String::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.len());
        }
    }
    let [name, framing, about, _] = widths;
    let mut out = String::new();
    for (i, row) in std::iter::once(&head).chain(&rows).enumerate() {
        let style = if i == 0 { args::HEADING } else { args::NAME };
        let rest = if i == 0 { args::HEADING } else { anstyle::Style::new() };
        let [a, b, c, d] = row;
        // The last cell that says something needs no padding.
        let about = if d.is_empty() { 0 } else { about };
        let gap = if d.is_empty() { "" } else { "  " };
        let _ = writeln!(
            out,
            "{style}{a:name$}{style:#}  {rest}{b:framing$}  {c:about$}{gap}{d}{rest:#}"
        );
    }
    out
}

fn row(dialect: &Dialect) -> [String; 4] {
    let package = args::package(dialect);
    let versions: Vec<String> = dialect.versions.iter().map(|v| format!("{package}@{v}")).collect();
    let framing = framing(dialect).to_owned();
    [dialect.id.name().to_owned(), framing, dialect.about.to_owned(), versions.join(" ")]
}

/// How records stand in a file.
fn framing(dialect: &Dialect) -> &'static str {
    match dialect.framing {
        Framing::Array => "json-array",
        Framing::Lines => "ndjson",
        Framing::Sse => "sse",
        Framing::Document => "json",
    }
}

fn json() -> String {
    let mut out = String::from("[");
    for (i, dialect) in dialect::ALL.iter().enumerate() {
        let versions: Vec<String> = dialect.versions.iter().map(|v| quote(v)).collect();
        let _ = write!(
            out,
            "{}\n  {{\"name\":{},\"about\":{},\"package\":{},\"versions\":[{}],\"framing\":{}}}",
            if i > 0 { "," } else { "" },
            quote(dialect.id.name()),
            quote(dialect.about),
            quote(args::package(dialect)),
            versions.join(","),
            quote(framing(dialect)),
        );
    }
    out.push_str("\n]\n");
    out
}

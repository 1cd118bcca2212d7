//! `selvedge artifacts`: listing, downloading and writing what agents made.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use selvedge_client::{Base, NewVersion, Version};
use serde_json::Value;

use crate::args;
use crate::error::Error;
use crate::input::Source;
use crate::lists::text;
use crate::output::{self, Output};
use crate::remote::{self, Remote};

/// List a thread's artifacts, or write one to a file
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  What there is, then the first version of one:
      selvedge artifacts t1
      selvedge artifacts t1 report.md --version 1 -o report.md
  A new version, on top of the one that was read:
      selvedge artifacts t1 report.md --put report.md --version 1")]
pub(crate) struct Args {
    /// The thread
    thread: String,
    /// The artifact; all are listed when left out
    id: Option<String>,
    /// Which version, or which one a new version is written on top of; the latest when left out
    #[arg(long, value_name = "NUMBER", requires = "id")]
    version: Option<u64>,
    /// Rows of a dataset as `csv` or `ndjson`
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "csv", "ndjson"], requires = "id")]
    format: Option<String>,
    /// Write to this file; it appears when it is complete
    #[arg(long, short, value_name = "FILE", requires = "id")]
    output: Option<PathBuf>,
    /// Make a new version from this file
    #[arg(long, value_name = "FILE", requires = "id", conflicts_with_all = ["output", "format"])]
    put: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// Lists, downloads or writes.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    match (&args.id, &args.put) {
        (None, _) => list(args)?,
        (Some(id), Some(file)) => put(args, id, file)?,
        (Some(id), None) => download(args, id)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &Args) -> Result<(), Error> {
    let thread = args.remote.client().on(&args.thread);
    let answer = remote::run(async { Ok(thread.artifacts().await?) })?;
    for artifact in answer["artifacts"].as_array().into_iter().flatten() {
        let (name, dim) = (args::NAME, args::DIM);
        let versions = artifact["versions"].as_array().map_or(0, Vec::len);
        let latest = artifact["versions"].as_array().and_then(|all| all.last());
        let state = match latest {
            Some(latest) if latest["complete"] == Value::Bool(false) => "being written",
            _ => "",
        };
        let size = latest.map_or(0, |latest| latest["size"].as_u64().unwrap_or(0));
        let plural = if versions == 1 { "" } else { "s" };
        let line = format!(
            "{name}{:<38}{name:#} {:<8} {dim}{versions} version{plural}, {size} bytes{dim:#} {} {state}",
            text(artifact, "id").unwrap_or_default(),
            text(artifact, "kind").unwrap_or_default(),
            text(artifact, "name").unwrap_or_default(),
        );
        anstream::println!("{}", line.trim_end());
    }
    Ok(())
}

fn download(args: &Args, id: &str) -> Result<(), Error> {
    let version = args.version.map_or(Version::Latest, Version::Number);
    let thread = args.remote.client().on(&args.thread);
    let mut output = Output::open(args.output.as_deref())?;
    remote::run(async {
        let mut answer = match &args.format {
            Some(format) => thread.rows(id, version, format).await?,
            None => thread.download(id, version).await?,
        };
        while let Some(piece) = answer.next().await? {
            output.write(&piece)?;
        }
        Ok(())
    })?;
    output.finish()
}

fn put(args: &Args, id: &str, file: &Path) -> Result<(), Error> {
    let content = Source::open(file)?.read_all()?;
    let base = args.version.map_or(Base::Anything, Base::Version);
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    let query = name.map(|name| ("name", name)).into_iter().collect();
    let new = NewVersion { content, base, query, ..NewVersion::default() };
    let thread = args.remote.client().on(&args.thread);
    let written = remote::run(async { Ok(thread.upload(id, new).await?) })?;
    output::print(&format!("version {} {}\n", written.version, written.appended.cursor))
}

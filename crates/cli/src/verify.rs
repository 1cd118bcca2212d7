//! `selvedge verify`: is everything there, in order, and the same however it is read?

mod archive;
mod store;
mod thread;

use std::collections::VecDeque;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use selvedge_client::Client;
use selvedge_store::Address;

use crate::args;
use crate::error::{self, Error};
use crate::output;
use crate::place::database;
use crate::remote::{self, Remote};

/// Check that journals are whole
///
/// Over HTTP: sequences are dense from 1, every event is JSON with its kind, pages, stream and
/// export say the same, and cursor and head agree. Prints each thread's digest, which is that of
/// `selvedge canon --digest`.
///
/// With --db: the file's pages, every row, and that lists, inbox, usage and search are what the
/// journal makes of them; where appends were chained by hashes, the first entry of a thread that is
/// not what it was. The server may be running; copies are made beside the file.
///
/// With --store: the same of a database, as it is at one moment; what nodes have not followed yet is
/// left out. It is copied into a folder for temporary files (TMPDIR), which needs room for it. A
/// password is better in PGPASSWORD than in the URL. With --shard, each database of the store, and
/// that every thread is where the first of them says.
///
/// With --archive: a copy of one journal by its hash chain.
///
/// The exit code is 1 if something is wrong.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Everything on a server:
      selvedge verify

  Two threads:
      selvedge verify t1 t2

  A file:
      selvedge verify --db selvedge.db

  A database:
      selvedge verify --store postgres://selvedge@db.example/journal

  A copy of a thread:
      selvedge verify --archive t1.journal")]
pub(crate) struct Args {
    /// The threads; all of them when left out
    threads: Vec<String>,
    /// Check this file instead of asking a server
    #[arg(long, value_name = "FILE", conflicts_with = "threads")]
    db: Option<PathBuf>,
    /// Check this database instead of asking a server: postgres://user@host/name
    #[arg(long, value_name = "URL", conflicts_with_all = ["threads", "db"],
          value_parser = database)]
    store: Option<Address>,
    /// And this one, where threads are in several; once for each, in the order they have
    #[arg(long = "shard", value_name = "URL", requires = "store", value_parser = database)]
    shards: Vec<Address>,
    /// Check this copy of a journal (see `selvedge export --archive`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["threads", "db", "store"])]
    archive: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// Verifies.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let wrong = match (&args.db, &args.store, &args.archive) {
        (Some(db), ..) => store::verify(&Address::from(db))?,
        (_, Some(first), _) => {
            let all: Vec<Address> = std::iter::once(first).chain(&args.shards).cloned().collect();
            store::verify_all(&all)?
        }
        (.., Some(copy)) => archive::verify(copy)?,
        (None, None, None) => remote::run(threads(&args.remote.client(), &args.threads))?,
    };
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { error::FOUND.into() })
}

/// Verifies threads one after the other; how many are wrong.
async fn threads(client: &Client, named: &[String]) -> Result<usize, Error> {
    let (good, bad, name, dim) = (args::GOOD, args::ERROR, args::NAME, args::DIM);
    let bar = bar("{spinner} {msg}");
    let next = named.is_empty().then(String::new);
    let mut list = Threads { next, ready: named.iter().cloned().collect() };
    let (mut count, mut wrong) = (0, 0);
    while let Some(thread) = list.next(client).await? {
        bar.set_message(format!("{count} threads done, at {}", output::tame(&thread)));
        let verdict = match thread::verify(client, &thread).await {
            // Deleted since it was listed.
            Err(Error::Client(selvedge_client::Error::Refused { status: 404, .. }))
                if named.is_empty() =>
            {
                continue;
            }
            verdict => verdict?,
        };
        count += 1;
        let mark = if verdict.findings.is_empty() {
            format!("{good}ok{good:#} ")
        } else {
            wrong += 1;
            format!("{bad}bad{bad:#}")
        };
        let hidden = match verdict.hidden {
            0 => String::new(),
            hidden => format!(", {hidden} hidden from this key"),
        };
        let line = format!(
            "{mark} {name}{}{name:#} {} events{hidden} {dim}{}{dim:#}\n",
            output::tame(&thread),
            verdict.events,
            verdict.digest
        );
        bar.suspend(|| output::print(&line))?;
        for finding in &verdict.findings {
            bar.suspend(|| output::print(&format!("    {}\n", output::tame(finding))))?;
        }
    }
    bar.finish_and_clear();
    output::print(&format!("{count} threads, {wrong} with something wrong\n"))?;
    Ok(wrong)
}

/// Which threads: those named, or a page after the other of all.
struct Threads {
    /// Where the next page begins; nowhere after the last.
    next: Option<String>,
    ready: VecDeque<String>,
}

impl Threads {
    async fn next(&mut self, client: &Client) -> Result<Option<String>, Error> {
        loop {
            if let Some(id) = self.ready.pop_front() {
                return Ok(Some(id));
            }
            let Some(after) = self.next.take() else { return Ok(None) };
            let mut query = vec![("limit", "500".to_owned())];
            if !after.is_empty() {
                query.push(("after", after));
            }
            let page = client.list("/api/threads", &query).await?;
            let ids = page["threads"].as_array().into_iter().flatten();
            let ids = ids.filter_map(|thread| thread["id"].as_str().map(str::to_owned));
            self.ready.extend(ids);
            self.next = page["next"].as_str().map(str::to_owned);
        }
    }
}

/// A bar on standard error, if someone watches.
fn bar(template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

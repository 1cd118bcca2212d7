//! `selvedge copy`: a store from one place to another, whichever database either is in.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::Instant;

use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use selvedge_store::{
    Address, Begin, Copied, Copy, CopyStage, Options, Outcome, Progress, Store, copy,
};

use crate::error::{self, Error};
use crate::{args, output, remote};

/// Copy a store, from a file to a PostgreSQL database or back
///
/// Everything comes along but lists, inbox, usage and search, which the copy makes anew: journals
/// with their branches and sources, idempotency keys, the hash chain, receipts, keys, shares,
/// leases, webhooks and sealed secrets. Cursors stay valid: whoever reads goes on after the move.
///
/// Stopped at any moment, the same command goes on where it was. The copy can be used when all of
/// it was read back and both sides have the same digest; until then no server opens it. A place
/// that holds something else is refused.
///
/// A source that is still served can be copied before the move: then stop its servers and run the
/// same command again, which copies what has changed since.
///
/// The exit code is 1 if the copy is not complete because the source is still served.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  To a database:
      selvedge copy --from selvedge.db --to postgres://selvedge@db.example/journal

  And back:
      selvedge copy --from postgres://selvedge@db.example/journal --to sqlite:selvedge.db

  With passwords out of sight of whoever lists processes:
      SELVEDGE_COPY_TO=postgres://user:password@db.example/journal selvedge copy --from selvedge.db")]
pub(crate) struct Args {
    /// The store to copy: a file, sqlite:FILE, or postgres://user@host/name
    #[arg(long, env = "SELVEDGE_COPY_FROM", hide_env_values = true, value_name = "STORE",
          value_parser = address)]
    from: Address,
    /// Where the copy goes: a file that is not there, or an empty database
    #[arg(long, env = "SELVEDGE_COPY_TO", hide_env_values = true, value_name = "STORE",
          value_parser = address)]
    to: Address,
    /// Drop a copy into the same place that was begun and is not complete
    #[arg(long)]
    anew: bool,
    /// Leave lists, inbox, usage and search to the first server that opens the copy
    #[arg(long)]
    journal_only: bool,
}

fn address(text: &str) -> Result<Address, String> {
    match Address::parse(text) {
        // What was meant as a URL may hold a password.
        Address::File(path) if path.to_string_lossy().contains("://") => {
            Err("it must be a file or begin with postgres://".to_owned())
        }
        address => Ok(address),
    }
}

/// Copies.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let began = Instant::now();
    let begin = if args.anew { Begin::Anew } else { Begin::Resume };
    let asked = Copy { from: args.from.clone(), to: args.to.clone(), begin };
    let bar = bar();
    let copied = copy(&asked, |stage, now| {
        bar.set_message(match stage {
            CopyStage::Journal => "copying  ",
            CopyStage::Compare => "comparing",
        });
        show(&bar, now);
    });
    bar.finish_and_clear();
    let copied = copied?;
    tell(args, &copied, began)?;
    if let Outcome::Behind { .. } = copied.outcome {
        return Ok(error::FOUND.into());
    }
    if !args.journal_only {
        lists(&args.to)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(args: &Args, copied: &Copied, began: Instant) -> Result<(), Error> {
    let (good, bad, dim) = (args::GOOD, args::ERROR, args::DIM);
    let seconds = began.elapsed().as_secs_f64().max(0.001);
    let rate = |count: u64| HumanCount((count as f64 / seconds) as u64);
    let Copied { threads, events, appends, written, digest, .. } = copied;
    let all = format!("{threads} threads, {events} events in {appends} appends");
    output::print(&match copied.outcome {
        Outcome::Complete => format!(
            "{good}ok{good:#}  {all}; both sides have the digest {}\n    {dim}{} written now, in \
             {seconds:.1} s with comparing: {} events and {} threads each second{dim:#}\n",
            digest.hex(),
            HumanCount(*written),
            rate(*written),
            rate(*threads),
        ),
        Outcome::Same => {
            format!("{good}ok{good:#}  {} holds it: {all}, digest {}\n", args.to, digest.hex())
        }
        Outcome::Behind { threads: changed } => format!(
            "{bad}not complete{bad:#}  {all} so far; {changed} threads have changed since\n\n  \
             {good}help:{good:#} a server has {} open: stop it, then run the same command again, \
             which copies what has changed\n",
            args.from
        ),
    })
}

/// Makes what is not copied.
fn lists(to: &Address) -> Result<(), Error> {
    let store = Store::open(to, Options::default())?;
    let bar = bar();
    bar.set_message("lists    ");
    remote::run(async { Ok(store.catch_up(|now| show(&bar, now)).await?) })?;
    bar.finish_and_clear();
    output::print("    lists, inbox, usage and search are made\n")
}

fn show(bar: &ProgressBar, now: Progress) {
    bar.set_length(now.total);
    bar.set_position(now.done);
}

/// A bar on standard error, if someone watches.
fn bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    let template =
        "{msg} {bar:40} {percent:>3} %  {human_pos} of {human_len}  {per_sec}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

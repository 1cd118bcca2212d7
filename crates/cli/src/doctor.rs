//! `selvedge doctor`: what stands between a client and a good stream, and what to do about it.

mod disk;
mod files;
mod server;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::args;
use crate::error::{self, Error};
use crate::output;
use crate::remote::{self, Remote};

/// Look for what slows a server down or holds its streams back
///
/// Asks the server through the URL that is used, proxies included: whether it answers, its version
/// and clock, and how long an append takes to come back on a stream, for which it makes a thread
/// and deletes it again (with a key, one that may write). Then the limit of open files, and with
/// --db how fast the disk syncs.
///
/// The exit code is 1 if something fails.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  The way through the proxy:
      selvedge doctor --url https://threads.example --key sk_…

  On the machine of the server:
      selvedge doctor --db /var/lib/selvedge/selvedge.db")]
pub(crate) struct Args {
    /// Measure the disk that holds this file
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// Looks at everything.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut report = Report::default();
    let client = args.remote.client();
    remote::run(server::look(&client, &mut report))?;
    report.say("open files", files::look())?;
    if let Some(db) = &args.db {
        report.say("disk", disk::look(db))?;
    }
    Ok(if report.failed { error::FOUND.into() } else { ExitCode::SUCCESS })
}

/// How something looks.
enum Health {
    Good(String),
    /// What is seen, and what to do about it.
    Doubtful(String, String),
    Bad(String, String),
}

impl Health {
    /// By two bounds, below which it is good or doubtful.
    fn within(measured: Duration, good: Duration, bad: Duration, seen: String, cure: &str) -> Self {
        match measured {
            _ if measured <= good => Self::Good(seen),
            _ if measured <= bad => Self::Doubtful(seen, cure.to_owned()),
            _ => Self::Bad(seen, cure.to_owned()),
        }
    }
}

#[derive(Default)]
struct Report {
    failed: bool,
}

impl Report {
    /// Prints a line: the verdict, what it is about, what is seen, and what to do.
    fn say(&mut self, what: &str, health: Health) -> Result<(), Error> {
        let (word, style, seen, cure) = match health {
            Health::Good(seen) => ("ok", args::GOOD, seen, None),
            Health::Doubtful(seen, cure) => ("warn", args::WARNING, seen, Some(cure)),
            Health::Bad(seen, cure) => {
                self.failed = true;
                ("fail", args::ERROR, seen, Some(cure))
            }
        };
        let name = args::NAME;
        let seen = output::tame(&seen);
        let mut text = format!("{style}{word:<4}{style:#} {name}{what:<12}{name:#} {seen}\n");
        if let Some(cure) = cure {
            text.push_str(&format!("{:18}{}\n", "", output::tame(&cure)));
        }
        output::print(&text)
    }
}

/// A time for people.
fn millis(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1000.0;
    if millis < 10.0 { format!("{millis:.2} ms") } else { format!("{millis:.0} ms") }
}

/// The middle of some times, and the one that a hundredth is slower than.
fn middle_and_slow(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    let at = |share: usize| {
        let place = (times.len() * share / 100).min(times.len().saturating_sub(1));
        times.get(place).copied().unwrap_or_default()
    };
    (at(50), at(99))
}

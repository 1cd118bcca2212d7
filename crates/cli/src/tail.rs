//! `selvedge tail`: what happens in threads, as it happens.

pub(crate) mod line;
mod talk;

use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use selvedge_client::{Follow, Tail, Until};
use serde_json::Value;
use tokio::sync::mpsc;

use self::talk::Talk;
use crate::args::{self, Named};
use crate::error::Error;
use crate::output;
use crate::remote::{self, Remote};

/// Follow threads as they happen
///
/// Prints what is there and then what comes, until stopped. Lost connections are made again, and
/// nothing is missed or repeated; where the journal is another than before, that is said.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Two conversations, without their thoughts:
      selvedge tail t1 t2 --thoughts off

  Every event a line:
      selvedge tail t1 --format events

  Only what comes from now on, as an AI SDK stream:
      selvedge tail t1 --after tail --as ai-sdk-stream

  What is there, one event a line, for other tools:
      selvedge tail t1 --no-follow --format json | jq .kind")]
pub(crate) struct Args {
    /// The threads
    #[arg(required = true)]
    threads: Vec<String>,
    /// Show them in this dialect, as it is on the wire
    #[arg(long = "as", value_name = "DIALECT", value_parser = args::dialect(), hide_possible_values = true)]
    dialect: Option<Named>,
    /// Begin after this cursor, of one thread; `tail` begins with what comes next
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
    /// Only these kinds, such as content-*,task-complete
    #[arg(long, value_name = "KINDS")]
    kinds: Option<String>,
    /// Only events of these tasks and their subtasks
    #[arg(long, value_name = "TASKS")]
    tasks: Option<String>,
    /// Only events of these participants
    #[arg(long, value_name = "IDS")]
    participants: Option<String>,
    /// How wordy the thoughts may be
    #[arg(long, value_name = "VERBOSITY", value_parser = ["off", "brief", "normal", "detailed"])]
    thoughts: Option<String>,
    /// Only thoughts of these types, such as planning,decision
    #[arg(long, value_name = "TYPES")]
    thought_types: Option<String>,
    /// Only thoughts at least so sure, from 0 to 1
    #[arg(long, value_name = "SHARE")]
    min_confidence: Option<String>,
    /// Stop at the end instead of waiting for more
    #[arg(long)]
    no_follow: bool,
    /// A conversation, a line for each event, or the data as it came; events where `--kinds` says
    /// which
    #[arg(long, value_name = "FORMAT", value_parser = ["talk", "events", "json"])]
    format: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

/// Follows.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let mut query = Vec::new();
    let dialect = args.dialect.map(|dialect| dialect.0.id.name().to_owned());
    for (name, value) in [
        ("dialect", &dialect),
        ("kinds", &args.kinds),
        ("tasks", &args.tasks),
        ("participants", &args.participants),
        ("thoughts", &args.thoughts),
        ("thoughtTypes", &args.thought_types),
        ("minConfidence", &args.min_confidence),
    ] {
        if let Some(value) = value {
            query.push((name.to_owned(), value.clone()));
        }
    }
    let cursors = args.after.as_ref().filter(|after| after.contains('.'));
    if let (Some(after), true) = (cursors, args.threads.len() > 1) {
        return Err(Error::OneThread { cursor: after.clone() });
    }
    let until = if args.no_follow { Until::CaughtUp } else { Until::Forever };
    let follow = Follow { after: args.after.clone(), query, until };
    let format = args.format.as_deref();
    let raw = dialect.is_some() || format == Some("json");
    let talks = format.map_or(args.kinds.is_none(), |format| format == "talk");
    let mut talk = talks.then(Talk::default);
    let width = match args.threads.len() {
        1 => 0,
        _ => args.threads.iter().map(String::len).max().unwrap_or(0),
    };
    remote::run(async {
        let client = args.remote.client();
        let (sender, mut frames) = mpsc::channel(64);
        let set = tokio::task::LocalSet::new();
        for thread in &args.threads {
            let tail = client.follow(thread, follow.clone());
            set.spawn_local(pass_on(thread.clone(), tail, sender.clone()));
        }
        drop(sender);
        set.run_until(async {
            while let Some((thread, news)) = frames.recv().await {
                let frame = news?;
                if frame.event == "gap" {
                    gap(&thread, &frame.data);
                } else if frame.event == "gone" && frame.id.is_none() {
                    let style = args::WARNING;
                    anstream::eprintln!("{style}gone{style:#}: {thread} was deleted");
                } else if frame.event == "folded" && frame.id.is_none() {
                    // What comes next stands for several; only who had some of them has to know.
                    if frame.data.contains("\"requested\"") {
                        let style = args::WARNING;
                        anstream::eprintln!("{style}folded{style:#} in {thread}: {}", frame.data);
                    }
                } else if raw && frame.event != "caught-up" {
                    output::print(&format!("{}\n", frame.data))?;
                } else if !raw && frame.event != "caught-up" {
                    let name = if width > 0 { format!("{thread:width$} ") } else { String::new() };
                    let style = colour(&thread);
                    let name = format!("{style}{name}{style:#}");
                    let told = match &mut talk {
                        Some(talk) => talk.tell(&thread, &name, &frame.data),
                        None => line::line(&frame.data)
                            .map_or(String::new(), |line| format!("{name}{line}\n")),
                    };
                    output::print(&told)?;
                }
            }
            if let Some(talk) = &mut talk {
                output::print(&talk.pause())?;
            }
            Ok(())
        })
        .await
    })?;
    Ok(ExitCode::SUCCESS)
}

type News = (String, Result<selvedge_client::Frame, selvedge_client::Error>);

async fn pass_on(thread: String, mut tail: Tail, sender: mpsc::Sender<News>) {
    loop {
        let before = tail.reconnects();
        let next = tail.next().await;
        if tail.reconnects() > before {
            let dim = args::DIM;
            anstream::eprintln!("{dim}connected to {thread} again{dim:#}");
        }
        let news = match next {
            Ok(Some(frame)) => Ok(frame),
            Ok(None) => return,
            Err(error) => Err(error),
        };
        let failed = news.is_err();
        if sender.send((thread.clone(), news)).await.is_err() || failed {
            return;
        }
    }
}

/// Says that the journal is not the one that was asked for.
fn gap(thread: &str, data: &str) {
    let told: Value = serde_json::from_str(data).unwrap_or_default();
    let text = |name: &str| told[name].as_str().unwrap_or("?").to_owned();
    let (asked, head, style) = (text("requested"), text("head"), args::WARNING);
    anstream::eprintln!(
        "{style}gap{style:#} in {thread}: there is no {asked} (any more), the end is {head}; \
         all of it follows"
    );
}

/// A colour of its own for everyone who speaks.
fn colour(name: &str) -> Style {
    const COLOURS: [AnsiColor; 6] = [
        AnsiColor::Cyan,
        AnsiColor::Green,
        AnsiColor::Magenta,
        AnsiColor::Blue,
        AnsiColor::Yellow,
        AnsiColor::Red,
    ];
    let sum = name.bytes().fold(7u32, |sum, b| sum.wrapping_mul(31).wrapping_add(u32::from(b)));
    let at = (sum >> 3) as usize % COLOURS.len();
    COLOURS.get(at).map_or(Style::new(), |colour| colour.on_default())
}

//! `selvedge replay`: how envelopes went from agent to agent, and where they would go now.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use selvedge_agents::config::Config;
use selvedge_agents::router::{Decision, Hop, Outcome, Rules};
use selvedge_protocol::dialect::{DecodeOptions, Decoding, journal};
use selvedge_protocol::journal::{Batch, Event, Kind};
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::{Options, Store, ThreadKey};

use crate::args;
use crate::config::{load, render};
use crate::error::{self, Error};
use crate::input::{Sink, Source};
use crate::output::{self, one_line};
use crate::remote::{self, Remote};

/// The most of a name and of a reason that is shown.
const NAME: usize = 24;
const REASON: usize = 120;
/// Bytes read at once.
const PAGE: usize = 1 << 20;

/// Show how envelopes went from agent to agent
///
/// Every hop of a thread with who took it and why, from its journal alone. With --run each is
/// decided again, by the rules of a configuration or else by the document's, and nothing is sent.
/// The exit code is 1 if one would be decided otherwise.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  A thread on a server:
      selvedge replay t1

  What would other rules have done?
      selvedge replay t1 --run --config selvedge.toml

  From a file, without a server:
      selvedge replay --file t1.ndjson --run")]
pub(crate) struct Args {
    /// The thread
    #[arg(required_unless_present = "file")]
    thread: Option<String>,
    /// Read the thread from a store's file instead; no server may have it open
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    db: Option<PathBuf>,
    /// Read the thread from a file in any dialect instead
    #[arg(long, value_name = "FILE", conflicts_with = "thread")]
    file: Option<PathBuf>,
    /// Decide every hop again
    #[arg(long)]
    run: bool,
    /// By the rules of this configuration
    #[arg(long, value_name = "FILE", requires = "run")]
    config: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

/// Shows, and decides again if asked to.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Error> {
    let rules = match (args.run, &args.config) {
        (false, _) => None,
        (true, None) => Some(Given { rules: Rules::default(), config: None }),
        (true, Some(file)) => match load(file)? {
            Ok(config) => Some(Given { rules: config.router.clone(), config: Some(config) }),
            Err(found) => {
                anstream::eprint!("{}", render(file, &found));
                return Err(Error::Configuration { name: file.display().to_string() });
            }
        },
    };
    let mut told = Told::default();
    let thread = args.thread.as_deref().unwrap_or_default();
    match (&args.file, &args.db) {
        (Some(file), _) => {
            let mut source = Source::open(file)?;
            let dialect = source.dialect(None, "--from")?;
            source.decode(dialect, &DecodeOptions::default(), &mut told)?;
        }
        (None, Some(db)) => from_store(db, thread, &mut told)?,
        (None, None) => from_server(args, thread, &mut told)?,
    }
    let (text, differs) = told.text(rules.as_ref());
    output::print(&text)?;
    Ok(if differs == 0 { ExitCode::SUCCESS } else { error::FOUND.into() })
}

fn from_server(args: &Args, thread: &str, told: &mut Told) -> Result<(), Error> {
    let client = args.remote.client();
    let query = [("dialect", journal::DIALECT.id.name().to_owned())];
    remote::run(async {
        let mut answer = client.export(thread, &query).await?;
        let mut decoding = Decoding::new(&journal::DIALECT, &DecodeOptions::default());
        let bad = |cause| Error::NotJson { name: "the export".to_owned(), cause };
        while let Some(piece) = answer.next().await? {
            decoding.push(&piece, |batch| told.batch(&batch)).map_err(bad)?;
        }
        decoding.finish(|batch| told.batch(&batch)).map_err(bad)
    })
}

fn from_store(db: &Path, thread: &str, told: &mut Told) -> Result<(), Error> {
    let name = db.display().to_string();
    let read =
        |cause: String| Error::Read { name: name.clone(), cause: std::io::Error::other(cause) };
    if !db.is_file() {
        return Err(Error::Read { name, cause: std::io::ErrorKind::NotFound.into() });
    }
    let store = Store::open(db, Options::default())?;
    let found = store.thread(&ThreadKey::new("", thread)).map_err(|e| read(e.to_string()))?;
    let found = found.ok_or_else(|| read(format!("there is no thread `{thread}`")))?;
    let mut seen = 0;
    loop {
        let page = store.read(&found, seen, usize::MAX, PAGE).map_err(|e| read(e.to_string()))?;
        let Some(last) = page.entries.last() else { return Ok(()) };
        seen = last.seq;
        for entry in &page.entries {
            if let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or(""))
                && let Some(event) = Event::parse(doc.root())
            {
                told.event(&event);
            }
        }
    }
}

/// Rules to decide by, and who thinks with what.
struct Given {
    rules: Rules,
    config: Option<Config>,
}

/// What a thread tells of its routing.
#[derive(Default)]
struct Told {
    hops: Vec<Hop>,
    /// Who wrote each envelope.
    authors: HashMap<String, String>,
    /// With which model each agent was last seen to think.
    models: HashMap<String, String>,
}

impl Sink for Told {
    fn batch(&mut self, batch: &Batch<'_>) {
        batch.events.iter().for_each(|event| self.event(event));
    }
}

impl Told {
    fn event(&mut self, event: &Event<'_>) {
        let text = |name: &str| event.str(name).map(|text| text.into_owned());
        match event.kind() {
            Kind::RouteDecided => self.hops.extend(Hop::of(event)),
            Kind::Message => {
                let who = text("agentId").or_else(|| text("author")).or_else(|| text("role"));
                if let (Some(id), Some(who)) = (text("messageId"), who) {
                    self.authors.insert(id, who);
                }
            }
            Kind::StepStarted | Kind::StepFinished => {
                if let (Some(agent), Some(model)) = (text("agentId"), text("model")) {
                    self.models.insert(agent, model);
                }
            }
            _ => {}
        }
    }

    /// A line for each hop, and how many would be decided otherwise.
    fn text(&self, given: Option<&Given>) -> (String, usize) {
        let (mut out, mut differs) = (String::new(), 0);
        let (dim, name, good, bad) = (args::DIM, args::NAME, args::GOOD, args::ERROR);
        for hop in &self.hops {
            let who = self.authors.get(&hop.message).map_or("?", String::as_str);
            let score = hop.score.map_or(String::new(), |score| format!(" {score}"));
            let what = format!("{}{score}", hop.arrived);
            let (to, intent) = (hop.to.as_deref().unwrap_or("nobody"), hop.intent.as_deref());
            let indent = "  ".repeat(usize::try_from(hop.hop).unwrap_or(0).min(20));
            let reason = match &hop.task {
                Some(task) => format!("{task} ({})", hop.reason),
                None => hop.reason.clone(),
            };
            let _ = writeln!(
                out,
                "{dim}{:>2}{dim:#} {indent}{name}{}{name:#} {} {} → {name}{}{name:#} {} {dim}{}{dim:#}",
                hop.hop,
                one_line(who, NAME),
                hop.stage.name(),
                one_line(&what, NAME),
                one_line(to, NAME),
                one_line(intent.unwrap_or(""), NAME),
                one_line(&reason, REASON),
            );
            let Some(given) = given else { continue };
            let again = hop.again(&given.rules, |agent| self.model(given, agent));
            let verdict = match &again {
                Outcome::Same => format!("{good}the same{good:#}"),
                Outcome::NotOurs => format!("{dim}claimed by hand{dim:#}"),
                Outcome::Differs(decision) => {
                    differs += 1;
                    format!("{bad}differs{bad:#}: {}", one_line(&otherwise(decision), REASON))
                }
            };
            let _ = writeln!(out, "   {indent}{verdict}");
        }
        let count = self.hops.len();
        match given {
            Some(_) => {
                let _ = writeln!(out, "{count} hops, {differs} of them otherwise");
            }
            None => {
                let _ = writeln!(out, "{count} hops");
            }
        }
        (out, differs)
    }

    fn model<'a>(&'a self, given: &'a Given, agent: &str) -> Option<&'a str> {
        let own = given.config.as_ref().and_then(|config| config.mind(agent));
        own.or_else(|| self.models.get(agent).map(String::as_str))
    }
}

fn otherwise(decision: &Decision) -> String {
    match decision {
        Decision::To { agent, intent, reason, .. } => format!("{intent} → {agent} ({reason})"),
        Decision::Done { reason } | Decision::Open { reason } => format!("→ nobody ({reason})"),
        Decision::Refused { code, reason } => format!("→ nobody, {code} ({reason})"),
    }
}

//! `cargo xtask bench agents`: turns of an agent whose model says what is written down, through the
//! real server with every event on disk, beside pydantic-ai's loop that keeps nothing.
//!
//! A turn thinks, calls one tool, and answers. Ours and the peer's runs take turns, so that a
//! machine that slows down slows down both. Events a second of CPU time are compared: the peer has
//! one core, and ours is not to win by having two.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::machine;
use super::sample::{folder, json};
use super::serve::{Server, build};
use crate::install::Venv;
use crate::process::step;
use crate::workspace;

/// Words of a turn's thought and of its answer.
const THOUGHTS: usize = 100;
const WORDS: usize = 1000;
/// How often both are measured, and turns of one measurement.
const ROUNDS: usize = 5;
const TURNS: &str = "20";
/// How many times the events of the peer, for the same CPU time.
const TARGET: f64 = 20.0;
/// Rounds of a thousand turns at once, and how much more memory the last may take than the second.
const CROWDS: usize = 4;
const GROWTH: f64 = 1.10;

/// Measures everything, prints a table and writes `agents.json`.
pub(crate) fn run() -> Result<ExitCode> {
    let program = build()?;
    Venv::PydanticAi2.install().context("could not install the peer")?;
    let folder = folder()?.join("agents");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let config = folder.join("selvedge.toml");
    fs::write(&config, configuration())?;
    let config = config.to_str().context("a path that is no text")?;

    let server = Server::start(&program, &folder.join("turns.db"), &["--config", config])?;
    let (mut ours, mut peer) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        step(&format!("{TURNS} turns, one after another: round {round} of {ROUNDS}"));
        let row = server.measure(&program, &["turns", "--agent", "long", "--turns", TURNS])?;
        ours.push((rate(&row, "written", "server_cpu_s"), rate(&row, "written", "seconds")));
        let row = peer_turns()?;
        peer.push((rate(&row, "events", "cpu_s"), rate(&row, "events", "seconds")));
    }
    drop(server);
    let server = Server::start(&program, &folder.join("crowd.db"), &["--config", config])?;
    let mut crowds = Vec::new();
    for round in 1..=CROWDS {
        step(&format!("1,000 turns at once: round {round} of {CROWDS}"));
        let load = ["turns", "--agent", "short", "--turns", "1000", "--at-once", "1000"];
        crowds.push(server.measure(&program, &load)?);
    }

    let by_cpu = median(&ours, |one| one.0) / median(&peer, |one| one.0);
    let by_time = median(&ours, |one| one.1) / median(&peer, |one| one.1);
    let memory = |at: usize| crowds.get(at).and_then(|row| row["server_memory_mb"].as_f64());
    let growth = memory(CROWDS - 1).zip(memory(1)).map_or(f64::NAN, |(last, second)| last / second);
    println!("events of one agent, a second of CPU time");
    println!(
        "  selvedge     {:>10.0}   a second: {:.0}",
        median(&ours, |o| o.0),
        median(&ours, |o| o.1)
    );
    println!(
        "  pydantic-ai  {:>10.0}   a second: {:.0}",
        median(&peer, |o| o.0),
        median(&peer, |o| o.1)
    );
    println!("  ratio        {by_cpu:>10.1}   wanted {TARGET}; a second: {by_time:.1}");
    println!("1,000 turns at once");
    for row in &crowds {
        let figure = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        println!(
            "  {:>8.0} events/s, p50 {:.0} ms, p99 {:.0} ms, at most {:.0} MB",
            figure("events"),
            figure("p50"),
            figure("p99"),
            figure("server_memory_mb")
        );
    }
    println!("  memory of the last to the second: {growth:.2}, wanted {GROWTH:.2} at most");
    println!("{}", machine::describe());
    let path = folder.with_file_name("agents.json");
    let report = json!({ "machine": machine::describe(), "ours": ours, "peer": peer,
        "ratio": by_cpu, "crowds": crowds });
    fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    step(&format!("written to {}", path.display()));
    let met = by_cpu >= TARGET && growth <= GROWTH;
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Agents that say much, and little.
fn configuration() -> String {
    let words =
        |word: &str, count: usize| (0..count).map(|i| format!("{word}{i} ")).collect::<String>();
    let agent = |name: &str, thoughts: usize, said: usize| {
        let (think, say) = (words("thought", thoughts), words("word", said));
        format!(
            "[agents.{name}]\nkind = \"script\"\ntools = [\"artifacts/list\"]\n\
             [[agents.{name}.script.rules]]\nlines = [\n\
             {{ think = \"{think}\", calls = [{{ tool = \"artifact_list\", arguments = {{}} }}] }},\n\
             {{ say = \"{say}\" }},\n]\n"
        )
    };
    agent("long", THOUGHTS, WORDS) + &agent("short", THOUGHTS / 10, WORDS / 10)
}

fn peer_turns() -> Result<Value> {
    let script = workspace::root()?.join("conformance/python/bench_pydantic_loop.py");
    let mut command = Venv::PydanticAi2.python()?;
    command.arg(script).arg("5").arg(THOUGHTS.to_string()).arg(WORDS.to_string());
    json(&mut command)
}

fn rate(row: &Value, what: &str, per: &str) -> f64 {
    let figure = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
    figure(what) / figure(per)
}

fn median(rows: &[(f64, f64)], of: impl Fn(&(f64, f64)) -> f64) -> f64 {
    let mut all: Vec<f64> = rows.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

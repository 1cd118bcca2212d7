//! `cargo xtask bench surfaces`: A2A and the Agent API through our surfaces, with every event on
//! disk, beside the servers that their authors offer, which keep nothing.
//!
//! The same load asks them all, and they take turns, so that a machine that slows down slows down
//! all of them. A message is answered in one piece, or in a hundred or a thousand. And how much
//! later than on the native stream an event is there on each protocol's.

mod latency;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::machine;
use super::sample::folder;
use super::serve::{Server, Target, build};
use crate::install::Venv;
use crate::peer::Peer;
use crate::process::{cargo, step};
use crate::workspace;

const ROUNDS: usize = 3;
/// Requests at the same time.
const AT_ONCE: &str = "8";
/// Times the events of the Python peers, of the Rust peer, and how much more a piece may cost where
/// there are ten times as many.
const PYTHON: f64 = 30.0;
const RUST: f64 = 1.0;
const GROWTH: f64 = 1.25;

/// Who is asked, how, and how often.
struct Case {
    name: &'static str,
    path: &'static str,
    body: Value,
    headers: &'static [&'static str],
    /// Requests of one round.
    count: &'static str,
}

const A2A: &[&str] = &["a2a-version: 1.0", "accept: text/event-stream"];
const EVENTS: &[&str] = &["accept: text/event-stream"];

fn a2a(
    name: &'static str,
    path: &'static str,
    method: &str,
    said: &str,
    count: &'static str,
) -> Case {
    let message = json!({ "messageId": "m-{n}", "role": "ROLE_USER", "parts": [{ "text": said }] });
    let body =
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": { "message": message } });
    Case { name, path, body, headers: A2A, count }
}

fn agent_api(name: &'static str, said: &str, count: &'static str) -> Case {
    let content = json!([{ "type": "text", "text": said }]);
    let body = json!({ "input": [{ "role": "user", "type": "message", "content": content }],
        "session_id": "s-{n}", "stream": true });
    Case { name, path: "/process", body, headers: EVENTS, count }
}

/// Measures everything, prints a table and writes `surfaces.json`.
pub(crate) fn run() -> Result<ExitCode> {
    let program = build()?;
    let rust = rust_peer()?;
    for venv in [Venv::RemoteA2aV1, Venv::RemoteAgentApi] {
        venv.install().context("could not install the peers")?;
    }
    let folder = folder()?.join("surfaces");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let config = folder.join("selvedge.toml");
    fs::write(&config, configuration())?;
    let config = config.to_str().context("a path that is no text")?;
    let ours = Server::start(&program, &folder.join("s.db"), &["--config", config])?;
    let python = python("remote_a2a_v1_0", Venv::RemoteA2aV1)?;
    let rust = Peer::start(&mut Command::new(rust), "a2a_server")?;
    let scope = self::python("remote_agent_api", Venv::RemoteAgentApi)?;

    let stream = "SendStreamingMessage";
    let rows = [
        (ours.target(), a2a("ours a2a send", "/a2a", "SendMessage", "hello", "2000")),
        (of(&python), a2a("a2a-sdk send", "/rpc", "SendMessage", "count 1", "200")),
        (of(&rust), a2a("a2a-server-lf send", "/", "SendMessage", "count 1", "2000")),
        (ours.target(), a2a("ours a2a 100", "/a2a", stream, "count 100", "400")),
        (of(&python), a2a("a2a-sdk 100", "/rpc", stream, "count 100", "20")),
        (of(&rust), a2a("a2a-server-lf 100", "/", stream, "count 100", "400")),
        (ours.target(), a2a("ours a2a 1000", "/a2a", stream, "count 1000", "80")),
        (of(&rust), a2a("a2a-server-lf 1000", "/", stream, "count 1000", "80")),
        (ours.target(), agent_api("ours agent-api 100", "count 100", "400")),
        (of(&scope), agent_api("agentscope 100", "count 100", "10")),
    ];
    let mut found: Vec<(&str, Vec<Value>)> =
        rows.iter().map(|(_, c)| (c.name, Vec::new())).collect();
    for round in 1..=ROUNDS {
        step(&format!("round {round} of {ROUNDS}"));
        for ((target, case), (_, results)) in rows.iter().zip(&mut found) {
            let result = measure(&program, &folder, target, case);
            results.push(result.with_context(|| format!("{} failed", case.name))?);
        }
    }
    let delays = latency::measure(&program, &ours.target())?;
    report(&found, &delays, &folder)
}

fn measure(program: &Path, folder: &Path, target: &Target, case: &Case) -> Result<Value> {
    let body = folder.join("body.json");
    fs::write(&body, case.body.to_string())?;
    let body = body.to_str().context("a path that is no text")?;
    let mut load = vec!["requests", "--path", case.path, "--body", body, "--count", case.count];
    load.extend(["--at-once", AT_ONCE]);
    for header in case.headers {
        load.extend(["--header", header]);
    }
    target.measure(program, &load)
}

/// Prints what was found; fails where a target is not met.
fn report(
    found: &[(&str, Vec<Value>)],
    delays: &latency::Found,
    folder: &Path,
) -> Result<ExitCode> {
    println!(
        "{:<22} {:>10} {:>12} {:>12} {:>9}",
        "", "requests/s", "events/s", "CPU µs/event", "p99 ms"
    );
    for (name, rows) in found {
        println!(
            "{name:<22} {:>10.0} {:>12.0} {:>12.1} {:>9.1}",
            median(rows, |row| figure(row, "requests")),
            median(rows, |row| figure(row, "events")),
            cost(rows),
            median(rows, |row| figure(row, "p99"))
        );
    }
    let rows = |name: &str| found.iter().find(|(own, _)| *own == name).map_or(&[][..], |f| &f.1);
    let rate = |name: &str, of: &str| median(rows(name), |row| figure(row, of));
    let growth =
        |name: &str| cost(rows(&format!("{name} 1000"))) / cost(rows(&format!("{name} 100")));
    let targets = [
        (
            "a2a send, a2a-sdk",
            rate("ours a2a send", "requests") / rate("a2a-sdk send", "requests"),
            PYTHON,
        ),
        (
            "a2a 100, a2a-sdk",
            rate("ours a2a 100", "events") / rate("a2a-sdk 100", "events"),
            PYTHON,
        ),
        (
            "a2a send, a2a-server-lf",
            rate("ours a2a send", "requests") / rate("a2a-server-lf send", "requests"),
            RUST,
        ),
        (
            "a2a 100, a2a-server-lf",
            rate("ours a2a 100", "events") / rate("a2a-server-lf 100", "events"),
            RUST,
        ),
        (
            "agent api, agentscope",
            rate("ours agent-api 100", "events") / rate("agentscope 100", "events"),
            PYTHON,
        ),
    ];
    let mut met = true;
    for (name, ratio, wanted) in targets {
        println!("{name:<28} {ratio:>8.1}x, wanted {wanted}");
        met &= ratio >= wanted;
    }
    let (ours, rust) = (growth("ours a2a"), growth("a2a-server-lf"));
    println!(
        "CPU of a piece, of 1,000 to of 100: {ours:.2}, wanted {GROWTH} at most; a2a-server-lf {rust:.2}"
    );
    met &= ours <= GROWTH;
    met &= latency::report(delays);
    println!("{}", machine::describe());
    let report: Vec<Value> = found
        .iter()
        .chain(delays)
        .map(|(name, rows)| json!({ "name": name, "rows": rows }))
        .collect();
    let path = folder.with_file_name("surfaces.json");
    let report = json!({ "machine": machine::describe(), "found": report });
    fs::write(&path, serde_json::to_string_pretty(&report)?)?;
    step(&format!("written to {}", path.display()));
    Ok(if met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn figure(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or(f64::NAN)
}

/// Microseconds of the server's CPU for an event.
fn cost(rows: &[Value]) -> f64 {
    median(rows, |row| 1e6 * figure(row, "server_cpu_s") / figure(row, "received"))
}

fn median(rows: &[Value], of: impl Fn(&Value) -> f64) -> f64 {
    let mut all: Vec<f64> = rows.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// An agent that answers in as many pieces as it is asked for.
fn configuration() -> String {
    let words = |count: usize| (0..count).map(|i| format!("word{i} ")).collect::<String>();
    let rule = |when: &str, said: &str| {
        format!(
            "[[agents.counter.script.rules]]\nwhen = \"{when}\"\nlines = [{{ say = \"{said}\" }}]\n"
        )
    };
    let rules =
        [rule("count 1000", &words(1000)), rule("count 100", &words(100)), rule("", "word")];
    format!("[agents.counter]\nkind = \"script\"\n{}", rules.concat())
}

fn python(name: &str, venv: Venv) -> Result<Peer> {
    let mut program = venv.python()?;
    program.current_dir(workspace::root()?.join("conformance/python")).arg(format!("{name}.py"));
    Peer::start(&mut program, name).with_context(|| format!("could not start {name}"))
}

fn of(peer: &Peer) -> Target {
    let address = peer.url.trim_start_matches("http://").to_owned();
    Target { address, process: peer.id() }
}

/// Builds the Rust peer; gives its path.
fn rust_peer() -> Result<std::path::PathBuf> {
    let source = workspace::root()?.join("conformance/rust/a2a_server");
    let target = workspace::target()?.join("peers");
    let built = cargo()
        .current_dir(&source)
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--release", "--locked"])
        .status()?;
    ensure!(built.success(), "the peer does not build");
    Ok(target.join("release/bench-a2a-server"))
}

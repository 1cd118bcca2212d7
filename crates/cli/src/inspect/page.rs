//! A thread's state as a page of text.

use std::fmt::Write as _;

use anstyle::Style;
use selvedge_protocol::dialect::Dialect;
use selvedge_protocol::journal::Event;
use selvedge_protocol::journal::fold::{ArtifactKind, Oddity, State, Task, TaskState};
use selvedge_protocol::journal::transcript::ActionKind;
use selvedge_protocol::time;

use super::tools::tools;
use crate::args::{DIM, ERROR, GOOD, HEADING, NAME, WARNING};
use crate::output::tame;

/// So many lines of a section are shown; the rest is counted.
const SHOWN: usize = 40;
/// So many characters of a text are shown.
const WIDE: usize = 60;
/// Tasks nested deeper are not shown.
const DEEP: usize = 32;

/// A cell of a table and its style.
type Cell = (String, Style);

/// The page.
pub(super) fn render(dialect: &Dialect, state: &State) -> String {
    let mut out = String::new();
    head(dialect, state, &mut out);
    section("Participants", participants(state), &mut out);
    section("Tasks", tasks(state), &mut out);
    section("Tools", tool_rows(state), &mut out);
    section("Tokens", tokens(state), &mut out);
    section("Artifacts", artifacts(state), &mut out);
    section("Waiting for", waiting(state), &mut out);
    section("Odd", oddities(state), &mut out);
    out
}

fn head(dialect: &Dialect, state: &State, out: &mut String) {
    let id = state.thread_id().unwrap_or_else(|| "without an id".to_owned());
    let title = state.thread.as_ref().and_then(|thread| thread.str("title"));
    let title = title.map(|title| format!("  {}", brief(&title))).unwrap_or_default();
    let _ = writeln!(out, "{HEADING}Thread{HEADING:#} {NAME}{}{NAME:#}{title}", brief(&id));
    let _ = write!(out, "  {}, {}", dialect.id.name(), counted(state.events, "event"));
    if let Some((first, last)) = &state.span {
        let _ = write!(out, ", {} to {}", brief(first), brief(last));
        let _ = match between(Some(first), Some(last)) {
            Some(time) => write!(out, " ({time})"),
            None => Ok(()),
        };
    }
    out.push('\n');
    let of = |kind| {
        let actions = state.transcript.actions().iter();
        actions.filter(|action| action.kind == kind && !action.superseded).count() as u64
    };
    let messages = [
        counted(of(ActionKind::UserMessage), "user message"),
        counted(of(ActionKind::AssistantMessage), "agent message"),
        counted(of(ActionKind::Thinking), "thought"),
        counted(of(ActionKind::ToolCall), "tool call"),
    ];
    let _ = writeln!(out, "  {}", messages.join(", "));
}

fn participants(state: &State) -> Vec<Vec<Cell>> {
    let row = |who: &selvedge_protocol::journal::fold::Participant| {
        let said = |name| who.joined.as_ref().and_then(|joined| text(joined, name));
        let left = if who.left { "left" } else { "" };
        vec![
            (brief(&who.id), NAME),
            plain(said("role").unwrap_or_default()),
            plain(said("name").unwrap_or_default()),
            (said("model").unwrap_or_default(), DIM),
            (left.to_owned(), DIM),
        ]
    };
    state.participants.iter().map(row).collect()
}

fn tasks(state: &State) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for task in state.tasks.roots() {
        task_rows(state, task, 0, &mut rows);
    }
    rows
}

fn task_rows(state: &State, task: &Task, depth: usize, rows: &mut Vec<Vec<Cell>>) {
    let branch = if depth == 0 { String::new() } else { format!("{}└ ", "  ".repeat(depth - 1)) };
    let style = match task.state {
        TaskState::Completed => GOOD,
        TaskState::Failed => ERROR,
        state if state.is_terminal() => DIM,
        _ => WARNING,
    };
    rows.push(vec![
        (format!("{branch}{}", brief(&task.id)), NAME),
        (task.state.name().to_owned(), style),
        plain(task.agent.as_deref().map(brief).unwrap_or_default()),
        plain(between(task.began.as_ref(), task.ended.as_ref()).unwrap_or_default()),
        (task.message.as_deref().map(brief).unwrap_or_default(), DIM),
    ]);
    for child in task.children.iter().filter_map(|id| state.tasks.get(id)) {
        if depth < DEEP {
            task_rows(state, child, depth + 1, rows);
        }
    }
}

fn tool_rows(state: &State) -> Vec<Vec<Cell>> {
    let some = |count: usize, what: &str| match count {
        0 => String::new(),
        _ => format!("{count} {what}"),
    };
    let row = |tool: super::tools::Tool| {
        vec![
            (brief(&tool.name), NAME),
            plain(counted(tool.calls as u64, "call")),
            (some(tool.failed, "failed"), ERROR),
            (some(tool.open, "without a return"), WARNING),
            plain(tool.millis.map(duration).unwrap_or_default()),
        ]
    };
    tools(&state.transcript).into_iter().map(row).collect()
}

fn tokens(state: &State) -> Vec<Vec<Cell>> {
    let some = |count: u64, what: &str| match count {
        0 => String::new(),
        _ => format!("{count} {what}"),
    };
    let row = |((agent, model), tokens): (
        &(String, String),
        &selvedge_protocol::journal::fold::Tokens,
    )| {
        let cost = if tokens.cost > 0.0 { format!("cost {}", tokens.cost) } else { String::new() };
        vec![
            (if agent.is_empty() { "unknown agent".to_owned() } else { brief(agent) }, NAME),
            plain(brief(model)),
            plain(format!("{} in", tokens.input)),
            plain(format!("{} out", tokens.output)),
            (some(tokens.cached, "cached"), DIM),
            (some(tokens.reasoning, "reasoning"), DIM),
            (counted(tokens.calls, "call"), DIM),
            plain(cost),
        ]
    };
    state.usage.by.iter().map(row).collect()
}

fn artifacts(state: &State) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for (id, artifact) in &state.artifacts {
        let last = artifact.versions.last();
        let size = last.map_or(String::new(), |last| match artifact.kind {
            ArtifactKind::Dataset => counted(last.rows as u64, "row"),
            _ => counted(last.content.len() as u64, "byte"),
        });
        let kind = match artifact.kind {
            ArtifactKind::File => "file",
            ArtifactKind::Data => "data",
            ArtifactKind::Dataset => "dataset",
        };
        let complete = last.is_some_and(|last| last.complete);
        rows.push(vec![
            (brief(artifact.name.as_deref().unwrap_or(id)), NAME),
            plain(kind.to_owned()),
            plain(counted(artifact.versions.len() as u64, "version")),
            plain(size),
            (if complete { String::new() } else { "not complete".to_owned() }, WARNING),
        ]);
    }
    rows
}

fn waiting(state: &State) -> Vec<Vec<Cell>> {
    let inputs = state.inputs.iter().map(|(id, event)| (id, "answer", "inputType", event));
    let auths = state.auths.iter().map(|(id, event)| (id, "credentials", "authType", event));
    let row = |(id, what, sort, event): (&String, &str, &str, &Event<'_>)| {
        vec![
            (brief(id), NAME),
            (what.to_owned(), WARNING),
            plain(text(event, sort).unwrap_or_default()),
            plain(text(event, "prompt").unwrap_or_default()),
        ]
    };
    inputs.chain(auths).map(row).collect()
}

fn oddities(state: &State) -> Vec<Vec<Cell>> {
    let row = |odd: &selvedge_protocol::journal::fold::Anomaly| {
        let what = match odd.what {
            Oddity::SecondTerminal => "a second end of",
            Oddity::RepeatedChunk => "a repeated chunk of",
            Oddity::EarlyChunk => "an early chunk of",
            Oddity::UnknownTask => "an unknown task,",
            Oddity::UnknownInput => "an answer that nobody waits for,",
        };
        vec![
            (format!("event {}", odd.event), NAME),
            (format!("{what} {}", brief(&odd.subject)), WARNING),
        ]
    };
    state.anomalies.iter().map(row).collect()
}

/// Writes a section, its columns side by side; nothing if it is empty.
fn section(title: &str, rows: Vec<Vec<Cell>>, out: &mut String) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{HEADING}{title}{HEADING:#}");
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let shown = rows.get(..SHOWN).unwrap_or(&rows);
    let wide = |column: usize| {
        let cells = shown.iter().filter_map(|row| row.get(column));
        cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    for row in shown {
        let mut gap = 2;
        for ((text, style), width) in row.iter().zip(&widths) {
            if !text.is_empty() {
                let _ = write!(out, "{:gap$}{style}{text}{style:#}", "");
                gap = 0;
            }
            if *width > 0 {
                gap += width - text.chars().count() + 2;
            }
        }
        out.push('\n');
    }
    if rows.len() > shown.len() {
        let _ = writeln!(out, "  … and {} more", rows.len() - shown.len());
    }
}

fn plain(text: String) -> Cell {
    (text, Style::new())
}

fn text(event: &Event<'_>, name: &str) -> Option<String> {
    event.str(name).map(|text| brief(&text))
}

/// The beginning of a text, on one line.
fn brief(text: &str) -> String {
    let mut out: String = text.chars().take(WIDE).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    tame(&out.replace(['\n', '\t'], " "))
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn between(from: Option<&String>, until: Option<&String>) -> Option<String> {
    let millis = time::to_millis(until?)? - time::to_millis(from?)?;
    (millis >= 0).then(|| duration(millis))
}

fn duration(millis: i64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..60 => format!("{seconds}.{} s", millis % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

//! A thread's state at some point: the fold of its journal, as JSON.

use std::ops::Range;

use selvedge_protocol::journal::fold::{State, Tokens};
use selvedge_protocol::journal::transcript::ActionKind;
use selvedge_protocol::journal::{Cursor, Event};
use selvedge_protocol::json::{Doc, Raw, from_utf8, quote};
use selvedge_store::{ReadError, Store, ThreadRef};
use serde_json::{Map, Value, json};

use crate::Error;
use crate::view::Sieve;

/// Bytes read from the journal at once.
const PAGE: usize = 1 << 20;

/// Folds a thread up to an entry, as far as the reader may see it. Blocks for the disk.
pub(crate) fn fold(
    store: &Store,
    thread: &ThreadRef,
    upto: u64,
    sieve: &mut Sieve,
) -> Result<State, ReadError> {
    let mut state = State::new();
    fold_on(store, thread, 0..upto, sieve, &mut state)?;
    Ok(state)
}

/// Whether a thread can be told up to an entry: not in the middle of what was folded into one.
/// Blocks for the disk.
pub(crate) fn ends_at(store: &Store, thread: &ThreadRef, seq: u64) -> Result<(), Error> {
    match store.folded(thread, seq)? {
        Some(folded) => Err(Error::folded(&folded)),
        None => Ok(()),
    }
}

/// Goes on folding with what comes after one entry up to another. Blocks for the disk.
pub(crate) fn fold_on(
    store: &Store,
    thread: &ThreadRef,
    entries: Range<u64>,
    sieve: &mut Sieve,
    state: &mut State,
) -> Result<(), ReadError> {
    let Range { start: mut seen, end: upto } = entries;
    while seen < upto {
        let page = store.read(thread, seen, usize::MAX, PAGE)?;
        let before = seen;
        for entry in page.entries.iter().take_while(|entry| entry.seq <= upto) {
            seen = entry.seq;
            if let Some(entry) = sieve.see(entry)
                && let Ok(doc) = Doc::parse_bytes(&entry.event)
                && let Some(event) = Event::parse(doc.root())
            {
                state.apply(&event);
            }
        }
        if seen == before {
            break;
        }
    }
    Ok(())
}

/// The event at a place of a journal. Blocks for the disk.
pub(crate) fn event_at(
    store: &Store,
    thread: &ThreadRef,
    seq: u64,
) -> Result<Option<Event<'static>>, ReadError> {
    let page = store.read(thread, seq.saturating_sub(1), 1, usize::MAX)?;
    let found = page.entries.into_iter().find(|entry| entry.seq == seq);
    Ok(found.and_then(|entry| {
        let doc = Doc::parse(from_utf8(&entry.event).ok()?).ok()?;
        Event::parse(doc.root()).map(|event| event.to_owned())
    }))
}

/// Where a thread came from.
pub(crate) enum Origin {
    /// What its journal tells.
    Told,
    /// From another thread, unless that was deleted, of which it shares so much.
    Branch { parent: Option<String>, at: u64 },
}

/// The state as JSON, with the cursor it stands for.
pub(crate) fn json(id: &str, cursor: Cursor, head: u64, state: &State, origin: Origin) -> String {
    let thread = state.thread.as_ref();
    let text = |name: &str| thread.and_then(|thread| thread.str(name)).map(String::from);
    let participants: Vec<Value> = state.participants.iter().map(participant).collect();
    let tasks: Vec<Value> = state.tasks.iter().map(task).collect();
    let usage: Vec<Value> = state.usage.by.iter().map(usage).collect();
    let artifacts: Vec<Value> = state.artifacts.iter().map(artifact).collect();
    let (parent, forked) = match origin {
        Origin::Told => (text("parentThreadId"), None),
        Origin::Branch { parent, at } => (parent, Some(at)),
    };
    let value = json!({
        "title": text("title"),
        "parent": parent,
        "forkedAt": forked,
        "participants": participants,
        "tasks": tasks,
        "artifacts": artifacts,
        "usage": usage,
    });
    // Values that came from events stay as they were spelled.
    let mut out = format!("{{\"id\":{},\"cursor\":\"{cursor}\",\"head\":{head}", quote(id));
    if let Some(metadata) = thread.and_then(|thread| thread.get("metadata")) {
        out.push_str(",\"metadata\":");
        out.push_str(metadata);
    }
    for (name, waiting) in [("inputs", &state.inputs), ("auths", &state.auths)] {
        out.push_str(&format!(",\"{name}\":["));
        for (i, event) in waiting.values().enumerate() {
            if i > 0 {
                out.push(',');
            }
            event.write(&mut out);
        }
        out.push(']');
    }
    out.push_str(",\"messages\":[");
    let said = state.transcript.actions().iter().filter(|action| !action.superseded);
    for (i, action) in said.enumerate() {
        if i > 0 {
            out.push(',');
        }
        out.push_str(&format!("{{\"type\":\"{}\"", name(action.kind)));
        let own = [
            ("taskId", &action.task),
            ("agentId", &action.agent),
            ("timestamp", &action.timestamp),
        ];
        for (name, value) in own {
            push(name, value.as_ref(), &mut out);
        }
        if !action.pieces.is_empty() {
            out.push_str(&format!(",\"text\":{}", quote(&action.text())));
        }
        for (name, value) in action.fields() {
            push(name, Some(value), &mut out);
        }
        out.push('}');
    }
    out.push(']');
    let rest = value.to_string();
    if let Some(members) = rest.strip_prefix('{') {
        out.push(',');
        out.push_str(members);
    }
    out
}

fn push(name: &str, value: Option<&Raw<'_>>, out: &mut String) {
    if let Some(value) = value {
        out.push_str(&format!(",{}:{value}", quote(name)));
    }
}

fn name(kind: ActionKind) -> &'static str {
    match kind {
        ActionKind::UserMessage => "user-message",
        ActionKind::AssistantMessage => "assistant-message",
        ActionKind::Thinking => "thinking",
        ActionKind::ToolCall => "tool-call",
        ActionKind::ToolReturn => "tool-return",
        ActionKind::System => "system",
    }
}

fn participant(of: &selvedge_protocol::journal::fold::Participant) -> Value {
    let mut out = Map::new();
    out.insert("id".into(), of.id.clone().into());
    out.insert("left".into(), of.left.into());
    let joined = of.joined.as_ref();
    for name in ["role", "name", "model"] {
        if let Some(value) = joined.and_then(|joined| joined.str(name)) {
            out.insert(name.into(), value.into_owned().into());
        }
    }
    Value::Object(out)
}

/// A task as JSON.
pub(crate) fn task(of: &selvedge_protocol::journal::fold::Task) -> Value {
    json!({
        "id": of.id,
        "parent": of.parent,
        "agent": of.agent,
        "initiator": of.initiator,
        "status": of.state.name(),
        "message": of.message,
        "began": of.began,
        "ended": of.ended,
    })
}

fn usage(((agent, model), of): (&(String, String), &Tokens)) -> Value {
    let mut out = tokens(of);
    out["agent"] = json!(agent);
    out["model"] = json!(model);
    out
}

/// What was used, and what it cost.
pub(crate) fn tokens(of: &Tokens) -> Value {
    json!({
        "input": of.input,
        "output": of.output,
        "cached": of.cached,
        "reasoning": of.reasoning,
        "calls": of.calls,
        "cost": of.cost,
    })
}

fn artifact((id, of): (&String, &selvedge_protocol::journal::fold::Artifact)) -> Value {
    let versions = of.versions.iter().enumerate().map(|(i, version)| {
        json!({ "version": i + 1, "complete": version.complete, "rows": version.rows })
    });
    json!({
        "id": id,
        "kind": of.kind.name(),
        "name": of.name,
        "description": of.description,
        "versions": versions.collect::<Vec<_>>(),
    })
}

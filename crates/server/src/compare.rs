//! What two branches came to: the difference between two folds since the point they share.
//!
//! Invariant: nothing is told that the reader may not see, and every list and text is bounded.

use std::collections::{BTreeMap, BTreeSet};

use selvedge_protocol::journal::fold::{State, Tokens};
use selvedge_protocol::journal::transcript::{Action, ActionKind};
use selvedge_protocol::json::{Doc, Raw};
use selvedge_store::{ReadError, Store, ThreadRef};
use serde_json::{Map, Value, json};

use crate::state;
use crate::view::{Filter, Sieve};

/// Items of a list, and bytes of a text or value.
const ITEMS: usize = 500;
const BYTES: usize = 4000;

/// A thread since the point that it shares with another.
pub(crate) struct Side {
    /// How it stood at that point.
    base: Base,
    state: State,
}

#[derive(Default)]
struct Base {
    events: u64,
    /// How much there was of each action.
    actions: Vec<usize>,
    usage: BTreeMap<(String, String), Tokens>,
    artifacts: BTreeMap<String, usize>,
    tasks: BTreeMap<String, &'static str>,
}

impl Side {
    /// Folds a thread with a mark at the point it shares. Blocks for the disk.
    pub(crate) fn fold(
        store: &Store,
        thread: &ThreadRef,
        base: u64,
        head: u64,
        filter: Filter,
    ) -> Result<Self, ReadError> {
        let mut sieve = Sieve::new(filter);
        let mut state = State::new();
        state::fold_on(store, thread, 0..base, &mut sieve, &mut state)?;
        let shared = Base {
            events: state.events,
            actions: state.transcript.actions().iter().map(size).collect(),
            usage: state.usage.by.clone(),
            artifacts: state
                .artifacts
                .iter()
                .map(|(id, a)| (id.clone(), a.versions.len()))
                .collect(),
            tasks: state.tasks.iter().map(|t| (t.id.clone(), t.state.name())).collect(),
        };
        state::fold_on(store, thread, base..head, &mut sieve, &mut state)?;
        Ok(Self { base: shared, state })
    }

    /// What was said and done since, of these kinds.
    fn actions(&self, of: fn(ActionKind) -> bool) -> impl Iterator<Item = &Action> {
        let all = self.state.transcript.actions().iter().enumerate();
        all.filter(move |(at, action)| {
            let since = self.base.actions.get(*at).is_none_or(|known| *known < size(action));
            since && !action.superseded && of(action.kind)
        })
        .map(|(_, action)| action)
    }

    fn messages(&self) -> impl Iterator<Item = &Action> {
        self.actions(|kind| matches!(kind, ActionKind::UserMessage | ActionKind::AssistantMessage))
    }

    /// Calls since, also those that only returned since.
    fn calls(&self) -> Vec<&Action> {
        let all = self.state.transcript.actions();
        let own = self.actions(|kind| kind == ActionKind::ToolCall).map(std::ptr::from_ref);
        let own: BTreeSet<*const Action> = own.collect();
        let returned: BTreeSet<usize> = self
            .actions(|kind| kind == ActionKind::ToolReturn)
            .filter_map(|action| action.counterpart)
            .collect();
        let is_new = |(at, action): &(usize, &Action)| {
            own.contains(&std::ptr::from_ref(*action)) || returned.contains(at)
        };
        all.iter().enumerate().filter(is_new).map(|(_, action)| action).collect()
    }

    fn usage(&self) -> BTreeMap<&(String, String), Value> {
        let since = self.state.usage.by.iter().filter_map(|(who, all)| {
            let none = Tokens::default();
            let before = self.base.usage.get(who).unwrap_or(&none);
            (all.calls > before.calls).then(|| (who, tokens(all, before)))
        });
        since.collect()
    }

    /// Artifacts with new versions: how many there are now.
    fn artifacts(&self) -> BTreeMap<&str, usize> {
        let all = self.state.artifacts.iter().map(|(id, a)| (id.as_str(), a.versions.len()));
        all.filter(|(id, count)| self.base.artifacts.get(*id) != Some(count)).collect()
    }

    /// Tasks that began or changed: how they stand.
    fn tasks(&self) -> BTreeMap<&str, &'static str> {
        let all = self.state.tasks.iter().map(|task| (task.id.as_str(), task.state.name()));
        all.filter(|(id, state)| self.base.tasks.get(*id) != Some(state)).collect()
    }

    /// How much happened since.
    pub(crate) fn summary(&self) -> Value {
        let (all, before) = (self.state.usage.total(), total(&self.base.usage));
        json!({
            "events": self.state.events - self.base.events,
            "messages": self.messages().count(),
            "toolCalls": self.calls().len(),
            "artifacts": self.artifacts().len(),
            "tasks": self.tasks().len(),
            "usage": tokens(&all, &before),
        })
    }
}

/// What the one side has and the other has not, or has otherwise.
pub(crate) fn difference(left: &Side, right: &Side) -> Value {
    let messages = |side: &Side| list(side.messages().map(message));
    let calls = |side: &Side| {
        let actions = side.state.transcript.actions();
        list(side.calls().into_iter().map(|action| call(action, actions)))
    };
    let (usage, other) = (left.usage(), right.usage());
    let who: BTreeSet<_> = usage.keys().chain(other.keys()).copied().collect();
    let usage = who.into_iter().map(|who| {
        json!({
            "agent": who.0, "model": who.1,
            "left": usage.get(who), "right": other.get(who),
        })
    });
    let (artifacts, other) = (left.artifacts(), right.artifacts());
    let ids: BTreeSet<&str> = artifacts.keys().chain(other.keys()).copied().collect();
    let artifacts = ids.into_iter().map(|id| {
        let known = left.state.artifacts.get(id).or_else(|| right.state.artifacts.get(id));
        json!({
            "id": id,
            "name": known.and_then(|artifact| artifact.name.as_deref()),
            "base": left.base.artifacts.get(id).copied().unwrap_or(0),
            "left": versions(&left.state, id), "right": versions(&right.state, id),
        })
    });
    let (tasks, other) = (left.tasks(), right.tasks());
    let ids: BTreeSet<&str> = tasks.keys().chain(other.keys()).copied().collect();
    let tasks = ids.into_iter().map(|id| {
        let of = |side: &Side| side.state.tasks.get(id).map(|task| task.state.name());
        let task = left.state.tasks.get(id).or_else(|| right.state.tasks.get(id));
        json!({
            "id": id,
            "agent": task.and_then(|task| task.agent.as_deref()),
            "base": left.base.tasks.get(id),
            "left": of(left), "right": of(right),
        })
    });
    json!({
        "messages": {"left": messages(left), "right": messages(right)},
        "toolCalls": {"left": calls(left), "right": calls(right)},
        "usage": list(usage),
        "artifacts": list(artifacts),
        "tasks": list(tasks),
    })
}

fn versions(state: &State, id: &str) -> usize {
    state.artifacts.get(id).map_or(0, |artifact| artifact.versions.len())
}

/// How much there is of an action; it only grows.
fn size(action: &Action) -> usize {
    let text: usize = action.pieces.iter().map(|piece| piece.body.len()).sum();
    let fields: usize = action.fields().map(|(_, value)| value.len() + 1).sum();
    text + fields + action.arguments_text().map_or(0, str::len)
}

fn message(action: &Action) -> Value {
    let mut out = Map::new();
    let role = if action.kind == ActionKind::UserMessage { "user" } else { "agent" };
    out.insert("role".into(), role.into());
    let author = action.get("author").or(action.agent.as_ref());
    for (name, value) in [("author", author), ("taskId", action.task.as_ref())] {
        if let Some(text) = value.and_then(Raw::str) {
            out.insert(name.into(), text.into());
        }
    }
    out.insert("text".into(), brief(&action.text()).into());
    Value::Object(out)
}

fn call(action: &Action, all: &[Action]) -> Value {
    let returned = action.counterpart.and_then(|at| all.get(at));
    let text = |name| action.get(name).and_then(Raw::str);
    let outcome = returned.map(|back| {
        let word = back.get("outcome").and_then(Raw::str).map(String::from);
        word.unwrap_or_else(|| {
            let failed = back.get("success").and_then(Raw::bool) == Some(false);
            if failed { "failed" } else { "success" }.to_owned()
        })
    });
    json!({
        "id": text("toolCallId"),
        "name": text("toolName"),
        "taskId": action.task.as_ref().and_then(Raw::str),
        "arguments": value(&action.arguments()),
        "outcome": outcome,
        "result": returned.and_then(|back| back.get("result")).map(value),
        "error": returned.and_then(|back| back.get("error")).map(value),
    })
}

/// A value, or its beginning as text where it is too long.
fn value(raw: &Raw<'_>) -> Value {
    let whole = (raw.len() <= BYTES).then(|| Doc::parse(raw).is_ok());
    match whole {
        Some(true) => serde_json::from_str(raw).unwrap_or_else(|_| brief(raw).into()),
        _ => brief(raw).into(),
    }
}

fn brief(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= BYTES) {
        Some((at, _)) => text.get(..at).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// A list within its bound, and how many are left off.
fn list(items: impl Iterator<Item = Value>) -> Value {
    let mut items = items;
    let shown: Vec<Value> = items.by_ref().take(ITEMS).collect();
    json!({"items": shown, "more": items.count()})
}

fn tokens(all: &Tokens, before: &Tokens) -> Value {
    json!({
        "input": all.input.saturating_sub(before.input),
        "output": all.output.saturating_sub(before.output),
        "cached": all.cached.saturating_sub(before.cached),
        "reasoning": all.reasoning.saturating_sub(before.reasoning),
        "calls": all.calls.saturating_sub(before.calls),
        "cost": (all.cost - before.cost).max(0.0),
    })
}

fn total(usage: &BTreeMap<(String, String), Tokens>) -> Tokens {
    usage.values().copied().sum()
}

//! What a message does to a task that waits for an answer.
//!
//! Invariant: the message and what it does are one append, judged by the store's writer: a
//! question is answered once, and a task is canceled only as it was found.

use selvedge_agents::config::file::WhileWaiting;
use selvedge_agents::fits;
use selvedge_protocol::journal::{Event, Kind, Visibility};
use selvedge_protocol::json::{Doc, quote};
use selvedge_store::{
    Guard, InboxItem, InboxKind, ReadError, Store, Task, ThreadRef, Unfinished, Within,
};

use crate::state::event_at;
use crate::surface::native::acts::cancel::ends;
use crate::{Error, ErrorCode};

/// Why a task that a message cancels ends.
const REASON: &str = "the user said something else";

/// What a message does to an agent.
pub(super) enum Part {
    /// It is a task of its own.
    New,
    /// It answers a question.
    Answer(Box<Answer>),
    /// It cancels a task, and is one of its own.
    Cancel { task: String, ends: Vec<Event<'static>>, found: Unfinished },
}

/// An answer that a message is.
pub(super) struct Answer {
    pub(super) item: InboxItem,
    pub(super) asked: Event<'static>,
    /// As JSON.
    pub(super) value: String,
    /// The task that the user had asked for.
    pub(super) root: String,
}

/// Who says what.
#[derive(Clone)]
pub(super) struct Speaker {
    pub(super) text: Option<String>,
    pub(super) sees: Visibility,
    pub(super) is_agent: bool,
}

/// What a message does to each of its receivers.
pub(super) fn parts(
    store: &Store,
    thread: &ThreadRef,
    to: &[(String, WhileWaiting)],
    speaker: &Speaker,
) -> Result<Vec<Part>, ReadError> {
    let (wanted, pending) = (store.wanted_in(thread)?, store.pending(thread)?);
    let mut out: Vec<Part> = Vec::new();
    for (agent, mode) in to {
        let mut part = Part::New;
        for root in wanted.iter().filter(|task| is_asked(task, agent)) {
            let within = Within::Task(root.id.clone());
            let found = store.unfinished(thread, &within)?;
            let own = |item: &&InboxItem| {
                item.task.as_ref().is_some_and(|task| found.tasks.contains(task))
            };
            let waits: Vec<&InboxItem> = pending.iter().filter(own).collect();
            if waits.is_empty() {
                continue;
            }
            part = match mode {
                WhileWaiting::Queue => Part::New,
                WhileWaiting::Answer => answer(store, thread, &waits, speaker, &root.id)?,
                WhileWaiting::Cancel => {
                    let ends = ends(store, thread, &found, Some(REASON))?;
                    Part::Cancel { task: root.id.clone(), ends, found }
                }
            };
            break;
        }
        // Two agents may wait for the same question.
        let again = |other: &Part| match (other, &part) {
            (Part::Answer(other), Part::Answer(own)) => other.item.id == own.item.id,
            _ => false,
        };
        if out.iter().any(again) {
            part = Part::New;
        }
        out.push(part);
    }
    Ok(out)
}

/// What must be so for all of it.
pub(super) fn guard(parts: &[Part]) -> Option<Guard> {
    let guards: Vec<Guard> = parts
        .iter()
        .filter_map(|part| match part {
            Part::New => None,
            Part::Answer(answer) => {
                Some(Guard::Open { kind: InboxKind::Input, id: answer.item.id.clone() })
            }
            Part::Cancel { task, found, .. } => {
                let within = Within::Task(task.clone());
                Some(Guard::Unfinished { within, found: found.clone() })
            }
        })
        .collect();
    (!guards.is_empty()).then_some(Guard::All(guards))
}

/// That a task is to be stopped, and how it and all that came of it ends.
pub(super) fn canceled(task: &str, by: &str, ends: &[Event<'static>]) -> Vec<Event<'static>> {
    let asked = Event::new(Kind::CancelRequested)
        .with_str("taskId", task)
        .with_str("reason", REASON)
        .with_str("requestedBy", by);
    std::iter::once(asked).chain(ends.iter().cloned()).collect()
}

/// Whether a task was asked for by a user, of this agent.
fn is_asked(task: &Task, agent: &str) -> bool {
    task.agent.as_deref() == Some(agent)
        && task.parent.is_none()
        && task.initiator.as_deref() == Some("user")
}

/// The oldest question of a task, or of what came of it, that a message answers.
pub(super) fn answer_to(
    store: &Store,
    thread: &ThreadRef,
    task: &str,
    speaker: &Speaker,
) -> Result<Part, Error> {
    let found = store.unfinished(thread, &Within::Task(task.to_owned()))?;
    let pending = store.pending(thread)?;
    let own = |item: &&InboxItem| item.task.as_ref().is_some_and(|own| found.tasks.contains(own));
    let waits: Vec<&InboxItem> = pending.iter().filter(own).collect();
    match answer(store, thread, &waits, speaker, task)? {
        Part::New => {
            let message = format!("task `{task}` asks nothing that this answers");
            Err(Error::new(ErrorCode::BadParameter, message).at("/message"))
        }
        part => Ok(part),
    }
}

/// The oldest question that a text answers; a task of its own, if there is none.
fn answer(
    store: &Store,
    thread: &ThreadRef,
    waits: &[&InboxItem],
    speaker: &Speaker,
    root: &str,
) -> Result<Part, ReadError> {
    let Some(text) = &speaker.text else { return Ok(Part::New) };
    for item in waits.iter().filter(|item| item.kind == InboxKind::Input) {
        if item.require_user && speaker.is_agent {
            continue;
        }
        let Some(asked) = event_at(store, thread, item.seq)? else { continue };
        let fits = |value: &String| {
            Doc::parse(value).is_ok_and(|doc| fits::question(&asked, doc.root()).is_ok())
        };
        let value = candidates(&asked, text).into_iter().find(fits);
        if let Some(value) = value.filter(|_| Visibility::of_event(&asked) <= speaker.sees) {
            let (item, root) = ((*item).clone(), root.to_owned());
            return Ok(Part::Answer(Box::new(Answer { item, asked, value, root })));
        }
    }
    Ok(Part::New)
}

/// What a text may mean as the answer to a question, as JSON; what it means most likely first.
pub(crate) fn candidates(asked: &Event<'_>, text: &str) -> Vec<String> {
    let text = text.trim();
    let word = text.trim_end_matches(['.', '!']).to_lowercase();
    let agrees = match word.as_str() {
        "yes" | "y" | "ok" | "okay" | "sure" | "approve" | "approved" | "true" | "go ahead"
        | "go on" => Some("true"),
        "no" | "n" | "deny" | "denied" | "reject" | "rejected" | "false" | "stop" => Some("false"),
        _ => None,
    };
    let agrees = agrees.map(str::to_owned);
    let json = Doc::parse(text).ok().filter(|doc| !doc.root().is_string());
    let json = json.map(|_| text.to_owned());
    let is = |kind: &str| asked.get("inputType").is_some_and(|own| own.is(kind));
    if is("tool-execution") || text.is_empty() {
        // Something is to be done, not said.
        return Vec::new();
    }
    if is("confirmation") {
        let counts = asked.at("metadata", "/budget").is_some();
        let number = json.filter(|text| counts && text.parse::<f64>().is_ok());
        return agrees.into_iter().chain(number).collect();
    }
    std::iter::once(quote(text)).chain(agrees).chain(json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_answers_what_it_can_mean() {
        let question = |text: &str| {
            let doc = Doc::parse(text).unwrap();
            Event::parse(doc.root()).unwrap().to_owned()
        };
        let consent = question(r#"{"kind":"input-required","inputType":"confirmation"}"#);
        assert_eq!(candidates(&consent, " Yes. "), ["true"]);
        assert_eq!(candidates(&consent, "no"), ["false"]);
        assert!(candidates(&consent, "what is the weather?").is_empty());
        assert!(candidates(&consent, "12").is_empty());
        let budget = question(
            r#"{"kind":"input-required","inputType":"confirmation","metadata":{"budget":{}}}"#,
        );
        assert_eq!(candidates(&budget, "12"), ["12"]);
        let form = question(r#"{"kind":"input-required","inputType":"custom"}"#);
        assert_eq!(candidates(&form, "{\"a\":1}"), ["\"{\\\"a\\\":1}\"", "{\"a\":1}"]);
        let tool = question(r#"{"kind":"input-required","inputType":"tool-execution"}"#);
        assert!(candidates(&tool, "yes").is_empty());
    }
}

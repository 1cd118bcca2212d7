//! Questions that another agent answers before a user is asked.
//!
//! The coordinator gets a task whose prompt is the question. What it says in the end is the answer
//! if it fits. Who gives none in time, or none that fits, hands over: the question stays open, and
//! the journal says that it waits for the user now.
//!
//! Invariant: a question has one answer. The user's and the coordinator's are both guarded by the
//! question being open.

use std::time::{Duration, SystemTime};

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, Raw, quote};
use selvedge_protocol::time;
use selvedge_store::{AppendError, Guard, InboxKind};

use super::{Consulted, Doing, Turn};
use crate::agent::Coordinator;
use crate::fits;
use crate::journal::JournalError;
use crate::turn::{Left, Writer};

/// How often a coordinator may answer something that does not fit.
const ROUNDS: usize = 2;
/// Bytes of a reason.
const REASON: usize = 1 << 10;
/// With what a coordinator says that it cannot tell.
const HAND_OVER: &str = "HAND OVER";

impl Turn {
    /// Who is asked before a user is. Whoever answers a question asks the user only.
    pub(super) fn coordinator(&self) -> Option<String> {
        let ledger = &self.progress.ledger;
        if ledger.is_consulted(&self.task) {
            return None;
        }
        match &self.agent.coordination.who {
            Coordinator::User => None,
            Coordinator::Agent(id) => Some(id.clone()),
            Coordinator::Caller => {
                ledger.caller(&self.task).filter(|id| **id != *self.agent.id).map(str::to_owned)
            }
        }
    }

    /// How to wait: for ever, or until a coordinator's time is over. One whose time is over is
    /// stopped, and there is something to do.
    pub(in crate::turn) async fn pause(&self) -> Result<Option<Left>, JournalError> {
        let patience = self.agent.coordination.patience;
        let mut shortest: Option<Duration> = None;
        for asked in self.progress.consulting() {
            let left = patience.saturating_sub(age(&asked));
            if left.is_zero() {
                stop(&self.writer, &asked.task, "it did not answer in time").await?;
                return Ok(None);
            }
            shortest = Some(shortest.map_or(left, |shortest| shortest.min(left)));
        }
        Ok(Some(shortest.map_or(Left::Waiting, Left::WaitingFor)))
    }
}

impl Doing {
    /// A task in which another agent is to answer a question; tells its id too.
    pub(super) fn consult(
        &self,
        agent: &str,
        asked: &Event<'_>,
        round: usize,
        wrong: Option<&str>,
    ) -> (String, [Event<'static>; 2]) {
        let input = asked.str("inputId").unwrap_or_default();
        let task = format!("{input}/coordinator-{round}");
        let metadata = Raw::owned(format!("{{\"inputId\":{}}}", quote(&input)));
        let prompt = prompt(&self.agent.id, asked, wrong);
        let made = self.subtask(&task, agent, &prompt);
        (task, made.map(|event| event.with("metadata", metadata.clone())))
    }

    /// The coordinator has ended its task: what it said is the answer, or someone else is asked.
    pub(super) async fn consulted(&self) -> Result<(), JournalError> {
        let Some(consulted) = &self.consulted else { return Ok(()) };
        let Ok(doc) = Doc::parse(&consulted.asked) else { return Ok(()) };
        let Some(asked) = Event::parse(doc.root()) else { return Ok(()) };
        let said = consulted.said.as_deref().unwrap_or_default();
        let Some(agent) = self.coordinator.as_deref() else {
            return self.hand_over(&asked, "there is no coordinator any more").await;
        };
        if consulted.state != TaskState::Completed {
            let reason = format!("{agent}: {} {said}", consulted.state.name());
            return self.hand_over(&asked, reason.trim()).await;
        }
        match answer(&asked, said) {
            Answered::Value(value) => {
                let received = Event::new(Kind::InputReceived)
                    .with_some("inputId", asked.get("inputId").map(Raw::to_owned))
                    .with("providedBy", Raw::Ref("\"agent\""))
                    .with_str("agentId", agent)
                    .with("value", Raw::owned(value));
                self.while_open(&asked, vec![received]).await
            }
            Answered::CannotTell(reason) => self.hand_over(&asked, &reason).await,
            Answered::Misfit(wrong) if consulted.rounds < ROUNDS => {
                let round = consulted.rounds + 1;
                let (_, made) = self.consult(agent, &asked, round, Some(&wrong));
                self.while_open(&asked, made.into()).await
            }
            Answered::Misfit(wrong) => {
                let reason = format!("{agent} gave no answer that fits: {wrong}");
                self.hand_over(&asked, &reason).await
            }
        }
    }

    /// Someone has answered: nobody else needs to think about it.
    pub(super) async fn release(&self) -> Result<(), JournalError> {
        match &self.consulted {
            Some(consulted) if !consulted.state.is_terminal() => {
                stop(&self.writer, &consulted.task, "someone else has answered").await
            }
            _ => Ok(()),
        }
    }

    /// Says that the user is to answer.
    async fn hand_over(&self, asked: &Event<'_>, reason: &str) -> Result<(), JournalError> {
        let reason = reason.get(..reason.floor_char_boundary(REASON)).unwrap_or_default();
        let input = asked.get("inputId").map_or("null", Raw::as_str);
        let metadata =
            format!("{{\"blockedBy\":\"user\",\"inputId\":{input},\"reason\":{}}}", quote(reason));
        let status = Event::new(Kind::TaskStatus)
            .with("status", Raw::Ref("\"waiting-input\""))
            .with_some("message", asked.get("prompt").map(Raw::to_owned))
            .with("metadata", Raw::owned(metadata));
        self.while_open(asked, vec![status]).await
    }

    /// Appends, unless the question was answered.
    async fn while_open(
        &self,
        asked: &Event<'_>,
        events: Vec<Event<'static>>,
    ) -> Result<(), JournalError> {
        let id = asked.str("inputId").unwrap_or_default().into_owned();
        let guard = Guard::Open { kind: InboxKind::Input, id };
        match self.writer.append_if(guard, events).await {
            Err(JournalError::Append(AppendError::Instead(_))) => Ok(()),
            other => other.map(|_| ()),
        }
    }
}

/// Stops a task, unless it has ended.
async fn stop(writer: &Writer, task: &str, why: &str) -> Result<(), JournalError> {
    let stopped = Event::new(Kind::TaskStatus)
        .with_str("taskId", task)
        .with("status", Raw::Ref("\"canceled\""))
        .with_str("message", why);
    match writer.append_if(Guard::Running { task: task.to_owned() }, vec![stopped]).await {
        Err(JournalError::Append(AppendError::Instead(_))) => Ok(()),
        other => other.map(|_| ()),
    }
}

/// How long ago a coordinator was asked.
fn age(asked: &Consulted) -> Duration {
    let since = asked.since.as_deref().and_then(time::to_millis).unwrap_or(0);
    let since = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(since).unwrap_or(0));
    since.elapsed().unwrap_or_default()
}

/// The question, for an agent.
fn prompt(by: &str, asked: &Event<'_>, wrong: Option<&str>) -> String {
    let mut out = format!("The agent `{by}` asks: {}", asked.str("prompt").unwrap_or_default());
    let call = asked.at("metadata", "/toolCall/function/arguments");
    if let Some(arguments) = call.as_ref().and_then(Raw::str) {
        out.push_str(&format!("\n\nThe arguments are: {arguments}"));
    }
    if let Some(options) = asked.get("options") {
        out.push_str(&format!("\n\nChoose from: {}", options.as_str()));
    }
    if let Some(schema) = asked.get("schema") {
        out.push_str(&format!("\n\nThe answer must fit this JSON Schema: {}", schema.as_str()));
    }
    out.push_str(&format!(
        "\n\nSay the answer and nothing else: JSON, or plain text where a text is wanted. If you \
         cannot tell, say `{HAND_OVER}` and why; then the user is asked."
    ));
    if let Some(wrong) = wrong {
        out.push_str(&format!("\n\nYour last answer does not fit: {wrong}"));
    }
    out
}

/// What a coordinator's words mean.
#[derive(Debug, PartialEq, Eq)]
enum Answered {
    /// This JSON value.
    Value(String),
    CannotTell(String),
    Misfit(String),
}

fn answer(asked: &Event<'_>, said: &str) -> Answered {
    let said = unfenced(said.trim());
    let head = said.get(..HAND_OVER.len()).unwrap_or_default();
    if said.is_empty() {
        return Answered::CannotTell("it said nothing".to_owned());
    }
    if head.eq_ignore_ascii_case(HAND_OVER) {
        let why = said.get(HAND_OVER.len()..).unwrap_or_default();
        let why = why.trim_start_matches([':', '.', ',', '-', ' ', '\n']);
        return Answered::CannotTell(why.to_owned());
    }
    // As JSON, and else as the text that it is.
    let mut wrong = String::new();
    for text in [said.to_owned(), quote(said)] {
        let Ok(doc) = Doc::parse(&text) else { continue };
        match fits::question(asked, doc.root()) {
            Ok(()) => return Answered::Value(selvedge_protocol::json::compact(doc.root())),
            Err(misfit) if wrong.is_empty() => {
                wrong = format!("{} {}", misfit.pointer, misfit.message).trim().to_owned();
            }
            Err(_) => {}
        }
    }
    Answered::Misfit(wrong)
}

/// What stands between the fences that models like to put around JSON.
fn unfenced(text: &str) -> &str {
    let inside = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    inside.map_or(text, |inside| inside.strip_prefix("json").unwrap_or(inside).trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(asked: &str, said: &str) -> Answered {
        let doc = Doc::parse(asked).unwrap();
        answer(&Event::parse(doc.root()).unwrap(), said)
    }

    #[test]
    fn words_become_an_answer_that_fits_or_say_that_there_is_none() {
        let value = |text: &str| Answered::Value(text.to_owned());
        let open = r#"{"kind":"input-required","inputType":"clarification"}"#;
        assert_eq!(meant(open, " blue "), value("\"blue\""));
        assert_eq!(meant(open, "{\"a\": 1}"), value("{\"a\":1}"));
        assert_eq!(meant(open, "```json\n[1, 2]\n```"), value("[1,2]"));
        let choice = r#"{"kind":"input-required","inputType":"selection","options":["a","7"]}"#;
        assert_eq!(meant(choice, "a"), value("\"a\""));
        assert_eq!(meant(choice, "7"), value("\"7\""), "a text that looks like a number");
        assert!(matches!(meant(choice, "c"), Answered::Misfit(_)));
        let form = r#"{"kind":"input-required","inputType":"custom","schema":{"type":"integer"}}"#;
        assert_eq!(meant(form, "7"), value("7"));
        assert!(matches!(meant(form, "seven"), Answered::Misfit(_)));
        for said in ["HAND OVER: it is their money", "hand over it is their money"] {
            let why = Answered::CannotTell("it is their money".to_owned());
            assert_eq!(meant(form, said), why);
        }
        assert_eq!(meant(form, "  "), Answered::CannotTell("it said nothing".to_owned()));
    }
}

//! Questions that a tool has while it runs.
//!
//! Invariant: a question is in the journal before anyone waits for its answer. A tool that is run
//! again, after a restart, and asks the same gets the answer that is there.

use std::time::Duration;

use selvedge_protocol::journal::{Event, Kind, Urgency};
use selvedge_protocol::json::{Doc, Raw, from_utf8};
use selvedge_store::AppendError;
use serde_json::Value;

use super::{Invocation, ToolError};
use crate::journal::{JournalError, after};
use crate::turn::Answer;

/// Something that a user is to tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked.
    pub prompt: String,
    /// JSON Schema of the answer.
    pub schema: Value,
}

/// How people are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Manner {
    /// How long someone who is asked may take; as long as they like unless told.
    pub patience: Option<Duration>,
    /// How urgent an answer is, where it is told.
    pub urgency: Option<Urgency>,
}

impl Manner {
    /// A question that is asked in this manner.
    pub(crate) fn of(self, mut asked: Event<'static>) -> Event<'static> {
        let mut told = Vec::new();
        // What a question says of itself counts.
        let says = |asked: &Event<'_>, pointer: &str| asked.at("metadata", pointer).is_some();
        if let Some(urgency) = self.urgency.filter(|_| !says(&asked, "/urgency")) {
            told.push(format!("\"urgency\":\"{}\"", urgency.name()));
        }
        if let Some(patience) = self.patience {
            if !says(&asked, "/timeout") {
                told.push(format!("\"timeout\":{}", patience.as_secs_f64()));
            }
            asked.set("expiresAt", Raw::string(&after(patience)));
        }
        if !told.is_empty() {
            // Beside what the question says of itself.
            let own = asked.get("metadata").map_or("{}", Raw::as_str);
            let own = own.strip_suffix('}').unwrap_or("{");
            let comma = if own == "{" { "" } else { "," };
            let metadata = format!("{own}{comma}{}}}", told.join(","));
            asked.set("metadata", Raw::owned(metadata));
        }
        asked
    }
}

/// A question that is in the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Names the question.
    pub input: String,
    /// What was asked.
    pub prompt: String,
    /// The answer, once there is one.
    pub answer: Option<Answer>,
}

impl Invocation {
    /// Asks a user and waits for the answer. `nth` counts the questions of one run.
    pub async fn ask(&self, nth: usize, question: &Question) -> Result<Answer, ToolError> {
        let (input, known) = self.name(nth, question);
        let seen = match known {
            Some(Asked { answer: Some(answer), .. }) => return Ok(answer.clone()),
            Some(Asked { answer: None, .. }) => 0,
            None => self.write(&input, question).await?,
        };
        let _pause = self.allowance.pause();
        let mut thread = self.journal.thread_after(self.writer.thread(), seen).await?;
        loop {
            for entry in thread.read().await? {
                if let Some(answer) = answer(&entry.event, &input) {
                    return Ok(answer);
                }
            }
            thread.more().await?;
        }
    }

    /// The question's name, and the question if it is in the journal. One that asks something
    /// else than the last time gets another name.
    fn name(&self, nth: usize, question: &Question) -> (String, Option<&Asked>) {
        let mut name = format!("{}/question-{nth}", self.place);
        loop {
            match self.asked.iter().find(|asked| asked.input == name) {
                Some(asked) if asked.prompt != question.prompt => name.push('+'),
                known => return (name, known),
            }
        }
    }

    /// Writes a question down; tells the event behind which its answer comes.
    async fn write(&self, input: &str, question: &Question) -> Result<u64, ToolError> {
        let asked = Event::new(Kind::InputRequired)
            .with_str("inputId", input)
            .with("inputType", Raw::Ref("\"custom\""))
            .with("requireUser", Raw::Ref("true"))
            .with_str("prompt", &question.prompt)
            .with("schema", Raw::owned(question.schema.to_string()))
            .with_str("toolCallId", &self.id);
        let asked = Manner { patience: self.patience, urgency: self.urgency }.of(asked);
        let waits = Event::new(Kind::TaskStatus)
            .with("status", Raw::Ref("\"waiting-input\""))
            .with_str("message", &question.prompt);
        match self.writer.append(vec![asked, waits]).await {
            Ok(appended) => Ok(appended.last),
            Err(JournalError::Append(AppendError::EventTooLarge { .. })) => {
                Err(ToolError("it asks too much at once".to_owned()))
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// The answer to a question, if an event is it.
fn answer(event: &[u8], input: &str) -> Option<Answer> {
    let doc = Doc::parse(from_utf8(event).ok()?).ok()?;
    let event = Event::parse(doc.root())?;
    let given = event.kind() == Kind::InputReceived;
    if !given && event.name() != "input-expired" || event.str("inputId")? != input {
        return None;
    }
    Some(match given {
        true => Answer::Value(event.get("value").map_or("null", Raw::as_str).to_owned()),
        false => Answer::Expired,
    })
}

//! Events as a conversation: who says what, as they say it, and what is done meanwhile.
//!
//! Invariant: what is left out here repeats what is shown, or says nothing to people; every kind
//! that is not known here is shown as a line.

use std::collections::HashSet;

use selvedge_protocol::journal::Kind;
use selvedge_protocol::json::{Doc, Node};

use super::colour;
use super::line::{self, answer, hop};
use crate::args;
use crate::output::{one_line, tame};

/// The most of what is no speech.
const TEXT: usize = 160;
/// The most of a name.
const NAMES: usize = 40;
/// What further lines of a speech begin with.
const INDENT: &str = "\n                      ";
/// Parts that are remembered to have been said.
const PARTS: usize = 4096;

/// A conversation that goes on.
#[derive(Debug, Default)]
pub(super) struct Talk {
    /// Whose words the unfinished line has.
    open: Option<Part>,
    /// Parts of which pieces were shown.
    said: HashSet<Part>,
}

/// A part of what someone says, in which thread and task.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Part {
    thread: String,
    task: String,
    id: String,
    voice: Voice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Voice {
    Speaks,
    Thinks,
}

impl Talk {
    /// What is to be printed for an event of a thread. `name` begins each line.
    pub(super) fn tell(&mut self, thread: &str, name: &str, event: &str) -> String {
        let Ok(doc) = Doc::parse(event) else { return String::new() };
        let root = doc.root();
        let text = |name: &str| root.get(name).and_then(Node::str).unwrap_or_default();
        let part = |id: &str, voice| Part {
            thread: thread.to_owned(),
            task: text("taskId").into_owned(),
            id: text(id).into_owned(),
            voice,
        };
        let kind = Kind::named(&text("kind"));
        match kind {
            Kind::ContentDelta => {
                self.speak(part("partId", Voice::Speaks), name, root, &text("delta"))
            }
            Kind::ContentComplete => {
                let own = part("partId", Voice::Speaks);
                if self.said.remove(&own) {
                    return self.pause();
                }
                self.speak(own, name, root, &text("content")) + &self.pause()
            }
            Kind::ThoughtStream => {
                self.speak(part("thoughtId", Voice::Thinks), name, root, &text("content"))
            }
            Kind::StepStarted
            | Kind::StepFinished
            | Kind::PartStarted
            | Kind::PartFinished
            | Kind::TaskCreated
            | Kind::TaskComplete
            | Kind::ToolCallStarted
            | Kind::ToolCallDelta
            | Kind::ToolCall
            | Kind::ParticipantJoined
            | Kind::LlmUsage => String::new(),
            Kind::Message
                if answer(root).is_none() && root.get("content").is_some_and(Node::is_string) =>
            {
                let said = whole(&text("content"));
                format!("{}{}{said}\n", self.pause(), head(name, root))
            }
            Kind::TaskStatus if !matches!(&*text("status"), "failed" | "canceled") => String::new(),
            _ => {
                let line = match remark(kind, root) {
                    Some(said) => head(name, root) + &one_line(&said, TEXT),
                    None => match line::line(event) {
                        Some(line) => format!("{name}{line}"),
                        None => return String::new(),
                    },
                };
                format!("{}{line}\n", self.pause())
            }
        }
    }

    /// A piece of a speech: on the line it belongs to, if that is the last one.
    fn speak(&mut self, part: Part, name: &str, event: Node<'_, '_>, piece: &str) -> String {
        let dim = args::DIM;
        let piece = whole(piece);
        let piece = match part.voice {
            Voice::Speaks => piece,
            Voice::Thinks => format!("{dim}{piece}{dim:#}"),
        };
        if self.open.as_ref() == Some(&part) {
            return piece;
        }
        let before = self.pause();
        if self.said.len() >= PARTS {
            self.said.clear();
        }
        let known = !self.said.insert(part.clone());
        let begins = match (part.voice, known) {
            (_, true) => format!("{dim}…{dim:#} "),
            (Voice::Thinks, false) => format!("{dim}thinks:{dim:#} "),
            (Voice::Speaks, false) => String::new(),
        };
        self.open = Some(part);
        format!("{before}{}{begins}{piece}", head(name, event))
    }

    /// Ends the unfinished line.
    pub(super) fn pause(&mut self) -> String {
        self.open.take().map_or(String::new(), |_| "\n".to_owned())
    }
}

/// All of a text, with nothing in it that a terminal would act on.
fn whole(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(tame).collect();
    lines.join(INDENT)
}

/// When, and who.
fn head(name: &str, event: Node<'_, '_>) -> String {
    let (time, who) = (line::time(event), line::who(event));
    let (dim, own) = (args::DIM, colour(&who));
    let time = time.split('.').next().unwrap_or_default();
    format!("{name}{dim}{time:<8}{dim:#} {own}{:<12}{own:#} ", one_line(&who, NAMES))
}

/// What someone does, in a few words; nothing where a line says it as well.
fn remark(kind: Kind, event: Node<'_, '_>) -> Option<String> {
    let text = |name: &str| event.get(name).and_then(Node::str);
    let raw = |name: &str| event.get(name).map(|value| value.raw().to_owned());
    Some(match kind {
        Kind::Message => format!("⇒ {}", answer(event)?),
        Kind::RouteDecided => format!("⇒ {}", hop(event)?),
        Kind::ToolStart => {
            format!("⚙ {} {}", text("toolName")?, raw("arguments").unwrap_or_default())
        }
        Kind::ToolProgress => {
            let part = event.get("progress").and_then(Node::f64)?;
            let said = text("message").unwrap_or_default();
            format!("⚙ {:.0} % {said}", part * 100.0)
        }
        Kind::ToolComplete => match event.get("success").and_then(Node::bool) {
            Some(true) => format!("✓ {} {}", text("toolName")?, raw("result").unwrap_or_default()),
            _ => format!("✗ {} {}", text("toolName")?, text("error").unwrap_or_default()),
        },
        Kind::InputRequired | Kind::ToolInputRequired | Kind::AuthRequired => {
            let asked = text("inputId").or_else(|| text("authId")).unwrap_or_default();
            format!("? {} ({asked})", text("prompt")?)
        }
        Kind::InputReceived => {
            let by = text("userId").or_else(|| text("providedBy")).unwrap_or_default();
            format!("! {by} answers {}", raw("value").unwrap_or_default())
        }
        Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite => {
            format!("✎ {}", text("name").or_else(|| text("artifactId"))?)
        }
        // It names whom it is for.
        Kind::SubtaskCreated => format!("is asked: {}", text("prompt")?),
        Kind::AttemptSuperseded => {
            format!("↺ says it again ({})", text("reason").unwrap_or_default())
        }
        Kind::TaskStatus => {
            let why = text("message").or_else(|| text("code")).unwrap_or_default();
            format!("✗ {}: {why}", text("status")?)
        }
        Kind::ThreadCreated => format!("# {}", text("title").or_else(|| text("contextId"))?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_flow_and_what_is_done_stands_between_them() {
        let mut talk = Talk::default();
        let mut told = String::new();
        for event in [
            r#"{"kind":"thread-created","contextId":"c","title":"A trip","timestamp":"2026-01-01T10:00:00.123Z"}"#,
            r#"{"kind":"message","role":"user","content":"Hello\nyou"}"#,
            r#"{"kind":"step-started","taskId":"t","agentId":"ada"}"#,
            r#"{"kind":"thought-stream","taskId":"t","agentId":"ada","thoughtId":"1","content":"hm "}"#,
            r#"{"kind":"thought-stream","taskId":"t","agentId":"ada","thoughtId":"1","content":"so"}"#,
            r#"{"kind":"content-delta","taskId":"t","agentId":"ada","partId":"2","delta":"Good "}"#,
            r#"{"kind":"content-delta","taskId":"u","agentId":"bob","partId":"2","delta":"I \u001b[31m"}"#,
            r#"{"kind":"content-delta","taskId":"t","agentId":"ada","partId":"2","delta":"day."}"#,
            r#"{"kind":"content-complete","taskId":"t","agentId":"ada","partId":"2","content":"Good day."}"#,
            r#"{"kind":"tool-start","taskId":"t","agentId":"ada","toolName":"look","arguments":{"a":1}}"#,
            r#"{"kind":"tool-complete","taskId":"t","agentId":"ada","toolName":"look","success":true,"result":2}"#,
            r#"{"kind":"content-complete","taskId":"t","agentId":"ada","partId":"3","content":"Whole."}"#,
            r#"{"kind":"task-status","taskId":"t","agentId":"ada","status":"failed","code":"timeout"}"#,
            r#"{"kind":"system","name":"own","data":1}"#,
        ] {
            told += &talk.tell("c", "", event);
        }
        let plain = anstream::adapter::strip_str(&told).to_string();
        let lines: Vec<&str> = plain.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "10:00:00              # A trip",
                "         user         Hello",
                "                      you",
                "         ada          thinks: hm so",
                "         ada          Good",
                "         bob          I \u{fffd}[31m",
                "         ada          … day.",
                "         ada          ⚙ look {\"a\":1}",
                "         ada          ✓ look 2",
                "         ada          Whole.",
                "         ada          ✗ failed: timeout",
                "                             system               name=\"own\" data=1",
            ]
        );
    }
}

//! What is being written of a run.

use super::wire::{Message, Object, Step, Usage, or_null, text_part};
use crate::json::{Raw, quote, text};

/// A run whose events are being written.
#[derive(Debug)]
pub(super) struct Run {
    /// The run's id, as JSON.
    pub(super) id: String,
    pub(super) agent: String,
    pub(super) parent: Option<Raw<'static>>,
    pub(super) created: i64,
    /// What whoever asked for it says of it.
    pub(super) labels: Object,
    pub(super) status: Status,
    /// The calls that are required, as they were told last.
    pub(super) required: Option<String>,
    /// Ids that were made for it.
    pub(super) minted: u32,
    pub(super) usage: Option<Usage>,
    /// How the last model call ended.
    pub(super) finish: Option<String>,
    /// The id the source gives the step at hand.
    pub(super) step_id: Option<String>,
    pub(super) message: Option<Spoken>,
    pub(super) tools: Option<Tools>,
    /// Whether it said anything.
    pub(super) spoke: bool,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// Nobody is at work on it yet.
    Queued,
    InProgress,
    RequiresAction,
    Done,
}

/// A message being spoken.
#[derive(Debug)]
pub(super) struct Spoken {
    pub(super) id: String,
    pub(super) step: String,
    pub(super) created: i64,
    pub(super) attachments: String,
    pub(super) parts: Vec<Part>,
}

/// A part of a message being spoken.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) id: String,
    pub(super) content: Content,
    pub(super) open: bool,
    /// Whether a delta of it was written.
    pub(super) heard: bool,
}

/// What a part is.
#[derive(Debug)]
pub(super) enum Content {
    /// Text, as a string body.
    Text(String),
    /// Any other part, whole.
    Whole(String),
}

/// A step of tool calls.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) id: String,
    pub(super) created: i64,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Option<Usage>,
}

/// A tool call being written.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) name: String,
    /// The arguments' text, as a string body.
    pub(super) arguments: String,
    pub(super) complete: bool,
    pub(super) output: Option<String>,
    /// The question it stands for.
    pub(super) asks: Option<String>,
    /// What a client answered, until the tool's own output comes.
    pub(super) answer: Option<String>,
}

impl Spoken {
    pub(super) fn content(&self) -> String {
        let parts: Vec<String> = self
            .parts
            .iter()
            .map(|part| match &part.content {
                Content::Text(body) => text_part(body),
                Content::Whole(part) => part.clone(),
            })
            .collect();
        format!("[{}]", parts.join(","))
    }

    pub(super) fn message<'a>(&'a self, run: &'a Run, thread: &'a str) -> Message<'a> {
        Message {
            id: &self.id,
            assistant: Some(&run.agent),
            attachments: &self.attachments,
            completed: None,
            content: "[]",
            created: self.created,
            incomplete: None,
            incomplete_at: None,
            metadata: "{}",
            role: "assistant",
            run: Some(&run.id),
            status: "in_progress",
            thread,
        }
    }

    pub(super) fn details(&self) -> String {
        let made = Object::new().with("message_id", &self.id).end();
        Object::new().with("message_creation", made).with("type", "\"message_creation\"").end()
    }
}

impl Tools {
    pub(super) fn details(&self) -> String {
        let calls: Vec<String> = self.calls.iter().map(Call::write).collect();
        let calls = format!("[{}]", calls.join(","));
        Object::new().with("tool_calls", calls).with("type", "\"tool_calls\"").end()
    }

    /// The delta that adds to a call.
    pub(super) fn delta(&self, index: usize, id: Option<&str>, function: &str) -> String {
        let mut call = Object::new().with("index", index.to_string()).with("type", "\"function\"");
        if let Some(id) = id {
            call = call.with("id", id);
        }
        let calls = format!("[{}]", call.with("function", function).end());
        let details = Object::new().with("type", "\"tool_calls\"").with("tool_calls", calls);
        Object::new()
            .with("id", &self.id)
            .with("delta", Object::new().with("step_details", details.end()).end())
            .with("object", "\"thread.run.step.delta\"")
            .end()
    }
}

impl Call {
    /// The call in a step's details.
    fn write(&self) -> String {
        let output = self.output.as_ref().or(self.answer.as_ref());
        let function = self.function().with("output", or_null(output)).end();
        self.around(function)
    }

    /// The call in a required action.
    pub(super) fn required(&self) -> String {
        self.around(self.function().end())
    }

    fn function(&self) -> Object {
        let arguments = format!("\"{}\"", text::minimal(&self.arguments));
        Object::new().with("arguments", arguments).with("name", &self.name)
    }

    fn around(&self, function: String) -> String {
        Object::new()
            .with("id", &self.id)
            .with("function", function)
            .with("type", "\"function\"")
            .end()
    }
}

/// What a run object says beyond the run itself.
#[derive(Default)]
pub(super) struct Moment<'a> {
    pub(super) status: &'a str,
    pub(super) now: i64,
    pub(super) thread: &'a str,
    /// The system prompt, as a string body.
    pub(super) instructions: &'a str,
    pub(super) model: &'a str,
    pub(super) required: Option<String>,
    /// Code, and message as a string body.
    pub(super) error: Option<(&'a str, &'a str)>,
    pub(super) incomplete: Option<&'a str>,
    /// What the run says about its state, as JSON.
    pub(super) said: Option<&'a str>,
}

impl Run {
    /// Whether it waits for answers.
    pub(super) fn asks(&self) -> bool {
        let mut calls = self.tools.iter().flat_map(|tools| &tools.calls);
        calls.any(|call| call.asks.is_some() && call.output.is_none())
    }

    /// The tool calls that wait for an output: questions alone, if there are any.
    pub(super) fn pending(&self) -> Vec<String> {
        let open = || {
            self.tools.iter().flat_map(|t| &t.calls).filter(|c| c.output.is_none() && c.complete)
        };
        let asked: Vec<_> = open().filter(|c| c.asks.is_some()).map(Call::required).collect();
        if asked.is_empty() { open().map(Call::required).collect() } else { asked }
    }

    pub(super) fn write(&self, moment: &Moment<'_>) -> String {
        let when = |status: &str| or_null((moment.status == status).then_some(moment.now));
        let error = moment.error.map(|(code, message)| {
            Object::new().with("code", quote(code)).with("message", format!("\"{message}\"")).end()
        });
        let completed = if moment.status == "incomplete" { "incomplete" } else { "completed" };
        let started = (moment.status != "queued").then_some(self.created);
        let mut metadata = self.labels.clone();
        if let Some(parent) = &self.parent {
            metadata = metadata.with("parent_run_id", parent.as_str());
        }
        if let Some(said) = moment.said {
            metadata = metadata.with("status_message", said);
        }
        let why = moment.incomplete.map(|r| Object::new().with("reason", quote(r)).end());
        let ended = matches!(moment.status, "completed" | "incomplete" | "failed" | "cancelled");
        let usage = self.usage.filter(|_| ended || moment.status == "expired");
        Object::new()
            .with("id", &self.id)
            .with("assistant_id", &self.agent)
            .with("cancelled_at", when("cancelled"))
            .with("completed_at", when(completed))
            .with("created_at", self.created.to_string())
            .with("expires_at", when("expired"))
            .with("failed_at", when("failed"))
            .with("incomplete_details", or_null(why))
            .with("instructions", format!("\"{}\"", moment.instructions))
            .with("last_error", or_null(error))
            .with("max_completion_tokens", "null")
            .with("max_prompt_tokens", "null")
            .with("metadata", metadata.end())
            .with("model", moment.model)
            .with("object", "\"thread.run\"")
            .with("parallel_tool_calls", "true")
            .with("required_action", or_null(moment.required.as_ref()))
            .with("response_format", "\"auto\"")
            .with("started_at", or_null(started))
            .with("status", quote(moment.status))
            .with("thread_id", moment.thread)
            .with("tool_choice", "\"auto\"")
            .with("tools", "[]")
            .with("truncation_strategy", "{\"type\":\"auto\",\"last_messages\":null}")
            .with("usage", or_null(usage.map(Usage::write)))
            .with("temperature", "null")
            .with("top_p", "null")
            .end()
    }

    pub(super) fn step<'a>(
        &'a self,
        id: &'a str,
        created: i64,
        kind: &'a str,
        details: &'a str,
        thread: &'a str,
    ) -> Step<'a> {
        Step {
            id,
            assistant: &self.agent,
            created,
            ended: created,
            run: &self.id,
            status: "in_progress",
            details,
            kind,
            thread,
            usage: None,
            error: None,
        }
    }
}

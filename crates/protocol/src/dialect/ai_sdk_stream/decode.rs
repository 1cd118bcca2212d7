//! Chunks to events.
//!
//! Invariant: a chunk costs time in proportion to itself. What is kept between chunks is the run
//! at hand and, per tool call of it, the tool's name.

use std::collections::HashMap;

use crate::dialect::ai_sdk::meta::Gather;
use crate::dialect::ai_sdk::read::{answer, bind, data, side, source, steering, system};
use crate::dialect::ai_sdk::{approval_prompt, finish_reason_in};
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Reads one chunk after the other.
pub(super) struct Reader {
    opening: Opening,
    agent: Option<Raw<'static>>,
    /// The run at hand.
    task: Option<Raw<'static>>,
    runs: u32,
    calls: HashMap<Box<str>, Call>,
}

/// What is known of a tool call.
struct Call {
    name: Raw<'static>,
    /// The error its input was refused with, which already was its end.
    refused: Option<Raw<'static>>,
}

const TOOL_SIDE: &[&str] =
    &["providerMetadata", "toolMetadata", "title", "dynamic", "inputEncoding"];

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: options.agent.as_deref().map(Raw::string),
            task: None,
            runs: 0,
            calls: HashMap::new(),
        }
    }

    /// An event of the run at hand; one begins if there is none.
    fn of_run<'a>(
        &mut self,
        kind: Kind,
        root: Node<'_, 'a>,
        events: &mut Vec<Event<'a>>,
    ) -> Event<'a> {
        if self.task.is_none() {
            self.begin(root, None, events);
            events.push(self.created());
        }
        let event = Event::new(kind);
        let event = match &self.task {
            Some(task) => event.with("taskId", task.clone()),
            None => event,
        };
        event.with_some("agentId", self.agent.clone())
    }

    /// Begins a run, and the thread before the first.
    fn begin<'a>(
        &mut self,
        root: Node<'_, 'a>,
        id: Option<Node<'_, 'a>>,
        events: &mut Vec<Event<'a>>,
    ) {
        events.extend(self.opening.open(None, root.raw()));
        self.runs += 1;
        let last = self.task.take();
        self.task = Some(match id.filter(|id| id.is_string() && !id.body().is_empty()) {
            // A message that goes on is a run of its own.
            Some(id) if last.is_some_and(|last| last.as_str() == id.raw()) => {
                Raw::owned(format!("\"{}-{}\"", id.body(), self.runs))
            }
            Some(id) => Raw::owned(id.raw()),
            None => Raw::owned(format!("\"run-{}\"", self.runs)),
        });
        self.calls.clear();
    }

    fn created<'a>(&self) -> Event<'a> {
        Event::new(Kind::TaskCreated)
            .with_some("taskId", self.task.clone())
            .with_some("agentId", self.agent.clone())
            .with("initiator", Raw::Ref("\"user\""))
    }

    fn start<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let id = root.some("messageId");
        self.begin(root, id, events);
        let ev = events.len();
        bind(id, ev, "messageId", marks);
        let metadata = root.some("messageMetadata").filter(|m| m.is_object());
        bind(metadata, ev, "metadata", marks);
        events.push(self.created().with_some("messageId", id).with_some("metadata", metadata));
    }

    fn text<'a>(
        &mut self,
        kind: &str,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (Some(id), reasoning) = (root.get("id"), kind.starts_with("reasoning")) else { return };
        let what = if reasoning { Raw::Ref("\"reasoning\"") } else { Raw::Ref("\"text\"") };
        let event = match (kind.ends_with("-delta"), root.get("delta")) {
            (true, None) => return,
            (true, Some(delta)) if reasoning => {
                let event = self.of_run(Kind::ThoughtStream, root, events);
                let ev = events.len();
                marks.bind(id, ev, "thoughtId");
                marks.bind(delta, ev, "content");
                event
                    .with("thoughtId", id)
                    .with("thoughtType", Raw::Ref("\"thinking\""))
                    .with("verbosity", Raw::Ref("\"normal\""))
                    .with("content", delta)
            }
            (true, Some(delta)) => {
                let event = self.of_run(Kind::ContentDelta, root, events);
                let ev = events.len();
                marks.bind(id, ev, "partId");
                marks.bind(delta, ev, "delta");
                event.with("delta", delta).with("partId", id)
            }
            (false, _) => {
                let start = kind.ends_with("-start");
                let kind = if start { Kind::PartStarted } else { Kind::PartFinished };
                let event = self.of_run(kind, root, events);
                marks.bind(id, events.len(), "partId");
                event.with("partId", id).with("partType", what)
            }
        };
        // Mostly there is nothing beside the type, the id and the delta.
        let usual = if event.kind() == Kind::PartStarted { 5 } else { 7 };
        let event = if root.end_index() - root.index() > usual || event.kind() == Kind::PartFinished
        {
            side(event, root, events.len(), reasoning, marks)
        } else {
            event
        };
        events.push(event);
    }

    fn call<'a>(
        &mut self,
        kind: &str,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (Some(id), Some(name)) = (root.get("toolCallId"), root.get("toolName")) else { return };
        let refused = kind == "tool-input-error";
        let start = kind == "tool-input-start";
        let error = root.get("errorText").filter(|_| refused).map(|e| Raw::owned(e.raw()));
        let known = Call { name: Raw::owned(name.raw()), refused: error };
        self.calls.insert(id.raw().into(), known);
        let kind = if start { Kind::ToolCallStarted } else { Kind::ToolCall };
        let event = self.of_run(kind, root, events);
        let ev = events.len();
        marks.bind(id, ev, "toolCallId");
        marks.bind(name, ev, "toolName");
        let mut event = event.with("toolCallId", id).with("toolName", name);
        if !start {
            bind(root.get("input"), ev, "arguments", marks);
            event = event.with("arguments", root.get("input").map_or(Raw::Ref("null"), Raw::from));
        }
        bind(root.some("providerExecuted"), ev, "providerExecuted", marks);
        let mut metadata = Gather::new(ev).take(root, TOOL_SIDE, marks);
        if refused {
            metadata.set("invalid", "true");
        }
        events.push(
            event
                .with_some("providerExecuted", root.some("providerExecuted"))
                .with_some("metadata", metadata.finish()),
        );
        if refused {
            let event = self.of_run(Kind::ToolComplete, root, events);
            bind(root.get("errorText"), events.len(), "error", marks);
            events.push(
                event
                    .with("toolCallId", id)
                    .with("toolName", name)
                    .with("success", Raw::Ref("false"))
                    .with_some("error", root.get("errorText"))
                    .with("outcome", Raw::Ref("\"validation_error\"")),
            );
        }
    }

    fn output<'a>(
        &mut self,
        kind: &str,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(id) = root.get("toolCallId") else { return };
        let call = self.calls.get(id.raw());
        let name = call.map(|c| c.name.clone());
        let again = root.get("errorText").zip(call.and_then(|c| c.refused.as_ref()));
        if kind == "tool-output-error" && again.is_some_and(|(e, was)| e.raw() == was.as_str()) {
            // ai 6 says twice that an input was refused: the event is there already.
            marks.implied(id);
            bind_implied(root.get("errorText"), marks);
            return;
        }
        let event = self.of_run(Kind::ToolComplete, root, events);
        let ev = events.len();
        marks.bind(id, ev, "toolCallId");
        let event = event.with("toolCallId", id).with_some("toolName", name);
        let event = match kind {
            "tool-output-available" => {
                bind(root.get("output"), ev, "result", marks);
                event
                    .with("success", Raw::Ref("true"))
                    .with("result", root.get("output").map_or(Raw::Ref("null"), Raw::from))
            }
            "tool-output-error" => {
                bind(root.get("errorText"), ev, "error", marks);
                event
                    .with("success", Raw::Ref("false"))
                    .with_some("error", root.get("errorText"))
                    .with("outcome", Raw::Ref("\"failed\""))
            }
            _ => event.with("success", Raw::Ref("false")).with("outcome", Raw::Ref("\"denied\"")),
        };
        bind(root.some("preliminary"), ev, "preliminary", marks);
        bind(root.some("providerExecuted"), ev, "providerExecuted", marks);
        let metadata = Gather::new(ev).take(root, TOOL_SIDE, marks);
        events.push(
            event
                .with_some("preliminary", root.some("preliminary"))
                .with_some("providerExecuted", root.some("providerExecuted"))
                .with_some("metadata", metadata.finish()),
        );
    }

    fn approval<'a>(
        &mut self,
        kind: &str,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(id) = root.get("approvalId") else { return };
        let reason = root.some("reason").filter(|r| r.is_string());
        if kind == "tool-approval-response" {
            let event = self.of_run(Kind::InputReceived, root, events);
            let ev = events.len();
            marks.bind(id, ev, "inputId");
            let value = answer(root, ev, marks);
            let side = ["providerExecuted", "providerMetadata"];
            let metadata = Gather::new(ev).take(root, &side, marks).finish();
            events.push(
                event
                    .with("inputId", id)
                    .with("providedBy", Raw::Ref("\"user\""))
                    .with("value", value)
                    .with_some("metadata", metadata),
            );
            return;
        }
        let call = root.get("toolCallId");
        let name = call.and_then(|id| self.calls.get(id.raw())).and_then(|c| c.name.str());
        let asked = Raw::string(&approval_prompt(name.as_deref().unwrap_or("the tool")));
        let event = self.of_run(Kind::InputRequired, root, events);
        let ev = events.len();
        marks.bind(id, ev, "inputId");
        bind(call, ev, "toolCallId", marks);
        bind(reason, ev, "prompt", marks);
        let side = ["approvalDescriptor", "inputSchemaInput", "isAutomatic", "signature"];
        let metadata = Gather::new(ev).take(root, &side, marks).finish();
        events.push(
            event
                .with("inputId", id)
                .with("inputType", Raw::Ref("\"confirmation\""))
                .with("prompt", reason.map_or(asked, Raw::from))
                .with_some("toolCallId", call)
                .with_some("metadata", metadata),
        );
    }

    fn source<'a>(
        &mut self,
        kind: &str,
        root: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let event = self.of_run(Kind::Source, root, events);
        events.push(source(event, kind, root, events.len(), marks));
    }

    fn finish<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let event = self.of_run(Kind::TaskComplete, root, events);
        let reason = root.some("finishReason").filter(|r| r.is_string());
        bind_implied(reason, marks);
        let metadata = root.some("messageMetadata").filter(|m| m.is_object());
        bind(metadata, events.len(), "metadata", marks);
        events.push(
            event
                .with_some("finishReason", reason.map(|r| Raw::Ref(finish_reason_in(r.body()))))
                .with_some("metadata", metadata),
        );
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::AiSdkStream;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let Some(kind) = root.get("type") else { return };
        let known = match kind.body() {
            "text-start" | "text-delta" | "text-end" | "reasoning-start" | "reasoning-delta"
            | "reasoning-end" => {
                self.text(kind.body(), root, marks, events);
                true
            }
            "tool-input-delta" => {
                let (id, delta) = (root.get("toolCallId"), root.get("inputTextDelta"));
                let event = self.of_run(Kind::ToolCallDelta, root, events);
                bind(id, events.len(), "toolCallId", marks);
                bind(delta, events.len(), "delta", marks);
                events.push(event.with_some("toolCallId", id).with_some("delta", delta));
                true
            }
            "tool-input-start" | "tool-input-available" | "tool-input-error" => {
                self.call(kind.body(), root, marks, events);
                true
            }
            "tool-output-available" | "tool-output-error" | "tool-output-denied" => {
                self.output(kind.body(), root, marks, events);
                true
            }
            "tool-approval-request" | "tool-approval-response" => {
                self.approval(kind.body(), root, marks, events);
                true
            }
            "source-url" | "source-document" | "file" | "reasoning-file" => {
                self.source(kind.body(), root, marks, events);
                true
            }
            "start" => {
                self.start(root, marks, events);
                true
            }
            "start-step" => {
                let event = self.of_run(Kind::StepStarted, root, events);
                events.push(event);
                true
            }
            "finish-step" => {
                let event = self.of_run(Kind::StepFinished, root, events);
                events.push(event);
                true
            }
            "reset-step" => {
                let event = self.of_run(Kind::AttemptSuperseded, root, events);
                events.push(event);
                true
            }
            "finish" => {
                self.finish(root, marks, events);
                true
            }
            "abort" => {
                let event = self.of_run(Kind::TaskStatus, root, events);
                let reason = root.some("reason").filter(|r| r.is_string());
                bind(reason, events.len(), "message", marks);
                events.push(
                    event.with("status", Raw::Ref("\"canceled\"")).with_some("message", reason),
                );
                true
            }
            "error" => {
                let event = self.of_run(Kind::Error, root, events);
                let text = root.get("errorText");
                bind(text, events.len(), "message", marks);
                events.push(event.with_some("message", text));
                true
            }
            "message-metadata" | "custom" => {
                let event = self.of_run(Kind::System, root, events);
                let event = system(event, kind.body(), root, events.len(), marks);
                events.extend(event);
                true
            }
            "steering-message" => {
                let event = self.of_run(Kind::Message, root, events);
                let event = steering(event, root, events.len(), marks);
                events.extend(event);
                true
            }
            other => match other.strip_prefix("data-") {
                Some(name) if kind.is_string() => {
                    let event = self.of_run(Kind::System, root, events);
                    let event = data(event, name, root, events.len(), marks);
                    events.push(event);
                    true
                }
                _ => false,
            },
        };
        if known {
            marks.fixed(kind);
        }
    }
}

fn bind_implied(node: Option<Node<'_, '_>>, marks: &mut Marks) {
    if let Some(node) = node {
        marks.implied(node);
    }
}

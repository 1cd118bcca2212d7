//! UIMessages to events.

use crate::dialect::ai_sdk::meta::Gather;
use crate::dialect::ai_sdk::read::{answer, bind, data, side, source, steering, system};
use crate::dialect::ai_sdk::{approval_prompt, content};
use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

/// Reads one message after the other.
pub(super) struct Reader {
    opening: Opening,
    agent: Option<Raw<'static>>,
    task: Option<Raw<'static>>,
    runs: u32,
}

/// Whether the run that a message tells of is over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Over,
    Open,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: options.agent.as_deref().map(Raw::string),
            task: None,
            runs: 0,
        }
    }

    /// An event of the run at hand.
    fn of_run<'a>(&self, kind: Kind) -> Event<'a> {
        Event::new(kind)
            .with_some("taskId", self.task.clone())
            .with_some("agentId", self.agent.clone())
    }

    /// A user's or system's message.
    fn message<'a>(
        &self,
        root: Node<'_, 'a>,
        parts: Node<'_, 'a>,
        role: &'static str,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let ev = events.len();
        bind(root.get("id"), ev, "messageId", marks);
        let metadata = root.some("metadata").filter(|m| m.is_object());
        bind(metadata, ev, "metadata", marks);
        let content = content::read(parts, ev, marks);
        events.push(
            Event::new(Kind::Message)
                .with_some("messageId", root.get("id"))
                .with("role", Raw::Ref(role))
                .with("content", content)
                .with_some("metadata", metadata),
        );
        for part in parts.children() {
            // Data that the message itself has, not the run that follows.
            let side = Raw::Ref("{\"part\":\"message-data\"}");
            self.data_part(part, Event::new(Kind::System).with("metadata", side), marks, events);
        }
    }

    fn data_part<'a>(
        &self,
        part: Node<'_, 'a>,
        event: Event<'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(kind) = part.get("type").filter(|t| t.is_string()) else { return };
        if let Some(name) = kind.body().strip_prefix("data-") {
            marks.implied(kind);
            events.push(data(event, name, part, events.len(), marks));
        }
    }

    fn begin<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        self.runs += 1;
        let id = root.some("id").filter(|id| id.is_string());
        let last = self.task.take();
        self.task = Some(match id.filter(|id| !id.body().is_empty()) {
            Some(id) if last.is_some_and(|last| last.as_str() == id.raw()) => {
                Raw::owned(format!("\"{}-{}\"", id.body(), self.runs))
            }
            Some(id) => Raw::owned(id.raw()),
            None => Raw::owned(format!("\"run-{}\"", self.runs)),
        });
        let ev = events.len();
        bind(id, ev, "messageId", marks);
        let metadata = root.some("metadata").filter(|m| m.is_object());
        bind(metadata, ev, "metadata", marks);
        events.push(
            self.of_run(Kind::TaskCreated)
                .with("initiator", Raw::Ref("\"user\""))
                .with_some("messageId", id)
                .with_some("metadata", metadata),
        );
    }

    fn assistant<'a>(
        &mut self,
        root: Node<'_, 'a>,
        parts: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        self.begin(root, marks, events);
        marks.list(parts);
        let mut run = Run::Over;
        let mut step = false;
        for part in parts.children() {
            let Some(kind) = part.get("type").filter(|t| t.is_string()) else { continue };
            if kind.is("step-start") {
                if step {
                    events.push(self.of_run(Kind::StepFinished));
                }
                step = true;
                marks.implied(kind);
                events.push(self.of_run(Kind::StepStarted));
            } else if self.part(part, kind, marks, events) == Run::Open {
                run = Run::Open;
            }
        }
        if step && run == Run::Over {
            events.push(self.of_run(Kind::StepFinished));
        }
        if run == Run::Over {
            events.push(self.of_run(Kind::TaskComplete));
        }
    }

    fn part<'a>(
        &self,
        part: Node<'_, 'a>,
        kind: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> Run {
        let ev = events.len();
        match kind.body() {
            "text" | "reasoning" => return self.text(part, kind, marks, events),
            "source-url" | "source-document" | "file" | "reasoning-file" => {
                let event = self.of_run(Kind::Source);
                events.push(source(event, kind.body(), part, ev, marks));
            }
            "custom" => {
                events.extend(system(self.of_run(Kind::System), "custom", part, ev, marks));
            }
            "steering-message" => {
                events.extend(steering(self.of_run(Kind::Message), part, ev, marks));
            }
            "dynamic-tool" => return self.tool(part, kind, None, marks, events),
            other => match other.strip_prefix("tool-") {
                Some(name) => return self.tool(part, kind, Some(name), marks, events),
                None => {
                    self.data_part(part, self.of_run(Kind::System), marks, events);
                    return Run::Over;
                }
            },
        }
        marks.implied(kind);
        Run::Over
    }

    fn text<'a>(
        &self,
        part: Node<'_, 'a>,
        kind: Node<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> Run {
        let Some(text) = part.get("text").filter(|t| t.is_string()) else { return Run::Over };
        let ev = events.len();
        let thought = kind.is("reasoning");
        marks.implied(kind);
        marks.bind(text, ev, "content");
        let event = if thought {
            let id = part.some("id").filter(|id| id.is_string());
            bind(id, ev, "thoughtId", marks);
            self.of_run(Kind::ThoughtStream)
                .with_some("thoughtId", id)
                .with("thoughtType", Raw::Ref("\"thinking\""))
                .with("verbosity", Raw::Ref("\"normal\""))
                .with("content", text)
        } else {
            self.of_run(Kind::ContentComplete).with("content", text)
        };
        events.push(side(event, part, ev, thought, marks));
        match part.some("state") {
            Some(state) if state.is("streaming") => Run::Open,
            Some(state) => {
                marks.implied(state);
                Run::Over
            }
            None => Run::Over,
        }
    }

    fn tool<'a>(
        &self,
        part: Node<'_, 'a>,
        kind: Node<'_, 'a>,
        name: Option<&str>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) -> Run {
        let Some(id) = part.get("toolCallId").filter(|id| id.is_string()) else {
            return Run::Over;
        };
        marks.implied(kind);
        let state = part.get("state").map_or("", Node::body);
        if let Some(state) = part.get("state") {
            marks.implied(state);
        }
        let ev = events.len();
        marks.bind(id, ev, "toolCallId");
        let name = match name {
            Some(name) => Raw::owned(format!("\"{name}\"")),
            None => {
                bind(part.get("toolName"), ev, "toolName", marks);
                part.get("toolName").map_or(Raw::Ref("\"tool\""), Raw::from)
            }
        };
        let streaming = state == "input-streaming";
        let event = self.of_run(if streaming { Kind::ToolCallStarted } else { Kind::ToolCall });
        let mut event = event.with("toolCallId", id).with("toolName", name.clone());
        let raw = part.get("rawInput");
        let refused = part.get("input").is_none() && state == "output-error" && raw.is_some();
        if !streaming {
            let input = part.get("input").or(raw.filter(|_| refused));
            bind(input, ev, "arguments", marks);
            event = event.with("arguments", input.map_or(Raw::Ref("null"), Raw::from));
        }
        bind(part.some("providerExecuted"), ev, "providerExecuted", marks);
        let mut metadata =
            Gather::new(ev).take(part, &["toolMetadata", "title", "inputEncoding"], marks);
        if let Some(given) = part.some("callProviderMetadata") {
            metadata = metadata.put("providerMetadata", given, marks);
        }
        if kind.is("dynamic-tool") {
            metadata.set("dynamic", "true");
        }
        if refused {
            metadata.set("invalid", "true");
        }
        events.push(
            event
                .with_some("providerExecuted", part.some("providerExecuted"))
                .with_some("metadata", metadata.finish()),
        );
        if streaming {
            if let Some(raw) = raw.filter(|r| r.is_string()) {
                marks.bind(raw, events.len(), "delta");
                let event = self.of_run(Kind::ToolCallDelta);
                events.push(event.with("toolCallId", id).with("delta", raw));
            }
            return Run::Open;
        }
        self.approval(part, id, &name, marks, events);
        self.output(part, id, name, (state, refused), marks, events);
        if matches!(state, "approval-requested" | "approval-responded") {
            Run::Open
        } else {
            Run::Over
        }
    }

    fn approval<'a>(
        &self,
        part: Node<'_, 'a>,
        call: Node<'_, 'a>,
        name: &Raw<'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(approval) = part.some("approval").filter(|a| a.is_object()) else { return };
        let Some(id) = approval.get("id") else { return };
        marks.open(approval);
        let ev = events.len();
        marks.bind(id, ev, "inputId");
        let reason = approval.some("requestReason").filter(|r| r.is_string());
        bind(reason, ev, "prompt", marks);
        let asked = || Raw::string(&approval_prompt(&name.str().unwrap_or_default()));
        let mut metadata = Gather::new(ev).take(
            approval,
            &["inputSchemaInput", "isAutomatic", "signature"],
            marks,
        );
        if let Some(descriptor) = approval.some("descriptor") {
            metadata = metadata.put("approvalDescriptor", descriptor, marks);
        }
        events.push(
            self.of_run(Kind::InputRequired)
                .with("inputId", id)
                .with("inputType", Raw::Ref("\"confirmation\""))
                .with("prompt", reason.map_or_else(asked, Raw::from))
                .with("toolCallId", call)
                .with_some("metadata", metadata.finish()),
        );
        if approval.some("approved").is_some() {
            let value = answer(approval, events.len(), marks);
            events.push(
                self.of_run(Kind::InputReceived)
                    .with("inputId", id)
                    .with("providedBy", Raw::Ref("\"user\""))
                    .with("value", value),
            );
        }
    }

    fn output<'a>(
        &self,
        part: Node<'_, 'a>,
        id: Node<'_, 'a>,
        name: Raw<'a>,
        (state, refused): (&str, bool),
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let ev = events.len();
        let event = self.of_run(Kind::ToolComplete).with("toolCallId", id).with("toolName", name);
        let event = match state {
            "output-available" => {
                bind(part.get("output"), ev, "result", marks);
                event
                    .with("success", Raw::Ref("true"))
                    .with("result", part.get("output").map_or(Raw::Ref("null"), Raw::from))
            }
            "output-error" => {
                bind(part.get("errorText"), ev, "error", marks);
                let outcome = if refused { "\"validation_error\"" } else { "\"failed\"" };
                event
                    .with("success", Raw::Ref("false"))
                    .with_some("error", part.get("errorText"))
                    .with("outcome", Raw::Ref(outcome))
            }
            "output-denied" => {
                event.with("success", Raw::Ref("false")).with("outcome", Raw::Ref("\"denied\""))
            }
            _ => return,
        };
        bind(part.some("preliminary"), ev, "preliminary", marks);
        let mut metadata = Gather::new(ev);
        if let Some(given) = part.some("resultProviderMetadata") {
            metadata = metadata.put("providerMetadata", given, marks);
        }
        events.push(
            event
                .with_some("preliminary", part.some("preliminary"))
                .with_some("metadata", metadata.finish()),
        );
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::AiSdkMessages;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let Some(role) = root.get("role") else { return };
        let Some(parts) = root.get("parts").filter(|p| p.is_array()) else { return };
        if !matches!(role.body(), "user" | "system" | "assistant") {
            return;
        }
        events.extend(self.opening.open(None, root.raw()));
        marks.implied(role);
        match role.body() {
            "user" => self.message(root, parts, "\"user\"", marks, events),
            "system" => self.message(root, parts, "\"system\"", marks, events),
            _ => self.assistant(root, parts, marks, events),
        }
    }
}

//! ModelMessages to events.

use crate::dialect::{DecodeOptions, Id, Opening, ReadJson};
use crate::journal::{Event, Kind};
use crate::json::{Doc, Node, Raw, quote};
use crate::residue::Marks;

/// Reads one message after the other.
pub(super) struct Reader {
    opening: Opening,
    agent: Raw<'static>,
    joined: bool,
    task: Option<Raw<'static>>,
    thoughts: usize,
}

impl Reader {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        Self {
            opening: Opening::new(options),
            agent: Raw::string(options.agent.as_deref().unwrap_or("agent")),
            joined: false,
            task: None,
            thoughts: 0,
        }
    }

    /// Begins the thread and the run, where this message is the first of either.
    fn begin<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let conversation = root.some("conversation_id");
        if let Some(event) = self.opening.open(conversation.map(Raw::from), root.raw()) {
            events.push(event.with_some("timestamp", root.some("timestamp")));
        }
        if let Some(id) = conversation {
            marks.implied(id);
        }
        let run = root.some("run_id");
        if let Some(run) = run {
            marks.implied(run);
        }
        let same = match (&self.task, run) {
            (Some(task), Some(run)) => task.as_str() == run.raw(),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if !same {
            let task = run.map_or_else(|| Raw::string("run-1"), |run| Raw::owned(run.raw()));
            events.push(
                Event::new(Kind::TaskCreated)
                    .with("taskId", task.clone())
                    .with("initiator", Raw::Ref("\"user\""))
                    .with_some("timestamp", root.some("timestamp")),
            );
            self.task = Some(task);
        }
    }

    fn event<'a>(&self, kind: Kind) -> Event<'a> {
        let task = self.task.clone().unwrap_or(Raw::Ref("\"run-1\""));
        Event::new(kind).with("taskId", task)
    }

    fn agent_event<'a>(&self, kind: Kind) -> Event<'a> {
        self.event(kind).with("agentId", self.agent.clone())
    }

    fn request_part<'a>(
        &self,
        part: Node<'_, 'a>,
        at: Option<Node<'_, 'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let (Some(kind), Some(content)) = (part.get("part_kind"), part.get("content")) else {
            return;
        };
        let ev = events.len();
        let time = part.some("timestamp");
        let stamp = time.or(at);
        let mut event = match kind.body() {
            "user-prompt" => {
                let event = self.event(Kind::Message).with("role", Raw::Ref("\"user\""));
                if content.is_array() {
                    event.with("content", user_content(content, ev, marks))
                } else {
                    marks.bind(content, ev, "content");
                    event.with("content", content)
                }
            }
            "system-prompt" => {
                marks.bind(content, ev, "content");
                self.event(Kind::Message)
                    .with("role", Raw::Ref("\"system\""))
                    .with("content", content)
            }
            "tool-return" => self.tool_return(part, content, ev, marks),
            "retry-prompt" if part.some("tool_name").is_some() => {
                marks.bind(content, ev, "result");
                let name = part.get("tool_name");
                bind_some(name, ev, "toolName", marks);
                bind_some(part.get("tool_call_id"), ev, "toolCallId", marks);
                let outcome =
                    if content.is_array() { "\"validation_error\"" } else { "\"retried\"" };
                self.event(Kind::ToolComplete)
                    .with_some("toolCallId", part.get("tool_call_id"))
                    .with_some("toolName", name)
                    .with("success", Raw::Ref("false"))
                    .with("outcome", Raw::Ref(outcome))
                    .with("result", content)
            }
            "retry-feedback" | "retry-prompt" => {
                marks.bind(content, ev, "data");
                self.event(Kind::System)
                    .with("name", Raw::Ref("\"retry_feedback\""))
                    .with("data", content)
            }
            _ => return,
        };
        marks.implied(kind);
        if let Some(stamp) = stamp {
            event = event.with("timestamp", stamp);
        }
        bind_some(time, ev, "timestamp", marks);
        events.push(event);
    }

    fn tool_return<'a>(
        &self,
        part: Node<'_, 'a>,
        content: Node<'_, 'a>,
        ev: usize,
        marks: &mut Marks,
    ) -> Event<'a> {
        let name = part.get("tool_name");
        let id = part.get("tool_call_id");
        marks.bind(content, ev, "result");
        bind_some(name, ev, "toolName", marks);
        bind_some(id, ev, "toolCallId", marks);
        let outcome = part.some("outcome");
        let success = outcome.is_none_or(|o| o.is("success"));
        let invalid = part
            .some("retry")
            .and_then(|r| r.get("cause"))
            .is_some_and(|c| c.is("validation_error"));
        if let Some(outcome) = outcome {
            marks.implied(outcome);
        }
        self.event(Kind::ToolComplete)
            .with_some("toolCallId", id)
            .with_some("toolName", name)
            .with("success", Raw::Ref(if success { "true" } else { "false" }))
            .with_some(
                "outcome",
                if invalid {
                    Some(Raw::Ref("\"validation_error\""))
                } else {
                    outcome.map(Raw::from)
                },
            )
            .with("result", content)
    }

    fn response_part<'a>(
        &mut self,
        part: Node<'_, 'a>,
        at: Option<Node<'_, 'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let Some(kind) = part.get("part_kind") else { return };
        let ev = events.len();
        let content = part.get("content");
        let event = match (kind.body(), content) {
            ("text", Some(content)) => {
                marks.bind(content, ev, "content");
                self.agent_event(Kind::ContentComplete).with("content", content)
            }
            ("thinking", Some(content)) => {
                marks.bind(content, ev, "content");
                let signature = part.some("signature");
                let provider = part.some("provider_name");
                let id = part.some("id");
                bind_some(signature, ev, "signature", marks);
                bind_some(provider, ev, "providerName", marks);
                bind_some(id, ev, "thoughtId", marks);
                let id = id.map_or_else(|| self.mint_thought(), Raw::from);
                self.agent_event(Kind::ThoughtStream)
                    .with("thoughtId", id)
                    .with("thoughtType", Raw::Ref("\"thinking\""))
                    .with("verbosity", Raw::Ref("\"normal\""))
                    .with("content", content)
                    .with_some("signature", signature)
                    .with_some("providerName", provider)
            }
            ("tool-call" | "builtin-tool-call", _) => self.tool_call(part, kind, ev, marks),
            ("builtin-tool-return", Some(content)) => {
                let mut event = self.tool_return(part, content, ev, marks);
                bind_some(part.some("timestamp"), ev, "timestamp", marks);
                if let Some(time) = part.some("timestamp").or(at) {
                    event = event.with("timestamp", time);
                }
                marks.implied(kind);
                events.push(event);
                return;
            }
            ("file", Some(content)) if content.get("data").is_some() => {
                marks.open(content);
                bind_some(content.get("data"), ev, "data", marks);
                bind_some(content.some("media_type"), ev, "mimeType", marks);
                bind_some(content.some("identifier"), ev, "artifactId", marks);
                self.agent_event(Kind::FileWrite)
                    .with_some("artifactId", content.some("identifier"))
                    .with_some("data", content.get("data"))
                    .with("index", Raw::Ref("0"))
                    .with("complete", Raw::Ref("true"))
                    .with_some("mimeType", content.some("media_type"))
                    .with("encoding", Raw::Ref("\"base64\""))
            }
            _ => return,
        };
        marks.implied(kind);
        events.push(event.with_some("timestamp", at));
    }

    /// An id for a thought that has none.
    fn mint_thought<'a>(&mut self) -> Raw<'a> {
        self.thoughts += 1;
        Raw::owned(format!("{MINTED_THOUGHT}{}\"", self.thoughts))
    }

    fn tool_call<'a>(
        &self,
        part: Node<'_, 'a>,
        kind: Node<'_, 'a>,
        ev: usize,
        marks: &mut Marks,
    ) -> Event<'a> {
        let name = part.get("tool_name");
        let id = part.get("tool_call_id");
        bind_some(name, ev, "toolName", marks);
        bind_some(id, ev, "toolCallId", marks);
        let event = self
            .agent_event(Kind::ToolCall)
            .with_some("toolCallId", id)
            .with_some("toolName", name);
        let event = match part.get("args") {
            // Arguments come as the text the model wrote; if it is JSON, that is the value.
            Some(args) if args.is_string() => match inner_json(args) {
                Some(inner) => {
                    marks.quoted(args, ev, "arguments");
                    event.with("arguments", inner)
                }
                None => {
                    marks.bind(args, ev, "arguments");
                    event.with("arguments", args)
                }
            },
            Some(args) if !args.is_null() => {
                marks.bind(args, ev, "arguments");
                event.with("arguments", args)
            }
            _ => event.with("arguments", Raw::Ref("{}")),
        };
        if kind.is("builtin-tool-call") {
            event.with("providerExecuted", Raw::Ref("true"))
        } else {
            event
        }
    }
}

impl ReadJson for Reader {
    const ID: Id = Id::PydanticAi;

    fn read<'a>(&mut self, root: Node<'_, 'a>, marks: &mut Marks, events: &mut Vec<Event<'a>>) {
        let Some(kind) = root.get("kind") else { return };
        let Some(parts) = root.get("parts").filter(|p| p.is_array()) else { return };
        self.begin(root, marks, events);
        let at = root.some("timestamp");
        marks.implied(kind);
        marks.list(parts);
        if kind.is("request") {
            for part in parts.children() {
                self.request_part(part, at, marks, events);
            }
        } else if kind.is("response") {
            if !self.joined {
                self.joined = true;
                events.push(
                    Event::new(Kind::ParticipantJoined)
                        .with("participantId", self.agent.clone())
                        .with("role", Raw::Ref("\"agent\""))
                        .with_some("model", root.some("model_name"))
                        .with_some("timestamp", at),
                );
            }
            events.push(self.agent_event(Kind::StepStarted).with_some("timestamp", at));
            for part in parts.children() {
                self.response_part(part, at, marks, events);
            }
            let ev = events.len();
            let finish = root.some("finish_reason");
            let reason = finish.map(|f| {
                marks.implied(f);
                if f.is("tool_call") { Raw::Ref("\"tool_calls\"") } else { Raw::from(f) }
            });
            bind_some(root.some("usage"), ev, "usage", marks);
            bind_some(root.some("model_name"), ev, "model", marks);
            bind_some(root.some("provider_name"), ev, "providerName", marks);
            bind_some(at, ev, "timestamp", marks);
            events.push(
                self.agent_event(Kind::StepFinished)
                    .with_some("finishReason", reason)
                    .with_some("usage", root.some("usage"))
                    .with_some("model", root.some("model_name"))
                    .with_some("providerName", root.some("provider_name"))
                    .with_some("timestamp", at),
            );
        }
    }
}

fn bind_some(node: Option<Node<'_, '_>>, ev: usize, field: &'static str, marks: &mut Marks) {
    if let Some(node) = node {
        marks.bind(node, ev, field);
    }
}

/// The JSON object inside a string, if that is what the string holds.
fn inner_json<'a>(args: Node<'_, 'a>) -> Option<Raw<'a>> {
    let text = args.str()?;
    if !text.starts_with('{') || !text.ends_with('}') || Doc::parse(&text).is_err() {
        return None;
    }
    Some(match text {
        std::borrow::Cow::Borrowed(text) => Raw::Ref(text),
        std::borrow::Cow::Owned(text) => Raw::owned(text),
    })
}

/// The items of a user prompt as content parts.
fn user_content<'a>(items: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Raw<'a> {
    let mut out = String::from("[");
    let mut count = 0;
    marks.list(items);
    for item in items.children() {
        let kind = item.get("kind");
        let part = match kind.as_ref().map(|k| k.body()) {
            None if item.is_string() => Some(("text", vec![("text", item)])),
            Some("text-content" | "structured-content") => {
                item.get("content").map(|c| ("text", vec![("text", c)]))
            }
            Some("image-url") => media(item, "image", "image_url", "url"),
            Some("audio-url") => media(item, "audio", "url", "url"),
            Some("video-url") => media(item, "video", "url", "url"),
            Some("document-url") => media(item, "file", "url", "url"),
            Some("binary") => {
                let class = media_class(item);
                media(item, class, if class == "image" { "image_base64" } else { "data" }, "data")
            }
            Some("uploaded-file") => media(item, "file", "name", "file_id"),
            _ => None,
        };
        let Some((class, fields)) = part else { continue };
        if let Some(kind) = kind {
            marks.implied(kind);
        }
        if count > 0 {
            out.push(',');
        }
        out.push_str("{\"type\":");
        out.push_str(&quote(class));
        for (name, node) in fields {
            out.push(',');
            out.push_str(&quote(name));
            out.push(':');
            out.push_str(node.raw());
            marks.bind_at(node, ev, "content", &format!("/{count}/{name}"));
        }
        out.push('}');
        count += 1;
    }
    out.push(']');
    Raw::owned(out)
}

type Part<'d, 'a> = (&'static str, Vec<(&'static str, Node<'d, 'a>)>);

fn media<'d, 'a>(
    item: Node<'d, 'a>,
    class: &'static str,
    name: &'static str,
    key: &str,
) -> Option<Part<'d, 'a>> {
    let mut fields = vec![(name, item.get(key)?)];
    if let Some(media_type) = item.some("media_type") {
        fields.push(("media_type", media_type));
    }
    Some((class, fields))
}

fn media_class(item: Node<'_, '_>) -> &'static str {
    let media_type = item.get("media_type").and_then(|m| m.str()).unwrap_or_default();
    match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "file",
    }
}

/// What ids of thoughts begin with where the wire has none.
const MINTED_THOUGHT: &str = "\"pydantic-ai:thought:";

/// Whether a thought's id was made up by the decoder.
pub(super) fn is_minted_thought(id: &Raw<'_>) -> bool {
    id.starts_with(MINTED_THOUGHT)
}

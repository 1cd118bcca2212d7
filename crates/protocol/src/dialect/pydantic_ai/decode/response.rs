//! The parts of responses.

use super::content::speech;
use super::{MINTED_THOUGHT, Message, Reader, bind_some, known};
use crate::dialect::draft::inner_json;
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    pub(super) fn response<'a>(
        &mut self,
        parts: Node<'_, 'a>,
        message: &Message<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let at = message.timestamp;
        if !self.joined {
            self.joined = true;
            events.push(
                Event::new(Kind::ParticipantJoined)
                    .with("participantId", self.agent.clone())
                    .with("role", Raw::Ref("\"agent\""))
                    .with_some("model", message.model)
                    .with_some("timestamp", at),
            );
        }
        events.push(self.agent_event(Kind::StepStarted).with_some("timestamp", at));
        for part in parts.children() {
            self.response_part(part, at, marks, events);
        }
        let ev = events.len();
        let interrupted = message.state.filter(|state| state.is("interrupted"));
        let reason = match (message.finish, interrupted) {
            (Some(finish), _) => {
                marks.implied(finish);
                Some(match finish.is("tool_call") {
                    true => Raw::Ref("\"tool_calls\""),
                    false => Raw::from(finish),
                })
            }
            (None, Some(state)) => {
                marks.implied(state);
                Some(Raw::Ref("\"interrupted\""))
            }
            (None, None) => None,
        };
        bind_some(message.usage, ev, "usage", marks);
        bind_some(message.model, ev, "model", marks);
        bind_some(message.provider, ev, "providerName", marks);
        bind_some(at, ev, "timestamp", marks);
        events.push(
            self.agent_event(Kind::StepFinished)
                .with_some("finishReason", reason)
                .with_some("usage", message.usage)
                .with_some("model", message.model)
                .with_some("providerName", message.provider)
                .with_some("timestamp", at),
        );
    }

    fn response_part<'a>(
        &mut self,
        part: Node<'_, 'a>,
        at: Option<Node<'_, 'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        let [content, timestamp, citations, kind] =
            part.select(["content", "timestamp", "citations", "part_kind"]);
        let Some(kind) = kind else { return };
        let ev = events.len();
        let mut time = at;
        let event = match (kind.body(), content) {
            ("text", Some(content)) => {
                marks.bind(content, ev, "content");
                self.agent_event(Kind::ContentComplete).with("content", content)
            }
            ("thinking", Some(content)) => self.thinking(part, content, ev, marks),
            ("tool-call" | "builtin-tool-call", _) => self.tool_call(part, kind, ev, marks),
            ("builtin-tool-return", Some(content)) => {
                bind_some(known(timestamp), ev, "timestamp", marks);
                time = known(timestamp).or(at);
                self.tool_return(part, content, ev, marks)
            }
            ("file", Some(content)) if content.get("data").is_some() => {
                self.file(content, ev, marks)
            }
            ("compaction", Some(content)) if !content.is_null() => {
                self.system("\"compaction\"", content, ev, marks)
            }
            ("speech", _) => {
                let Some(transcript) = part.some("transcript") else { return };
                let Some(content) = speech(part, ev, marks) else { return };
                if content.is_array() {
                    self.agent_event(Kind::Message)
                        .with("role", Raw::Ref("\"agent\""))
                        .with("content", content)
                } else {
                    self.agent_event(Kind::ContentComplete).with("content", transcript)
                }
            }
            _ => return,
        };
        marks.fixed(kind);
        events.push(event.with_some("timestamp", time));
        if let Some(citations) = known(citations).filter(|c| c.is_array()) {
            self.sources(citations, at, marks, events);
        }
    }

    fn thinking<'a>(
        &mut self,
        part: Node<'_, 'a>,
        content: Node<'_, 'a>,
        ev: usize,
        marks: &mut Marks,
    ) -> Event<'a> {
        let [id, signature, provider] = part.select(["id", "signature", "provider_name"]);
        let (id, signature, provider) = (known(id), known(signature), known(provider));
        marks.bind(content, ev, "content");
        bind_some(signature, ev, "signature", marks);
        bind_some(provider, ev, "providerName", marks);
        bind_some(id, ev, "thoughtId", marks);
        let id = id.map_or_else(
            || {
                self.thoughts += 1;
                Raw::owned(format!("{MINTED_THOUGHT}{}\"", self.thoughts))
            },
            Raw::from,
        );
        self.agent_event(Kind::ThoughtStream)
            .with("thoughtId", id)
            .with("thoughtType", Raw::Ref("\"thinking\""))
            .with("verbosity", Raw::Ref("\"normal\""))
            .with("content", content)
            .with_some("signature", signature)
            .with_some("providerName", provider)
    }

    fn tool_call<'a>(
        &self,
        part: Node<'_, 'a>,
        kind: Node<'_, 'a>,
        ev: usize,
        marks: &mut Marks,
    ) -> Event<'a> {
        let [name, args, id, provider] =
            part.select(["tool_name", "args", "tool_call_id", "provider_name"]);
        bind_some(name, ev, "toolName", marks);
        bind_some(id, ev, "toolCallId", marks);
        bind_some(known(provider), ev, "providerName", marks);
        let event = self
            .agent_event(Kind::ToolCall)
            .with_some("toolCallId", id)
            .with_some("toolName", name);
        let event = match args {
            // Arguments come as the text the model wrote; if it is JSON, that is the value.
            Some(args) if args.is_string() => match inner_json(args).filter(Raw::is_object) {
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
        let event = event.with_some("providerName", known(provider));
        if kind.is("builtin-tool-call") {
            event.with("providerExecuted", Raw::Ref("true"))
        } else {
            event
        }
    }

    fn file<'a>(&self, content: Node<'_, 'a>, ev: usize, marks: &mut Marks) -> Event<'a> {
        let [data, media_type, identifier] = content.select(["data", "media_type", "identifier"]);
        let (media_type, identifier) = (known(media_type), known(identifier));
        marks.open(content);
        bind_some(data, ev, "data", marks);
        bind_some(media_type, ev, "mimeType", marks);
        bind_some(identifier, ev, "artifactId", marks);
        self.agent_event(Kind::FileWrite)
            .with_some("artifactId", identifier)
            .with_some("data", data)
            .with("index", Raw::Ref("0"))
            .with("complete", Raw::Ref("true"))
            .with_some("mimeType", media_type)
            .with("encoding", Raw::Ref("\"base64\""))
    }

    /// Web pages that a text rests on.
    fn sources<'a>(
        &self,
        citations: Node<'_, 'a>,
        at: Option<Node<'_, 'a>>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        marks.list(citations);
        for citation in citations.children() {
            let Some(sources) = citation.get("sources").filter(|s| s.is_array()) else { continue };
            marks.list(sources);
            for source in sources.children() {
                let Some(url) = source.some("url").filter(|url| url.is_string()) else { continue };
                let title = source.some("title");
                let ev = events.len();
                marks.bind(url, ev, "url");
                bind_some(title, ev, "title", marks);
                events.push(
                    self.agent_event(Kind::Source)
                        .with("url", url)
                        .with_some("title", title)
                        .with_some("timestamp", at),
                );
            }
        }
    }
}

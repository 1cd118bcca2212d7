//! The parts of requests.

use super::content::{speech, user_content};
use super::{Message, Reader, bind_some, known};
use crate::journal::{Event, Kind};
use crate::json::{Node, Raw};
use crate::residue::Marks;

impl Reader {
    pub(super) fn request<'a>(
        &self,
        parts: Node<'_, 'a>,
        message: &Message<'_, 'a>,
        marks: &mut Marks,
        events: &mut Vec<Event<'a>>,
    ) {
        // The id of the UI message that the request answers belongs to its first prompt.
        let mut id = ui_message_id(message.metadata, marks);
        for part in parts.children() {
            let ev = events.len();
            let [content, timestamp, kind] = part.select(["content", "timestamp", "part_kind"]);
            let (Some(kind), time) = (kind, known(timestamp)) else { continue };
            let Some(mut event) = self.request_part(part, kind, content, ev, marks) else {
                continue;
            };
            if kind.is("user-prompt")
                && let Some(id) = id.take()
            {
                marks.bind(id, ev, "messageId");
                event = event.with("messageId", id);
            }
            marks.fixed(kind);
            bind_some(time, ev, "timestamp", marks);
            events.push(event.with_some("timestamp", time.or(message.timestamp)));
        }
    }

    fn request_part<'a>(
        &self,
        part: Node<'_, 'a>,
        kind: Node<'_, 'a>,
        content: Option<Node<'_, 'a>>,
        ev: usize,
        marks: &mut Marks,
    ) -> Option<Event<'a>> {
        Some(match (kind.body(), content) {
            ("user-prompt", Some(content)) => {
                let event = self.event(Kind::Message).with("role", Raw::Ref("\"user\""));
                if content.is_array() {
                    event.with("content", user_content(content, ev, marks))
                } else {
                    marks.bind(content, ev, "content");
                    event.with("content", content)
                }
            }
            ("system-prompt", Some(content)) => {
                marks.bind(content, ev, "content");
                self.event(Kind::Message)
                    .with("role", Raw::Ref("\"system\""))
                    .with("content", content)
            }
            ("tool-return", Some(content)) => self.tool_return(part, content, ev, marks),
            ("retry-prompt", Some(content)) if part.some("tool_name").is_some() => {
                let [name, id] = part.select(["tool_name", "tool_call_id"]);
                marks.bind(content, ev, "result");
                bind_some(name, ev, "toolName", marks);
                bind_some(id, ev, "toolCallId", marks);
                let outcome =
                    if content.is_array() { "\"validation_error\"" } else { "\"retried\"" };
                self.event(Kind::ToolComplete)
                    .with_some("toolCallId", id)
                    .with_some("toolName", name)
                    .with("success", Raw::Ref("false"))
                    .with("outcome", Raw::Ref(outcome))
                    .with("result", content)
            }
            ("retry-feedback" | "retry-prompt", Some(content)) => {
                self.system("\"retry_feedback\"", content, ev, marks)
            }
            ("compaction", Some(content)) if !content.is_null() => {
                self.system("\"compaction\"", content, ev, marks)
            }
            ("speech", _) => {
                let content = speech(part, ev, marks)?;
                let speaker = part.some("speaker");
                let user = speaker.is_none_or(|s| s.is("user"));
                if let Some(speaker) = speaker {
                    marks.implied(speaker);
                }
                let event =
                    if user { self.event(Kind::Message) } else { self.agent_event(Kind::Message) };
                event
                    .with("role", Raw::Ref(if user { "\"user\"" } else { "\"agent\"" }))
                    .with("content", content)
            }
            ("tool-availability-delta", _) => {
                self.system("\"tool-availability-delta\"", part.some("tools_added")?, ev, marks)
            }
            ("capability-load-delta", _) => {
                self.system("\"capability-load-delta\"", part.some("loaded")?, ev, marks)
            }
            ("model-settings-delta", _) => {
                self.system("\"model-settings-delta\"", part.some("settings")?, ev, marks)
            }
            _ => return None,
        })
    }
}

/// Where the peer's adapters keep the id of a UI message.
fn ui_message_id<'d, 'a>(
    metadata: Option<Node<'d, 'a>>,
    marks: &mut Marks,
) -> Option<Node<'d, 'a>> {
    let metadata = metadata?;
    let own = metadata.some("__pydantic_ai__")?;
    let id = own.some("ui_message_id").filter(|id| id.is_string())?;
    marks.open(metadata);
    marks.open(own);
    Some(id)
}

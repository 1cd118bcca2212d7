//! What a client of the AI SDK asks for: its chat as it knows it, and what is to be done with it.

use selvedge_protocol::dialect::{self, DecodeOptions, Frames, Start, ai_sdk_messages};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Node;

use crate::surface::native::messages::checked_id;
use crate::surface::native::threads::{named_id, text_member};
use crate::{Error, ErrorCode};

/// A request of `DefaultChatTransport`.
pub(super) struct Asked<'a> {
    /// The chat, which is the thread.
    pub(super) id: String,
    /// There is at least one.
    pub(super) messages: Vec<Message<'a>>,
    pub(super) trigger: Trigger,
    /// The message it is about, if the client says.
    pub(super) about: Option<String>,
    /// Who is to answer.
    pub(super) agent: Option<String>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    Submit,
    Regenerate,
}

/// A UIMessage.
pub(super) struct Message<'a> {
    pub(super) id: String,
    pub(super) role: Role,
    pub(super) node: Node<'a, 'a>,
    /// Where it stands in the body.
    pub(super) pointer: String,
}

/// Who says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    System,
}

impl<'a> Asked<'a> {
    pub(super) fn read(root: Node<'a, 'a>) -> Result<Self, Error> {
        let Some(id) = text_member(root, "id")? else {
            return Err(wrong("`id` must be the chat's id", "/id"));
        };
        let id = named_id(Some(id), "id")?;
        let trigger = match text_member(root, "trigger")?.as_deref() {
            None | Some("submit-message") => Trigger::Submit,
            Some("regenerate-message") => Trigger::Regenerate,
            Some(_) => {
                let message = "`trigger` must be submit-message or regenerate-message";
                return Err(wrong(message, "/trigger"));
            }
        };
        let list = root.some("messages").filter(|messages| messages.is_array());
        let Some(list) = list else {
            return Err(wrong("`messages` must be an array of UIMessages", "/messages"));
        };
        let messages = list.children().enumerate();
        let messages: Vec<_> =
            messages.map(|(i, node)| Message::read(node, i)).collect::<Result<_, _>>()?;
        if messages.is_empty() {
            return Err(wrong("`messages` is empty: what is to be answered?", "/messages"));
        }
        let about = text_member(root, "messageId")?;
        let agent = text_member(root, "agent")?;
        Ok(Self { id, messages, trigger, about, agent })
    }

    /// The message that the client wants to be answered, or that has its answers.
    pub(super) fn last(&self) -> Result<&Message<'a>, Error> {
        self.messages.last().ok_or_else(|| wrong("`messages` is empty", "/messages"))
    }
}

impl<'a> Message<'a> {
    fn read(node: Node<'a, 'a>, at: usize) -> Result<Self, Error> {
        let pointer = format!("/messages/{at}");
        let text = |name: &str| text_member(node, name).map_err(|error| error.within(&pointer));
        if !node.is_object() {
            return Err(wrong("a message must be an object", &pointer));
        }
        let id = checked_id(text("id")?.unwrap_or_default(), "id", &pointer)?;
        let role = match text("role")?.as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                let message = "`role` must be user, assistant or system";
                return Err(wrong(message, &format!("{pointer}/role")));
            }
        };
        if !node.some("parts").is_some_and(|parts| parts.is_array()) {
            return Err(wrong("`parts` must be an array", &format!("{pointer}/parts")));
        }
        Ok(Self { id, role, node, pointer })
    }

    /// Its parts, each with where it stands in the body.
    pub(super) fn parts(&self) -> impl Iterator<Item = (String, Node<'a, 'a>)> {
        let parts = self.node.some("parts").into_iter().flat_map(Node::children).enumerate();
        parts.map(|(i, part)| (format!("{}/parts/{i}", self.pointer), part))
    }

    /// What a user says in it: the `message` event, and what comes with it.
    pub(super) fn events(&self) -> Result<(Event<'static>, Vec<Event<'static>>), Error> {
        for (pointer, part) in self.parts() {
            let ty = part.get("type").and_then(Node::str);
            let text = part.get("text").is_some_and(Node::is_string);
            let url = part.get("url").is_some_and(Node::is_string);
            match ty.as_deref() {
                Some("text") if !text => {
                    return Err(wrong("`text` must be a string", &format!("{pointer}/text")));
                }
                Some("file") if !url => {
                    return Err(wrong("`url` must be a string", &format!("{pointer}/url")));
                }
                Some(_) => {}
                None => return Err(wrong("`type` must be a string", &format!("{pointer}/type"))),
            }
        }
        let options = DecodeOptions {
            start: Start::Continue,
            frames: Frames::Skip,
            ..DecodeOptions::default()
        };
        let mut all: Vec<Event<'static>> = Vec::new();
        let source = format!("[{}]", self.node.raw());
        dialect::decode(&ai_sdk_messages::DIALECT, &options, &source, |batch| {
            all.extend(batch.events.iter().map(Event::to_owned));
        });
        let (mut said, beside): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|event| event.kind() == Kind::Message);
        let empty = |event: &Event<'_>| {
            event.get("content").is_none_or(|content| matches!(&**content, "\"\"" | "[]"))
        };
        match said.pop() {
            Some(said) if !empty(&said) || !beside.is_empty() => Ok((said, beside)),
            _ => Err(wrong("the message says nothing", &format!("{}/parts", self.pointer))),
        }
    }
}

/// A mistake in the body.
pub(super) fn wrong(message: &str, pointer: &str) -> Error {
    Error::new(ErrorCode::BadParameter, message).at(pointer)
}

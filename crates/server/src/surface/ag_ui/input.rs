//! What starts a run: `RunAgentInput`.

use selvedge_agents::wish;
use selvedge_protocol::dialect::{self, DecodeOptions, Frames, Start, ag_ui};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Node, Raw};
use serde_json::{Value, json};

use crate::surface::native::messages::checked_id;
use crate::surface::native::threads::{named_id, text_member};
use crate::{Error, ErrorCode};

/// Answers and results that one run may bring.
const ANSWERS: usize = 64;

/// A request for a run.
pub(super) struct Input<'a> {
    pub(super) thread: String,
    pub(super) run: String,
    /// The run it goes on from, as the client says.
    pub(super) parent: Option<String>,
    pub(super) messages: Vec<Message<'a>>,
    /// Answers to interrupts.
    pub(super) resume: Vec<Node<'a, 'a>>,
    /// Tools that the client runs.
    pub(super) tools: Option<Node<'a, 'a>>,
    /// Who is to answer.
    pub(super) agent: Option<String>,
}

/// A message of the client's history.
pub(super) struct Message<'a> {
    pub(super) id: String,
    pub(super) role: Role,
    pub(super) node: Node<'a, 'a>,
    pub(super) pointer: String,
}

/// Who says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Tool,
    /// Agents, systems and what is shown beside: never taken from a client.
    Other,
}

impl<'a> Input<'a> {
    pub(super) fn read(root: Node<'a, 'a>) -> Result<Self, Error> {
        let id = |name: &str| {
            let given = text_member(root, name)?;
            let at = format!("/{name}");
            let given = given.ok_or_else(|| wrong(&format!("`{name}` must be a string"), &at))?;
            named_id(Some(given), name)
        };
        let list = |name: &str| -> Result<Option<Node<'a, 'a>>, Error> {
            let Some(list) = root.some(name) else { return Ok(None) };
            let message = || wrong(&format!("`{name}` must be an array"), &format!("/{name}"));
            if list.is_array() { Ok(Some(list)) } else { Err(message()) }
        };
        let Some(messages) = list("messages")? else {
            return Err(wrong("`messages` must be an array", "/messages"));
        };
        let messages = messages.children().enumerate();
        let messages =
            messages.map(|(i, node)| Message::read(node, i)).collect::<Result<_, _>>()?;
        let resume: Vec<_> = list("resume")?.into_iter().flat_map(Node::children).collect();
        if resume.len() > ANSWERS {
            return Err(wrong(&format!("at most {ANSWERS} answers at once"), "/resume"));
        }
        let tools = list("tools")?.filter(|tools| tools.children().next().is_some());
        if let Some(tools) = tools {
            let brought = json!({ "tools": serde_json::from_str::<Value>(tools.raw()).ok() });
            wish::tools(&brought).map_err(|(at, message)| wrong(&message, &at))?;
        }
        let props = root.some("forwardedProps").filter(|props| props.is_object());
        let agent = match props {
            Some(props) => {
                text_member(props, "agent").map_err(|error| error.within("/forwardedProps"))?
            }
            None => None,
        };
        Ok(Self {
            thread: id("threadId")?,
            run: id("runId")?,
            parent: text_member(root, "parentRunId")?,
            messages,
            resume,
            tools,
            agent,
        })
    }
}

impl<'a> Message<'a> {
    fn read(node: Node<'a, 'a>, at: usize) -> Result<Self, Error> {
        let pointer = format!("/messages/{at}");
        if !node.is_object() {
            return Err(wrong("a message must be an object", &pointer));
        }
        let text = |name: &str| text_member(node, name).map_err(|error| error.within(&pointer));
        let id = checked_id(text("id")?.unwrap_or_default(), "id", &pointer)?;
        let role = match text("role")?.as_deref() {
            Some("user") => Role::User,
            Some("tool") => Role::Tool,
            Some("assistant" | "system" | "developer" | "activity" | "reasoning") => Role::Other,
            _ => return Err(wrong("`role` is none of AG-UI's", &format!("{pointer}/role"))),
        };
        Ok(Self { id, role, node, pointer })
    }

    /// What a user says in it, with what is wished for the answer.
    pub(super) fn event(&self, tools: Option<Node<'_, '_>>) -> Result<Event<'static>, Error> {
        let options = DecodeOptions {
            start: Start::Continue,
            frames: Frames::Skip,
            ..DecodeOptions::default()
        };
        let message = self.node.raw().replace(['\n', '\r'], " ");
        let source =
            format!("data: {{\"type\":\"MESSAGES_SNAPSHOT\",\"messages\":[{message}]}}\n\n");
        let mut said = None;
        dialect::decode(&ag_ui::DIALECT, &options, &source, |batch| {
            let own = batch.events.iter().rfind(|event| event.kind() == Kind::Message);
            said = own.map(Event::to_owned).or(said.take());
        });
        let content = said.as_ref().and_then(|said| said.get("content")).map(Raw::to_owned);
        let content = content.filter(|content| !matches!(&**content, "\"\"" | "[]"));
        let given = self.node.some("content");
        let content =
            content.filter(|_| given.is_some_and(|own| own.is_string() || own.is_array()));
        let (Some(said), Some(content)) = (said, content) else {
            let message = "`content` must be a text or an array of parts, and say something";
            return Err(wrong(message, &format!("{}/content", self.pointer)));
        };
        let request =
            tools.map(|tools| Raw::owned(format!("{{\"request\":{{\"tools\":{}}}}}", tools.raw())));
        Ok(Event::new(Kind::Message)
            .with_str("role", "user")
            .with_str("messageId", &self.id)
            .with("content", content)
            .with_some("author", said.get("author").map(Raw::to_owned))
            .with_some("metadata", request))
    }
}

/// A mistake in the body.
pub(super) fn wrong(message: &str, pointer: &str) -> Error {
    Error::new(ErrorCode::BadParameter, message).at(pointer)
}

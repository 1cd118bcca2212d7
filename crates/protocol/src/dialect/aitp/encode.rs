//! Events to a thread.
//!
//! Messages of users and agents become messages; thoughts, tool calls and their results have no
//! place in a conversation between parties and are left out. Questions that came from another
//! protocol become capability messages where AITP has one for them ([`question`]), else text.
//! Questions that a message of the thread asks already are not asked again.

use std::collections::HashSet;

use super::ask::{Asked, By};
use super::capability;
use super::decode::object;
use super::exchange::Declared;
use super::question;
use crate::dialect::{EncodeOptions, Encoder, Records};
use crate::journal::transcript::{Action, ActionKind, Transcript};
use crate::journal::{Batch, Event, Kind};
use crate::json::{Doc, Node, Raw, quote, text};
use crate::record::Role;
use crate::time;

/// Collects a thread and writes it in the end.
pub(super) struct Writer {
    thread: Option<Raw<'static>>,
    parent: Option<Raw<'static>>,
    title: Option<Raw<'static>>,
    actors: Vec<Actor>,
    transcript: Transcript,
    /// Actions whose records are replayed.
    replayed: HashSet<usize>,
    /// Questions and answers, with the number of the action they stand before.
    asks: Vec<(usize, Event<'static>)>,
    document: Document,
}

/// What is replayed of the document around the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Document {
    Nothing,
    /// A message by itself: nothing can be added to it.
    Alone,
    Thread,
}

struct Actor {
    id: Raw<'static>,
    role: Option<Raw<'static>>,
    client: Option<Raw<'static>>,
    capabilities: Option<Raw<'static>>,
}

/// A message before it is written.
struct Draft {
    id: Option<Raw<'static>>,
    at: Option<i64>,
    /// JSON strings.
    content: Vec<String>,
    attachments: Vec<String>,
    by_user: bool,
    actor: Option<Raw<'static>>,
}

impl Writer {
    pub(super) fn new(options: &EncodeOptions) -> Self {
        Self {
            thread: options.thread_id.as_deref().map(Raw::string),
            parent: None,
            title: None,
            actors: Vec::new(),
            transcript: Transcript::new(),
            replayed: HashSet::new(),
            asks: Vec::new(),
            document: Document::Nothing,
        }
    }

    fn apply(&mut self, event: &Event<'_>) {
        match event.kind() {
            Kind::ThreadCreated | Kind::ThreadUpdated => {
                if self.thread.is_none() {
                    self.thread = event.get("contextId").map(Raw::to_owned);
                }
                for (field, slot) in
                    [("parentThreadId", &mut self.parent), ("title", &mut self.title)]
                {
                    if let Some(value) = event.get(field).filter(|v| v.body().is_some()) {
                        *slot = Some(value.to_owned());
                    }
                }
            }
            Kind::ParticipantJoined => {
                let id = event.get("participantId").filter(|id| id.body().is_some());
                if let Some(id) = id
                    && !self.actors.iter().any(|a| a.id == *id)
                {
                    let field = |name| event.get(name).map(Raw::to_owned);
                    self.actors.push(Actor {
                        id: id.to_owned(),
                        role: field("role"),
                        client: field("clientId").filter(|c| c.body().is_some()),
                        capabilities: field("capabilities"),
                    });
                }
            }
            _ => self.transcript.apply(event, &mut Vec::new()),
        }
    }

    /// The messages of the thread, in order.
    fn drafts(&self) -> Vec<Draft> {
        let asked = self.asked();
        let mut questions = self.questions();
        let mut asks = self.asks.iter().peekable();
        let mut drafts = Vec::new();
        let actions = self.transcript.actions();
        for i in 0..=actions.len() {
            while let Some((_, event)) = asks.next_if(|(at, _)| *at <= i) {
                let id = event.get("inputId").map(Raw::to_string).unwrap_or_default();
                if asked.contains(&(event.kind() == Kind::InputReceived, id)) {
                    continue;
                }
                let said = match event.kind() {
                    Kind::InputReceived => questions.answer(event),
                    _ => Some(questions.ask(event)),
                };
                let Some(said) = said else { continue };
                let by_user = event.kind() == Kind::InputReceived
                    && event.get("providedBy").is_none_or(|by| by.is("user"));
                let agent = event.get("agentId").filter(|_| !by_user);
                let actor = event.get("userId").or(agent);
                drafts.push(Draft {
                    id: None,
                    at: event.str("timestamp").and_then(|t| seconds(&t)),
                    content: vec![said],
                    attachments: Vec::new(),
                    by_user,
                    actor: actor.map(Raw::to_owned),
                });
            }
            if let Some(action) = actions.get(i)
                && !action.superseded
                && !self.replayed.contains(&i)
            {
                drafts.extend(draft(action));
            }
        }
        drafts
    }

    /// What the thread's own messages ask and answer: answers and ids.
    fn asked(&self) -> HashSet<(bool, String)> {
        let mut asked = Asked::default();
        let mut found = HashSet::new();
        for draft in self.transcript.actions().iter().filter_map(draft) {
            for said in &draft.content {
                let said = Raw::owned(said.as_str());
                let Some(said) = said.str().filter(|s| capability::is_message(s)) else { continue };
                let Ok(doc) = Doc::parse(&said) else { continue };
                let mut events = Vec::new();
                let by = By { user: draft.by_user, actor: None, when: None };
                asked.read(doc.root(), &by, &mut events);
                for event in &events {
                    let id = event.get("inputId").map(Raw::to_string).unwrap_or_default();
                    found.insert((event.kind() == Kind::InputReceived, id));
                }
            }
        }
        found
    }

    /// Questions as the user's side can be asked them: by what it has declared, if anyone has.
    fn questions(&self) -> question::Questions {
        let declares = |actor: &&Actor| {
            actor.capabilities.is_some() && actor.role.as_ref().is_none_or(|r| !r.is("agent"))
        };
        let mut parties = self.actors.iter().filter(declares).peekable();
        if parties.peek().is_none() {
            return question::Questions::default();
        }
        let mut declared = Declared::new();
        parties.for_each(|actor| declared.add(actor.capabilities.as_ref()));
        question::Questions::among(declared)
    }

    /// The participant that a role usually means.
    fn usual(&self, role: &str) -> Raw<'static> {
        let known = self.actors.iter().find(|a| a.role.as_ref().is_some_and(|r| r.is(role)));
        known.map_or_else(|| Raw::string(role), |actor| actor.id.clone())
    }
}

impl Encoder for Writer {
    fn batch(&mut self, batch: &Batch<'_>, _out: &mut Records) {
        for event in &batch.events {
            if matches!(
                event.kind(),
                Kind::InputRequired | Kind::ToolInputRequired | Kind::InputReceived
            ) {
                self.asks.push((self.transcript.actions().len(), event.to_owned()));
            } else {
                self.apply(event);
            }
        }
    }

    fn pause(&mut self, out: &mut Records) {
        self.finish(out);
        self.replayed.extend(0..self.transcript.actions().len());
        self.asks.clear();
    }

    fn observe(&mut self, batch: &Batch<'_>) {
        let before = self.transcript.actions().len();
        for event in &batch.events {
            self.apply(event);
        }
        self.replayed.extend(before..self.transcript.actions().len());
        if batch.frame.as_ref().is_some_and(|frame| frame.role == Role::Head) {
            let said = |e: &Event<'_>| matches!(e.kind(), Kind::Message | Kind::System);
            let alone = batch.events.iter().any(said);
            self.document = if alone { Document::Alone } else { Document::Thread };
        }
    }

    fn finish(&mut self, out: &mut Records) {
        let mut drafts = self.drafts();
        for draft in &mut drafts {
            let role = if draft.by_user { "user" } else { "agent" };
            let actor = draft.actor.take().filter(|a| a.body().is_some());
            let actor = actor.unwrap_or_else(|| self.usual(role));
            if !self.actors.iter().any(|a| a.id == actor) {
                let role = Some(Raw::string(role));
                self.actors.push(Actor {
                    id: actor.clone(),
                    role,
                    client: None,
                    capabilities: None,
                });
            }
            draft.actor = Some(actor);
        }
        let thread = self.thread.clone().unwrap_or_else(|| {
            let first = drafts.first().map(|d| d.content.concat()).unwrap_or_default();
            Raw::string(&format!("thread_{}", crate::ident::from_text(&first)))
        });
        match self.document {
            Document::Nothing => out.head(self.head(&thread)),
            Document::Alone => return,
            Document::Thread => {}
        }
        // By AITP's rule the one who began the thread is its user, whoever that is.
        let creator = drafts
            .iter()
            .find(|d| d.by_user)
            .or(drafts.first())
            .and_then(|d| d.actor.clone())
            .filter(|_| self.replayed.is_empty());
        let mut clock = 0;
        for draft in &drafts {
            clock = draft.at.unwrap_or(clock);
            let is_user = match &creator {
                Some(creator) => draft.actor.as_ref() == Some(creator),
                None => draft.by_user,
            };
            out.item(draft.write(&thread, clock, is_user));
        }
        if self.document == Document::Nothing {
            out.tail("]}");
        }
    }
}

impl Writer {
    fn head(&self, thread: &Raw<'_>) -> String {
        let mut actors = String::from("[");
        for (i, actor) in self.actors.iter().enumerate() {
            if i > 0 {
                actors.push(',');
            }
            let able = capabilities(actor.capabilities.as_ref());
            let mut members = vec![("id", actor.id.as_str())];
            members.extend(actor.client.as_ref().map(|c| ("client_id", c.as_str())));
            members.push(("capabilities", &able));
            actors.push_str(&object(&members));
        }
        actors.push(']');
        let parent = self.parent.as_deref().unwrap_or("null");
        let mut metadata = vec![("parent_id", parent), ("actors", &actors)];
        metadata.extend(self.title.as_deref().map(|t| ("topic", t)));
        let metadata = object(&metadata);
        format!("{{\"id\":{thread},\"metadata\":{metadata},\"messages\":[")
    }
}

impl Draft {
    fn write(&self, thread: &Raw<'_>, clock: i64, is_user: bool) -> String {
        let created = clock.to_string();
        let content = format!("[{}]", self.content.join(","));
        let attachments = format!("[{}]", self.attachments.join(","));
        let actor = self.actor.as_deref().unwrap_or("null");
        let metadata = object(&[("actor", actor)]);
        let mut members = Vec::new();
        members.extend(self.id.as_deref().map(|id| ("id", id)));
        members.push(("created_at", created.as_str()));
        members.push(("thread_id", thread.as_str()));
        members.push(("content", &content));
        if !self.attachments.is_empty() {
            members.push(("attachments", &attachments));
        }
        members.push(("role", if is_user { "\"user\"" } else { "\"assistant\"" }));
        members.push(("metadata", &metadata));
        object(&members)
    }
}

/// Capabilities in the document's spelling.
fn capabilities(list: Option<&Raw<'_>>) -> String {
    let mut out = String::from("[");
    let doc = list.and_then(Raw::doc);
    for item in doc.iter().flat_map(|doc| doc.root().children()) {
        let url = item.get("schema").or_else(|| item.get("$schema"));
        let url = url.or_else(|| item.is_string().then_some(item)).filter(|u| u.is_string());
        let Some(url) = url else { continue };
        if out.len() > 1 {
            out.push(',');
        }
        out.push_str(&object(&[("schema", url.raw())]));
    }
    out.push(']');
    out
}

/// What an action says to the other parties, if anything.
fn draft(action: &Action) -> Option<Draft> {
    let by_user = match action.kind {
        ActionKind::UserMessage => true,
        ActionKind::AssistantMessage => false,
        // A capability message that came without a thread around it.
        ActionKind::System if action.get("name").is_some_and(|n| n.is("aitp")) => {
            let data = action.get("data").filter(|d| d.is_object())?;
            return Some(Draft {
                id: None,
                at: at(action),
                content: vec![quote(data)],
                attachments: Vec::new(),
                by_user: !asks(data),
                actor: action.agent.clone(),
            });
        }
        _ => return None,
    };
    let mut draft = Draft {
        id: action.get("messageId").filter(|id| id.body().is_some()).cloned(),
        at: at(action),
        content: Vec::new(),
        attachments: Vec::new(),
        by_user,
        actor: action.get("author").cloned().or_else(|| action.agent.clone()),
    };
    for piece in &action.pieces {
        draft.content.push(format!("\"{}\"", text::minimal(&piece.body)));
    }
    if let Some(content) = action.get("content")
        && let Some(doc) = content.doc()
    {
        doc.root().children().for_each(|part| draft.part(part));
    }
    if let Some(doc) = action.get("attachments").and_then(Raw::doc) {
        doc.root().children().for_each(|file| draft.file(file));
    }
    if !by_user {
        // An empty text of an agent says nothing: streams open and close such parts.
        draft.content.retain(|text| text != "\"\"");
        if draft.content.is_empty() && draft.attachments.is_empty() && action.step > 0 {
            return None;
        }
    }
    if draft.content.is_empty() {
        draft.content.push("\"\"".to_owned());
    }
    Some(draft)
}

impl Draft {
    /// A content part: its text, the address of a picture or file, or a file's id.
    fn part(&mut self, part: Node<'_, '_>) {
        let text = part.get("text").or_else(|| part.is_string().then_some(part));
        let link = || part.get("image_url").or_else(|| part.get("url"));
        match text.or_else(link).filter(|t| t.is_string()) {
            Some(text) => self.content.push(text.raw().to_owned()),
            None => self.file(part),
        }
    }

    fn file(&mut self, file: Node<'_, '_>) {
        let id = file.some("url").or_else(|| file.some("name"));
        let id = id.or_else(|| file.is_string().then_some(file)).filter(|id| id.is_string());
        if let Some(id) = id {
            self.attachments.push(object(&[("file_id", id.raw())]));
        }
    }
}

/// Whether a capability message asks something.
fn asks(data: &Raw<'_>) -> bool {
    data.doc().is_some_and(|doc| {
        capability::read(doc.root())
            .is_some_and(|(_, message, _)| matches!(message.used, capability::Use::Ask(_)))
    })
}

fn at(action: &Action) -> Option<i64> {
    seconds(&action.timestamp.as_ref()?.str()?)
}

/// Unix seconds of a time.
fn seconds(text: &str) -> Option<i64> {
    time::to_millis(text).map(|at| at.div_euclid(1000))
}

/// Which words of an event can be told from the thread.
pub(super) fn carries(event: &Event<'_>, field: &str) -> bool {
    match event.kind() {
        // Who has a name has a role by it: the one who began the thread is its user.
        Kind::Message if field == "role" => {
            let author = event.get("author").or(event.get("agentId"));
            author.is_none_or(|author| author.body().is_none())
        }
        Kind::InputRequired | Kind::ToolInputRequired => {
            matches!(field, "inputType" | "metadata/multiple")
        }
        Kind::InputReceived => field == "value",
        Kind::PartStarted | Kind::PartFinished => field == "partType",
        _ => false,
    }
}

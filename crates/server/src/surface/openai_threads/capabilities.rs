//! Capabilities of AITP: whoever takes part says which capability messages it understands, and is
//! sent no others.
//!
//! Invariant: a request for money or a signature waits for a user in the journal, and no agent
//! answers it.

use selvedge_agents::fits;
use selvedge_protocol::dialect::aitp::exchange::{self, Act, Declared};
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::{Doc, Node, NodeKind, Raw, quote};
use selvedge_store::{Guard, InboxItem, InboxKind, ThreadRef};
use serde_json::Value;

use super::bodies::{NewMessage, Role, wrong};
use super::questions::Open;
use crate::auth::Principal;
use crate::surface::native::acts::inputs::received;
use crate::surface::native::messages::candidates;
use crate::{App, Error, ErrorCode};

/// Who takes part in a thread of AITP, and what each side has declared.
#[derive(Debug, Clone, Default)]
pub(super) struct Parties {
    /// Agents of this server.
    pub(super) agents: Vec<String>,
    of_agents: Declared,
    pub(super) of_users: Declared,
    is_any: bool,
}

impl Parties {
    /// Those that a thread's metadata names in `actors`.
    pub(super) fn of(app: &App, metadata: &Value) -> Self {
        let mut own = Self::default();
        let desk = app.desk();
        for actor in metadata["actors"].as_array().into_iter().flatten() {
            own.is_any = true;
            let able = Raw::owned(actor["capabilities"].to_string());
            let id = actor["id"].as_str().unwrap_or_default();
            if desk.is_some_and(|desk| desk.member(id).is_some()) {
                own.agents.push(id.to_owned());
                own.of_agents.add(Some(&able));
            } else {
                own.of_users.add(Some(&able));
            }
        }
        own
    }

    pub(super) async fn of_thread(app: &App, thread: &ThreadRef) -> Result<Self, Error> {
        app.store().fresh(thread).await?;
        let of = thread.clone();
        let summary = app.blocking(move |store| Ok(store.summary(&of)?)).await?;
        let metadata = summary.and_then(|summary| summary.metadata);
        let metadata = metadata.and_then(|text| serde_json::from_str(&text).ok());
        Ok(Self::of(app, &metadata.unwrap_or(Value::Null)))
    }

    /// Whether the thread is one of AITP, where agents answer whoever speaks: its transport has no
    /// runs.
    pub(super) fn is_aitp(&self) -> bool {
        self.is_any
    }
}

/// What a message does besides being said.
pub(super) enum Deed {
    /// Nothing.
    None,
    /// It asks something.
    Asks(Box<Event<'static>>),
    /// It answers a question, which must be open.
    Answers(Box<Event<'static>>, Guard),
}

/// What a message does, if it may be said.
pub(super) fn judged(
    principal: &Principal,
    parties: &Parties,
    open: &[Open],
    message: &NewMessage,
) -> Result<Deed, Error> {
    let Some(said) = message.text.as_deref().and_then(exchange::read) else {
        return Ok(Deed::None);
    };
    if let Some(why) = said.wrong {
        return Err(wrong(format!("not as its schema says: {why}"), "/content"));
    }
    if let Act::Answers(id, value) = &said.act {
        let known = |(item, asked): &&Open| match id {
            _ if item.kind != InboxKind::Input => false,
            Some(id) => item.id == *id,
            None => meant(asked, value).is_ok(),
        };
        let question = open.iter().find(known);
        let needs_user = said.needs_user || question.is_some_and(|(item, _)| item.require_user);
        if needs_user && principal.is_agent() {
            let error = Error::new(ErrorCode::UserRequired, "only a user may answer this");
            return Err(error.at("/content"));
        }
        if let Some((item, asked)) = question {
            let value = meant(asked, value).map_err(|why| wrong(why, "/content"))?;
            return Ok(answers(principal, (item, asked), message, value));
        }
    }
    let declared = match message.role {
        Role::User => &parties.of_agents,
        Role::Assistant => &parties.of_users,
    };
    if !declared.has(&said.schema) {
        let schema = selvedge_protocol::validate::brief(&said.schema);
        let message = format!("nobody who would get this has declared `{schema}`; say it in words");
        return Err(wrong(message, "/content"));
    }
    match said.act {
        Act::Asks(mut event) if message.role == Role::Assistant => {
            event.set("metadata", told_by(message));
            Ok(Deed::Asks(Box::new(event)))
        }
        _ => Ok(Deed::None),
    }
}

/// Whether a text answers the oldest question that it can answer: whoever has but messages says it
/// in words.
pub(super) fn in_words(principal: &Principal, open: &[Open], message: &NewMessage) -> Deed {
    let Some(text) = &message.text else { return Deed::None };
    for (item, asked) in open {
        let fits = |value: &String| {
            Doc::parse(value).is_ok_and(|doc| fits::question(asked, doc.root()).is_ok())
        };
        let may = item.kind == InboxKind::Input
            && item.task.is_some()
            && !(item.require_user && principal.is_agent());
        if let Some(value) = candidates(asked, text).into_iter().find(fits).filter(|_| may) {
            return answers(principal, (item, asked), message, value);
        }
    }
    Deed::None
}

/// That a message answers a question.
fn answers(
    principal: &Principal,
    (item, asked): (&InboxItem, &Event<'_>),
    message: &NewMessage,
    value: String,
) -> Deed {
    let user = principal.subject.as_ref().map(ToString::to_string);
    let mut event = received(principal, (item, asked), user, Raw::owned(value));
    event.set("metadata", told_by(message));
    Deed::Answers(Box::new(event), Guard::Open { kind: item.kind, id: item.id.clone() })
}

/// Says that a message tells an event: it is not told twice.
fn told_by(message: &NewMessage) -> Raw<'static> {
    Raw::owned(format!("{{\"messageId\":{}}}", quote(&message.id)))
}

/// What an answer's value means to a question, as JSON.
fn meant(asked: &Event<'_>, value: &Raw<'_>) -> Result<String, String> {
    let doc = value.doc().ok_or("not JSON")?;
    let meant = match (asked.get("inputType").and_then(Raw::body), asked.get("options")) {
        (Some("confirmation"), None) => confirmed(doc.root()),
        (Some("selection"), Some(options)) => chosen(asked, options, doc.root()),
        _ => filled(asked, doc.root()),
    };
    let meant = meant.unwrap_or_else(|| doc.root().raw().to_owned());
    let own = Doc::parse(&meant).map_err(|error| error.to_string())?;
    fits::question(asked, own.root()).map_err(|misfit| misfit.message)?;
    Ok(meant)
}

/// Yes or no, as they are offered where nothing else is.
fn confirmed(value: Node<'_, '_>) -> Option<String> {
    let id = value.children().next()?.get("id")?;
    match id.str()?.as_ref() {
        "yes" => Some("true".to_owned()),
        "no" => Some("false".to_owned()),
        _ => None,
    }
}

/// Options that have no ids are known by what they are.
fn chosen(asked: &Event<'_>, options: &Raw<'_>, value: Node<'_, '_>) -> Option<String> {
    let doc = options.doc()?;
    let mut picked = Vec::new();
    for one in value.children() {
        let id = one.get("id")?;
        let option =
            doc.root().children().find(|option| !option.is_object() && option.str() == id.str());
        picked.push(option?.raw().to_owned());
    }
    let many = asked.at("metadata", "/multiple").and_then(|many| many.bool()) == Some(true);
    match (many, picked.as_slice()) {
        (false, [one]) => Some(one.clone()),
        _ => Some(format!("[{}]", picked.join(","))),
    }
}

/// Fields of a form are texts; where the question wants numbers, they are that.
fn filled(asked: &Event<'_>, value: Node<'_, '_>) -> Option<String> {
    let schema = asked.get("schema")?.doc()?;
    let properties = schema.root().get("properties")?;
    let mut members = Vec::new();
    for (name, field) in value.members() {
        let own = properties.get(&name.str()?);
        let is_number = own
            .and_then(|own| own.get("type"))
            .is_some_and(|ty| ty.is("number") || ty.is("integer"));
        let number = field.str().filter(|_| is_number);
        let number = number
            .filter(|text| Doc::parse(text).is_ok_and(|doc| doc.root().kind() == NodeKind::Number));
        let text = number.map_or_else(|| field.raw().to_owned(), |number| number.into_owned());
        members.push(format!("{}:{text}", name.raw()));
    }
    Some(format!("{{{}}}", members.join(",")))
}

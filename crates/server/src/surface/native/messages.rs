//! Messages to agents: said, and someone is to answer.

mod say;
mod waiting;

pub(crate) use say::{Aimed, Saying, TaskIds, say, say_aimed};
pub(crate) use waiting::candidates;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, StatusCode, header};
use selvedge_agents::Member;
use selvedge_agents::config::file::Budget;
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::{Node, quote};
use selvedge_store::{Create, ThreadRef};
use serde_json::{Value, json};
use uuid::Uuid;

use super::events::{key, placed};
use super::threads::{body_object, text_member};
use crate::auth::Principal;
use crate::extract::{Id, Payload};
use crate::{App, Error, ErrorCode};

/// Agents that one message may be for.
const RECEIVERS: usize = 64;
/// Bytes of a message's id.
const MESSAGE_ID: usize = 200;

/// `POST /api/threads/{id}/messages`
pub(crate) async fn send(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let doc = body_object(&body)?;
    let root = doc.root();
    let content = root.some("content").filter(|content| content.is_string() || content.is_array());
    let Some(content) = content else {
        let message = "`content` must be a text or an array of parts";
        return Err(Error::new(ErrorCode::BadParameter, message).at("/content"));
    };
    let author = text_member(root, "author")?;
    let message = match text_member(root, "messageId")? {
        Some(id) => checked_id(id, "messageId", "")?,
        None => Uuid::now_v7().to_string(),
    };
    let to = receivers(&app, Some(thread), named(root)?).await?;
    let mut event = format!(
        "{{\"kind\":\"message\",\"role\":\"user\",\"messageId\":{},\"content\":{}",
        quote(&message),
        content.raw()
    );
    if let Some(author) = &author {
        event.push_str(&format!(",\"author\":{}", quote(author)));
    }
    for name in ["attachments", "metadata"] {
        if let Some(value) = root.some(name) {
            event.push_str(&format!(",\"{name}\":{}", value.raw()));
        }
    }
    event.push('}');
    let saying = Saying {
        thread: &id,
        create: Create::Never,
        before: Vec::new(),
        message,
        event,
        text: plain(content),
        to,
        key: key(&headers, &body)?,
    };
    let (appended, said) = say(&app, &principal, saying).await?;
    let cursor = Cursor { epoch: appended.thread.epoch, seq: appended.last };
    let tasks = said.tasks.iter().map(|(id, agent)| json!({ "taskId": id, "agent": agent }));
    let answered = said.answered.iter();
    let answered = answered.map(|(input, task)| json!({ "inputId": input, "taskId": task }));
    let answer = json!({
        "messageId": said.message,
        "tasks": tasks.collect::<Vec<_>>(),
        "answered": answered.collect::<Vec<_>>(),
        "canceled": said.canceled,
        "first": appended.first,
        "last": appended.last,
        "cursor": cursor.to_string(),
        "duplicate": appended.duplicate,
    });
    Ok((StatusCode::ACCEPTED, placed(cursor, answer.to_string())).into_response())
}

/// A message's own id, within bounds: ids of tasks and of what they do are made of it.
pub(crate) fn checked_id(id: String, name: &str, pointer: &str) -> Result<String, Error> {
    if id.is_empty() || id.len() > MESSAGE_ID || id.contains(|c: char| c.is_control()) {
        let message =
            format!("`{name}` must have 1 to {MESSAGE_ID} bytes and no control characters");
        return Err(Error::new(ErrorCode::BadParameter, message).at(format!("{pointer}/{name}")));
    }
    Ok(id)
}

/// What a message says, if it is but text.
pub(crate) fn plain(content: Node<'_, '_>) -> Option<String> {
    if let Some(text) = content.str() {
        return Some(text.into_owned());
    }
    let parts = content.children().map(|part| {
        let is_text = part.get("type").is_none_or(|ty| ty.is("text"));
        part.get("text").filter(|_| is_text)?.str().map(|text| text.into_owned())
    });
    parts.collect::<Option<Vec<String>>>().map(|parts| parts.concat())
}

/// `GET /api/agents`
pub(crate) async fn agents(State(app): State<App>) -> Response {
    let agents: Vec<_> = app
        .desk()
        .into_iter()
        .flat_map(|desk| desk.members())
        .map(|member| {
            let agent = match member {
                Member::Here(agent) => Some(agent),
                Member::Worker(_) | Member::Remote(_) => None,
            };
            let minds = agent.iter().flat_map(|agent| &agent.minds);
            let models: Vec<&str> = minds.map(|mind| mind.name()).collect();
            let tools = agent.iter().flat_map(|agent| &agent.tools);
            let tools: Vec<&str> = tools.map(|tool| tool.spec.name.as_str()).collect();
            let mut own = json!({ "id": member.id(), "models": models, "tools": tools });
            if let Some(budget) =
                agent.map(|agent| budget(&agent.budget)).filter(|b| *b != json!({}))
            {
                own["budget"] = budget;
            }
            own
        })
        .collect();
    let body = json!({ "agents": agents, "demo": app.options().demo.is_some() }).to_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// What may be spent before someone is asked; only what has a bound.
fn budget(of: &Budget) -> Value {
    let mut all = serde_json::Map::new();
    for (name, bounds) in [("thread", &of.thread), ("task", &of.task), ("agent", &of.agent)] {
        let mut own = serde_json::Map::new();
        own.extend(bounds.tokens.map(|tokens| ("tokens".to_owned(), json!(tokens))));
        own.extend(bounds.cost.map(|cost| ("cost".to_owned(), json!(cost))));
        if !own.is_empty() {
            all.insert(name.to_owned(), Value::Object(own));
        }
    }
    Value::Object(all)
}

/// A task that is to be made for an agent.
struct NewTask {
    id: String,
    /// The event that makes it.
    event: String,
}

/// The tasks with which agents answer a message of a user; credentials are asked of them only.
fn tasks_for(message: &str, to: &[String], ids: TaskIds, user: Option<&str>) -> Vec<NewTask> {
    let user = user.map(|user| format!(",\"metadata\":{{\"userId\":{}}}", quote(user)));
    let user = user.unwrap_or_default();
    let task = |agent: &String| {
        let id = match ids {
            // The same request again must give the same tasks.
            TaskIds::OfMessage => format!("{message}/{agent}"),
            TaskIds::Minted => Uuid::now_v7().to_string(),
        };
        let event = format!(
            "{{\"kind\":\"task-created\",\"taskId\":{},\"agentId\":{},\"initiator\":\"user\",\
             \"messageId\":{},\"dispatched\":true{user}}}",
            quote(&id),
            quote(agent),
            quote(message)
        );
        NewTask { id, event }
    };
    to.iter().map(task).collect()
}

/// Whom a body names in `to`: one, or several.
pub(crate) fn named(root: Node<'_, '_>) -> Result<Option<Vec<String>>, Error> {
    let Some(to) = root.some("to") else { return Ok(None) };
    let one = to.str().map(|one| vec![one.into_owned()]);
    let many = || to.children().map(|one| one.str().map(|one| one.into_owned())).collect();
    let named: Option<Vec<String>> = one.or_else(many);
    let named = named.filter(|named| (1..=RECEIVERS).contains(&named.len()));
    named.map(Some).ok_or_else(|| {
        let message = format!("`to` must be an agent's id, or up to {RECEIVERS} of them");
        Error::new(ErrorCode::BadParameter, message).at("/to")
    })
}

/// The thread of that id, if it is there, and what an append that makes it begins with otherwise.
pub(crate) async fn opening(
    app: &App,
    principal: &Principal,
    id: &str,
) -> Result<(Option<ThreadRef>, Vec<String>), Error> {
    let wanted = principal.thread(id);
    let thread = app.find_thread(&wanted).await?;
    let created = || format!("{{\"kind\":\"thread-created\",\"contextId\":{}}}", quote(id));
    let events = if thread.is_none() { vec![created()] } else { Vec::new() };
    Ok((thread, events))
}

/// Who is to answer: those that are named, else the agents that joined the thread, else the one
/// that answers here, else the only agent.
pub(crate) async fn receivers(
    app: &App,
    thread: Option<ThreadRef>,
    named: Option<Vec<String>>,
) -> Result<Vec<String>, Error> {
    let wrong = |message: String| Error::new(ErrorCode::BadParameter, message).at("/to");
    let Some(desk) = app.desk() else {
        let message = "this server runs no agents; configure some, or append events instead";
        return Err(Error::new(ErrorCode::NoAgents, message));
    };
    if let Some(mut named) = named {
        let mut known = std::collections::HashSet::new();
        named.retain(|agent| known.insert(agent.clone()));
        if let Some(stranger) = named.iter().find(|agent| desk.member(agent).is_none()) {
            let stranger = selvedge_protocol::validate::brief(stranger);
            return Err(wrong(format!("there is no agent `{stranger}`")));
        }
        return Ok(named);
    }
    let present = match thread {
        Some(thread) => {
            // Who has just joined is spoken to.
            app.store().fresh(&thread).await?;
            app.blocking(move |store| Ok(store.participants(&thread)?)).await?
        }
        None => Vec::new(),
    };
    // Who was only called by another is not spoken to.
    let joined = present.into_iter().filter(|one| one.role.as_deref() == Some("agent"));
    let present: Vec<String> =
        joined.map(|one| one.id).filter(|one| desk.member(one).is_some()).collect();
    if !present.is_empty() {
        return Ok(present);
    }
    match app.agent() {
        Some(own) => Ok(vec![own.to_owned()]),
        None => Err(wrong("say with `to` which agent is to answer".to_owned())),
    }
}

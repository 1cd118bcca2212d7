//! Chats: said to, answered, stopped and read.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, header};
use selvedge_protocol::journal::Event;
use selvedge_protocol::json::Raw;
use selvedge_store::{Create, Key, ThreadRef};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use super::answers;
use super::follow::{Followed, Leaving, Manner, follow};
use super::request::{Asked, Message, Role, Trigger, wrong};
use super::rewind::{Again, rewind};
use crate::auth::Principal;
use crate::extract::{Id, Payload};
use crate::query::Query;
use crate::surface::asked::{began, running, unfinished};
use crate::surface::native::acts::cancel::stop_task;
use crate::surface::native::messages::{Saying, opening, plain, receivers, say};
use crate::surface::native::stream::filter;
use crate::surface::native::threads::body_object;
use crate::surface::native::transfer::exported;
use crate::{App, Error, ErrorCode};

/// Messages that are taken with one request.
const MESSAGES: usize = 64;

/// `POST /ai-sdk/chat`
pub(super) async fn send(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let version = super::version(&query, &headers)?;
    let leaving = match query.get("abort") {
        None | Some("leave") => Leaving::Nothing,
        Some("stop") => Leaving::Stop,
        Some(_) => {
            let message = "`abort` must be leave or stop";
            return Err(Error::new(ErrorCode::BadParameter, message));
        }
    };
    let doc = body_object(&body)?;
    let mut asked = Asked::read(doc.root())?;
    asked.agent = asked.agent.or(query.get("agent").map(str::to_owned));
    let last = asked.last()?;
    let edited = asked.about.as_deref() == Some(last.id.as_str());
    let followed = match (asked.trigger, last.role) {
        (Trigger::Submit, Role::Assistant) => answers::given(&app, &principal, &asked).await?,
        (Trigger::Submit, Role::User) if edited => {
            rewind(&app, &principal, &asked, Again::Edited).await?
        }
        (Trigger::Submit, Role::User) => said(&app, &principal, &asked).await?,
        (Trigger::Regenerate, Role::User) => {
            rewind(&app, &principal, &asked, Again::AsItWas).await?
        }
        (_, Role::Assistant | Role::System) => {
            let message = "the last message must be a user's";
            return Err(wrong(message, &format!("{}/role", last.pointer)));
        }
    };
    let manner = Manner { version, leaving };
    follow(&app, &principal, &query, &asked.id, followed, manner).await
}

/// Says what a client says last, with what it said before and the journal does not have.
pub(super) async fn said(
    app: &App,
    principal: &Principal,
    asked: &Asked<'_>,
) -> Result<Followed, Error> {
    let (thread, mut before) = opening(app, principal, &asked.id).await?;
    let named = asked.agent.clone().map(|agent| vec![agent]);
    let to = receivers(app, thread.clone(), named).await.map_err(|error| match error.pointer {
        Some(_) => error.at("/agent"),
        None => error,
    })?;
    let mut new: Vec<&Message<'_>> = Vec::new();
    for message in asked.messages.iter().rev().take_while(|message| message.role == Role::User) {
        if let Some(thread) = &thread
            && let Some(known) = turn_of(app, thread, &message.id, &to).await?
        {
            if new.is_empty() {
                return Ok(known);
            }
            break;
        }
        new.push(message);
        if new.len() > MESSAGES {
            let message = format!("at most {MESSAGES} messages are taken with one request");
            return Err(wrong(&message, "/messages"));
        }
    }
    let (last, earlier) = new.split_first().ok_or_else(|| wrong("nothing is new", "/messages"))?;
    for message in earlier.iter().rev() {
        let (event, beside) = message.events()?;
        before.extend(std::iter::once(event).chain(beside).map(|event| text_of(&event)));
    }
    let (event, beside) = last.events()?;
    before.extend(beside.iter().map(text_of));
    tell(app, principal, asked, before, (&last.id, &event), to).await
}

/// Says a message to agents; the turn is of all who answer.
pub(super) async fn tell(
    app: &App,
    principal: &Principal,
    asked: &Asked<'_>,
    before: Vec<String>,
    (id, event): (&str, &Event<'_>),
    to: Vec<String>,
) -> Result<Followed, Error> {
    let text = event.get("content").and_then(Raw::doc).and_then(|doc| plain(doc.root()));
    let event = text_of(event);
    let saying = Saying {
        thread: &asked.id,
        create: Create::IfMissing,
        before,
        message: id.to_owned(),
        text,
        to,
        key: Some(once(id, &event)),
        event,
    };
    let (appended, said) = say(app, principal, saying).await?;
    let thread = appended.thread;
    match (said.tasks.first(), said.resumed.first()) {
        (Some(_), _) => {
            // The tasks come last.
            let after = appended.last.saturating_sub(said.tasks.len() as u64);
            let tasks = said.tasks.into_iter().map(|(task, _)| task).collect();
            Ok(Followed { thread, tasks, began: after + 1, after })
        }
        (None, Some(task)) => {
            let after = appended.first.saturating_sub(1);
            let began = began(app, &thread, task).await?.unwrap_or(appended.first);
            let whole = Followed::whole(app, thread, task.clone(), began).await?;
            // Those who answered with it have told their part.
            Ok(Followed { tasks: vec![task.clone()], after, ..whole })
        }
        (None, None) => Err(Error::new(ErrorCode::Internal, "nobody answers the message")),
    }
}

/// Lets a message be said once, whoever sends it again.
fn once(id: &str, event: &str) -> Key {
    let text = format!("ai-sdk:{}", hex(&Sha256::digest(id.as_bytes())));
    Key { text, digest: Sha256::digest(event.as_bytes()).into() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text_of(event: &Event<'_>) -> String {
    let mut out = String::new();
    event.write(&mut out);
    out
}

/// The turn with which one of some agents answers a message, if the journal has it.
pub(super) async fn turn_of(
    app: &App,
    thread: &ThreadRef,
    message: &str,
    to: &[String],
) -> Result<Option<Followed>, Error> {
    app.store().fresh(thread).await?;
    for agent in to {
        let task = format!("{message}/{agent}");
        if let Some(began) = began(app, thread, &task).await? {
            return Followed::whole(app, thread.clone(), task, began).await.map(Some);
        }
    }
    Ok(None)
}

/// `POST /ai-sdk/chat/{id}/stop`, `DELETE /ai-sdk/chat/{id}/stream`
pub(super) async fn stop(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let mut stopped = Vec::new();
    for task in unfinished(&app, &thread).await? {
        match stop_task(&app, &principal, (&id, &task.id), None).await {
            Ok(_) => stopped.push(task.id),
            // It ended by itself meanwhile.
            Err(error) if error.code == ErrorCode::AlreadyOver => {}
            Err(error) => return Err(error),
        }
    }
    let body = json!({ "stopped": stopped }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `GET /ai-sdk/chat/{id}`
pub(super) async fn history(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let version = super::version(&query, &headers)?;
    let mut filter = filter(&query, &principal)?;
    let thread = app.thread(&principal.thread(&id)).await?;
    if version == super::OLDEST {
        // It would add the whole message to the part that it has, when it resumes.
        for task in running(&app, &thread).await? {
            let turn = Followed::whole(&app, thread.clone(), task.id, task.began.0).await?;
            filter.without.extend(turn.tasks);
        }
    }
    let how = format!("dialect=ai-sdk-messages&for=ai@{version}");
    exported(&app, &Query::new(Some(&how)), id, thread, filter, None).await
}

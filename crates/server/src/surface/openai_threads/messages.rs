//! Messages: added, listed, changed in what is said of them.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use selvedge_store::{Append, Appended, Create, Key, ThreadRef};
use serde_json::Value;

use super::bodies::{self, NewMessage, Role};
use super::capabilities::{Deed, Parties, in_words, judged};
use super::gather::{Gathered, Sort, change, parsed};
use super::history::History;
use super::pages::{Asked, answer, list as listed};
use super::questions::open;
use super::runs::task;
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Ids, Payload};
use crate::query::Query;
use crate::surface::native::events::key;
use crate::surface::native::messages::{Saying, receivers, say};
use crate::surface::native::threads::body_object;
use crate::view::Filter;
use crate::{App, Error, ErrorCode};

/// `POST /v1/threads/{id}/messages`
pub(super) async fn create(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let doc = body_object(&body)?;
    let message = bodies::message(doc.root(), 0, (&principal, &headers))?;
    let key = key(&headers, &body)?;
    let parties = Parties::of_thread(&app, &thread).await?;
    let open = open(&app, &principal, &thread).await?;
    let mut deed = judged(&principal, &parties, &open, &message)?;
    let heard = parties.is_aitp() && message.role == Role::User;
    if heard && matches!(deed, Deed::None) {
        deed = in_words(&principal, &open, &message);
    }
    if heard && matches!(deed, Deed::None) && app.desk().is_some() {
        let appended = speak(&app, &principal, (&id, thread), &message, key).await?;
        return Ok(answer(&said(&app, &principal, &id, appended, &message.id).await?));
    }
    let stamp = Stamp::new(&id, now());
    let mut drafts = stamp.events(message.event.as_bytes())?;
    let mut append = Append::new(principal.thread(&id), Vec::new());
    match deed {
        Deed::None => {}
        Deed::Asks(event) => drafts.extend(stamp.own(&[*event])?),
        Deed::Answers(event, guard) => {
            drafts.extend(stamp.own(&[*event])?);
            append.guard = Some(guard);
        }
    }
    append.events = drafts;
    append.key = key;
    let appended = app.append_to(&id, append).await?;
    Ok(answer(&said(&app, &principal, &id, appended, &message.id).await?))
}

/// Says something to the agents of a thread of AITP, who answer it.
async fn speak(
    app: &App,
    principal: &Principal,
    (id, thread): (&str, ThreadRef),
    message: &NewMessage,
    key: Option<Key>,
) -> Result<Appended, Error> {
    let saying = Saying {
        thread: id,
        create: Create::Never,
        before: Vec::new(),
        message: message.id.clone(),
        event: message.event.clone(),
        text: message.text.clone(),
        to: receivers(app, Some(thread), None).await?,
        key,
    };
    Ok(say(app, principal, saying).await?.0)
}

/// A message that was just said.
async fn said(
    app: &App,
    principal: &Principal,
    id: &str,
    appended: Appended,
    message: &str,
) -> Result<Value, Error> {
    let (name, own, filter) = (id.to_owned(), message.to_owned(), Filter::all(principal.sees));
    let Appended { thread, first, last, .. } = appended;
    let found = app.blocking(move |store| {
        let entries = first.saturating_sub(1)..last;
        Ok(Gathered::between(store, (&name, &thread), entries, filter)?.one(Sort::Message, &own))
    });
    found.await?.ok_or_else(|| no_message(message, id))
}

fn no_message(message: &str, thread: &str) -> Error {
    let message = selvedge_protocol::validate::brief(message);
    Error::new(ErrorCode::NotFound, format!("message `{message}` not found in thread `{thread}`"))
}

/// The last messages of a thread, the first one first: enough of them, or all.
pub(super) async fn latest(
    app: &App,
    principal: &Principal,
    (id, thread): (&str, ThreadRef),
    is_enough: impl Fn(&[Value]) -> bool + Send + 'static,
) -> Result<Vec<Value>, Error> {
    let parties = Parties::of_thread(app, &thread).await?;
    let filter = Filter::all(principal.sees);
    let history = History { id: id.to_owned(), thread, filter, parties };
    app.blocking(move |store| Ok(history.latest(store, is_enough)?)).await
}

/// `GET /v1/threads/{id}/messages`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let thread = app.fresh(&principal.thread(&id)).await?;
    let query = Query::new(query.as_deref());
    let asked = Asked::new(&query)?;
    let messages = match query.get("run_id") {
        Some(run) => {
            let (run, filter) = (run.to_owned(), Filter::all(principal.sees));
            let (name, of) = (id.clone(), thread);
            let found = app.blocking(move |store| match task(store, &of, &run)? {
                Some(task) => {
                    let run = Gathered::run(store, (&name, &of), &task, filter)?;
                    Ok(run.all(Sort::Message))
                }
                None => Ok(Vec::new()),
            });
            found.await?
        }
        None => {
            let asked = asked.clone();
            latest(&app, &principal, (&id, thread), move |all| asked.is_in(all, id_of)).await?
        }
    };
    Ok(listed(asked.of(messages, id_of)?))
}

fn id_of(message: &Value) -> &str {
    message["id"].as_str().unwrap_or_default()
}

/// `GET /v1/threads/{id}/messages/{message}`
pub(super) async fn retrieve(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, message): Ids,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let found = one(&app, &principal, (&id, thread), &message).await?;
    Ok(answer(&found))
}

async fn one(
    app: &App,
    principal: &Principal,
    (id, thread): (&str, ThreadRef),
    message: &str,
) -> Result<Value, Error> {
    let wanted = message.to_owned();
    let is_there = move |all: &[Value]| all.iter().any(|own| id_of(own) == wanted);
    let all = latest(app, principal, (id, thread), is_there).await?;
    let found = all.into_iter().find(|own| id_of(own) == message);
    found.ok_or_else(|| no_message(message, id))
}

/// `POST /v1/threads/{id}/messages/{message}`
pub(super) async fn modify(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, message): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let mut found = one(&app, &principal, (&id, thread), &message).await?;
    let doc = body_object(&body)?;
    if let Some(metadata) = bodies::metadata(doc.root())? {
        let metadata = parsed(metadata.raw()).unwrap_or_default();
        let drafts = Stamp::new(&id, now()).own(&[change(Sort::Message, &message, &metadata)])?;
        let mut append = Append::new(principal.thread(&id), drafts);
        append.key = key(&headers, &body)?;
        app.append_to(&id, append).await?;
        found["metadata"] = metadata;
    }
    Ok(answer(&found))
}

/// `DELETE /v1/threads/{id}/messages/{message}`: others have read it, and every view would go on
/// telling it.
pub(super) async fn remove(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, _): Ids,
) -> Result<Response, Error> {
    app.thread(&principal.thread(&id)).await?;
    let message = "what was said in a journal stays; delete the thread, or fork it before this";
    Err(Error::new(ErrorCode::BadParameter, message).at("/message_id"))
}

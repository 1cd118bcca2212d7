//! Threads: made, shown.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::{Doc, Node, quote};
use selvedge_store::{Append, Create, TendError, ThreadRef};

use super::events::{key, made, now, placed};
use super::stream::filter;
use crate::auth::Principal;
use crate::event::Stamp;
use crate::extract::{Id, Payload};
use crate::query::Query;
use crate::state::{self, Origin};
use crate::view::{Filter, Sieve};
use crate::{App, Error, ErrorCode};

/// `POST /api/threads`
pub(crate) async fn create(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    let id = new_id(root)?;
    text_member(root, "title")?;
    metadata_member(root)?;
    let mut events = format!("[{{\"kind\":\"thread-created\",\"contextId\":{}", quote(&id));
    for name in ["title", "metadata"] {
        if let Some(value) = root.some(name) {
            events.push_str(&format!(",\"{name}\":{}", value.raw()));
        }
    }
    events.push('}');
    for (i, agent) in root.some("agents").into_iter().flat_map(Node::children).enumerate() {
        let agent_id = if agent.is_string() { Some(agent) } else { agent.some("id") };
        let Some(agent_id) = agent_id.filter(|id| id.is_string()) else {
            let message = "an agent is an id, or an object with one";
            return Err(Error::new(ErrorCode::BadParameter, message).at(format!("/agents/{i}")));
        };
        events.push_str(&format!(
            ",{{\"kind\":\"participant-joined\",\"participantId\":{},\"role\":\"agent\"",
            agent_id.raw()
        ));
        for name in ["name", "model", "metadata"] {
            if let Some(value) = agent.some(name) {
                events.push_str(&format!(",\"{name}\":{}", value.raw()));
            }
        }
        events.push('}');
    }
    events.push(']');
    let drafts = Stamp::new(&id, now()).events(events.as_bytes())?;
    let mut append = Append::new(principal.thread(&id), drafts).creating(Create::New);
    append.key = key(&headers, &body)?;
    let appended = app.append(append).await?;
    let cursor = Cursor { epoch: appended.thread.epoch, seq: appended.last };
    let body = format!(
        "{{\"id\":{},\"cursor\":\"{cursor}\",\"head\":{},\"duplicate\":{}}}",
        quote(&id),
        appended.last,
        appended.duplicate
    );
    Ok(made(&id, &appended, body))
}

/// `GET /api/threads/{id}?at=`: the thread's state and the cursor to follow it from, in one answer.
pub(crate) async fn show(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    asked(&app, &principal, &id, &Query::new(query.as_deref())).await
}

/// A thread's state, as a query asks for it.
pub(crate) async fn asked(
    app: &App,
    principal: &Principal,
    id: &str,
    query: &Query<'_>,
) -> Result<Response, Error> {
    let filter = filter(query, principal)?;
    let at: Option<u64> = query.parsed("at", "a sequence number")?;
    let key = principal.thread(id);
    let thread = app.thread(&key).await?;
    let origin = match thread.branch {
        None => Origin::Told,
        // Names may have changed since it branched off, its own among them.
        Some(_) => {
            let lineage = app.blocking(move |store| Ok(store.lineage(&key)?)).await?;
            Origin::Branch { parent: lineage.and_then(|of| of.parent), at: thread.base() }
        }
    };
    shown(app, id, thread, filter, at, origin).await
}

/// A thread's state at some point, under an id.
pub(super) async fn shown(
    app: &App,
    id: &str,
    thread: ThreadRef,
    filter: Filter,
    at: Option<u64>,
    origin: Origin,
) -> Result<Response, Error> {
    let epoch = thread.epoch;
    let (state, at, head) = app
        .blocking(move |store| {
            let head = store.head(&thread)?.min(filter.upto());
            let at = at.unwrap_or(head);
            if at > head {
                let message = format!("`at` is {at}, but the thread's head is {head}");
                return Err(Error::new(ErrorCode::BadParameter, message));
            }
            state::ends_at(store, &thread, at)?;
            let state = state::fold(store, &thread, at, &mut Sieve::new(filter))?;
            Ok((state, at, head))
        })
        .await?;
    let cursor = Cursor { epoch, seq: at };
    Ok(placed(cursor, state::json(id, cursor, head, &state, origin)))
}

/// `PATCH /api/threads/{id}`
pub(crate) async fn change(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    text_member(root, "title")?;
    metadata_member(root)?;
    let mut event = String::from("{\"kind\":\"thread-updated\"");
    for name in ["title", "metadata"] {
        if let Some(value) = root.get(name) {
            event.push_str(&format!(",\"{name}\":{}", value.raw()));
        }
    }
    event.push('}');
    let drafts = Stamp::new(&id, now()).events(event.as_bytes())?;
    let mut append = Append::new(principal.thread(&id), drafts);
    append.key = key(&headers, &body)?;
    let appended = app.append_to(&id, append).await?;
    let cursor = Cursor { epoch: appended.thread.epoch, seq: appended.last };
    let body =
        format!("{{\"id\":{},\"cursor\":\"{cursor}\",\"head\":{}}}", quote(&id), appended.last);
    Ok(placed(cursor, body))
}

/// `DELETE /api/threads/{id}`
pub(crate) async fn remove(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<StatusCode, Error> {
    match app.store().delete(principal.thread(&id)).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(TendError::NotFound) => Err(Error::no_thread(&id)),
        Err(error) => Err(error.into()),
    }
}

/// Checks that metadata, if it is there, is an object.
fn metadata_member(root: Node<'_, '_>) -> Result<(), Error> {
    if root.some("metadata").is_some_and(|metadata| !metadata.is_object()) {
        let message = "`metadata` must be an object";
        return Err(Error::new(ErrorCode::BadParameter, message).at("/metadata"));
    }
    Ok(())
}

/// A body that is an object; an empty one is an empty object.
pub(in crate::surface) fn body_object(body: &[u8]) -> Result<Doc<'_>, Error> {
    let body = if body.is_empty() { &b"{}"[..] } else { body };
    let doc = Doc::parse_bytes(body)
        .map_err(|error| Error::new(ErrorCode::BadJson, format!("not JSON: {error}")))?;
    if !doc.root().is_object() {
        return Err(Error::new(ErrorCode::BadParameter, "expected an object").at(""));
    }
    Ok(doc)
}

/// A member that is text, if it is there.
pub(in crate::surface) fn text_member(
    root: Node<'_, '_>,
    name: &str,
) -> Result<Option<String>, Error> {
    let Some(value) = root.some(name) else { return Ok(None) };
    match value.str() {
        Some(text) => Ok(Some(text.into_owned())),
        None => {
            let message = format!("`{name}` must be a string");
            Err(Error::new(ErrorCode::BadParameter, message).at(format!("/{name}")))
        }
    }
}

/// The id that a new thread is to have; one is made if there is none.
pub(super) fn new_id(root: Node<'_, '_>) -> Result<String, Error> {
    named_id(text_member(root, "id")?, "id")
}

/// The id in a member of that name, if it can be one; one is made if there is none.
pub(in crate::surface) fn named_id(given: Option<String>, name: &str) -> Result<String, Error> {
    let id = given.unwrap_or_else(|| uuid::Uuid::now_v7().to_string());
    if id.is_empty() || id.len() > 256 || id.contains(|c: char| c.is_control()) {
        let message = format!("`{name}` must have 1 to 256 bytes and no control characters");
        return Err(Error::new(ErrorCode::BadParameter, message).at(format!("/{name}")));
    }
    Ok(id)
}

/// A segment of a path.
pub(in crate::surface) fn encode(id: &str) -> String {
    form_urlencoded::byte_serialize(id.as_bytes()).collect::<String>().replace('+', "%20")
}

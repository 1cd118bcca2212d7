//! Taking out what must not stay: the content of events, and whole threads. Each leaves a receipt.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::header;
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::Node;
use selvedge_protocol::time;
use selvedge_store::{Branches, Erase, Erasure, Redact, RedactError, TendError};
use serde_json::{Value, json};

use super::events::{now, placed};
use super::threads::{body_object, text_member};
use crate::auth::Principal;
use crate::extract::{Id, Payload};
use crate::query::Query;
use crate::{App, Error, ErrorCode};

/// Bytes of a reason.
const REASON: usize = 1024;
/// Receipts of a list, unless asked otherwise, and at most.
const LIST: usize = 100;
const LIST_MAX: usize = 1000;

/// `POST /api/threads/{id}/redact`
pub(crate) async fn redact(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    let asked = Redact {
        thread: principal.thread(&id),
        events: events(root)?,
        by: principal.name.to_string(),
        reason: reason(root)?,
        timestamp: time::from_millis(now()).unwrap_or_default(),
    };
    let done = app.store().redact(asked).await.map_err(|error| match error {
        RedactError::Tend(TendError::NotFound) => Error::no_thread(&id),
        RedactError::NoEvent { .. } | RedactError::Count { .. } | RedactError::Receipt { .. } => {
            Error::from(error).at("/events")
        }
        other => other.into(),
    })?;
    let scrubbed = scrubbed(&app).await;
    let thread = app.thread(&principal.thread(&id)).await?;
    let of = thread.clone();
    let head = app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let events: Vec<Value> =
        done.events.iter().map(|(seq, hash)| json!({ "seq": seq, "hash": hash.hex() })).collect();
    let body = json!({
        "id": id,
        "events": events,
        "receipt": done.receipt,
        "at": time::from_millis(done.at),
        "by": *principal.name,
        "scrubbed": scrubbed,
    });
    Ok(placed(Cursor { epoch: thread.epoch, seq: head }, body.to_string()))
}

/// The events that are named.
fn events(root: Node<'_, '_>) -> Result<Vec<u64>, Error> {
    let wrong = |at: String| {
        let message = "`events` must be a list of sequence numbers";
        Error::new(ErrorCode::BadParameter, message).at(at)
    };
    let list = root.some("events").filter(|list| list.is_array());
    let list = list.ok_or_else(|| wrong("/events".to_owned()))?;
    let numbers = list.children().enumerate().map(|(i, node)| {
        let number = node.i64().and_then(|seq| u64::try_from(seq).ok());
        number.ok_or_else(|| wrong(format!("/events/{i}")))
    });
    numbers.collect()
}

fn reason(root: Node<'_, '_>) -> Result<Option<String>, Error> {
    let reason = text_member(root, "reason")?;
    if reason.as_ref().is_some_and(|reason| reason.len() > REASON) {
        let message = format!("`reason` must have at most {REASON} bytes");
        return Err(Error::new(ErrorCode::BadParameter, message).at("/reason"));
    }
    Ok(reason)
}

/// `POST /api/threads/{id}/erase`
pub(crate) async fn erase(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    let branches = match root.some("branches").map(Node::bool) {
        None | Some(Some(false)) => Branches::Stay,
        Some(Some(true)) => Branches::Go,
        Some(None) => {
            let message = "`branches` must be true or false";
            return Err(Error::new(ErrorCode::BadParameter, message).at("/branches"));
        }
    };
    let (thread, by) = (principal.thread(&id), principal.name.to_string());
    let asked = Erase { thread, branches, by, reason: reason(root)? };
    let gone = app.store().erase(asked).await.map_err(|error| match error {
        TendError::NotFound => Error::no_thread(&id),
        other => other.into(),
    })?;
    let scrubbed = scrubbed(&app).await;
    let mut answer = listed(&gone);
    answer["scrubbed"] = scrubbed.into();
    Ok(json_of(&answer))
}

/// Whether every byte is overwritten. If someone reads the file meanwhile, that comes later, and
/// what was asked for is done all the same.
async fn scrubbed(app: &App) -> bool {
    app.store().scrubbed().await.is_ok()
}

/// `GET /api/erasures`
pub(crate) async fn erasures(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let limit = Query::new(query.as_deref()).limit(LIST, LIST_MAX)?;
    let tenant = principal.tenant.clone();
    let found = app.blocking(move |store| Ok(store.erasures(&tenant, limit)?)).await?;
    Ok(json_of(&listed(&found)))
}

fn json_of(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn listed(receipts: &[Erasure]) -> Value {
    let told: Vec<Value> = receipts
        .iter()
        .map(|receipt| {
            json!({
                "thread": receipt.thread,
                "at": time::from_millis(receipt.at),
                "by": receipt.by,
                "reason": receipt.reason,
                "entries": receipt.entries,
                "hash": receipt.hash.hex(),
                "sharedWith": receipt.shared_with,
            })
        })
        .collect();
    json!({ "erasures": told })
}

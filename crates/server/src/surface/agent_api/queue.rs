//! Turns that are left to a queue: submitted, asked for later. The queue is the journal.
//!
//! Invariant: a task's id in the queue names its session and the entry that made it, so that
//! asking costs as much as the turn, and nothing has to be kept.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Doc, from_utf8};
use selvedge_store::{Store, ThreadRef};
use serde_json::{Value, json};

use super::process::begin;
use super::request::read;
use super::whole;
use crate::auth::Principal;
use crate::extract::{Id, Payload};
use crate::{App, Error, ErrorCode};

/// What the runtime calls the queue that there is without a broker.
const QUEUE: &str = "stream_query";
/// Bytes of the journal read at once.
const PAGE: usize = 1 << 20;

/// `POST /process/task`
pub(super) async fn submit(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let turn = begin(&app, &principal, read(&body)?).await?;
    let id = format!("{}~{}", turn.id, turn.after + 1);
    Ok(answer(&json!({
        "task_id": id,
        "status": "submitted",
        "queue": QUEUE,
        "message": format!("Task {id} submitted to queue {QUEUE}"),
    })))
}

/// `GET /process/task/{task_id}`
pub(super) async fn status(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let missing = || Error::new(ErrorCode::NotFound, format!("task `{id}` not found"));
    let (session, first) = id.rsplit_once('~').ok_or_else(missing)?;
    let first: u64 = first.parse().map_err(|_| missing())?;
    let thread = app.thread(&principal.thread(session)).await.map_err(|_| missing())?;
    let told = app.blocking(move |store| {
        let Some(task) = asked_for(store, &thread, first)? else { return Ok(None) };
        let after = first.saturating_sub(1);
        let (state, upto) = stands(store, &thread, &task, after)?;
        let response = match state {
            Some(state) if is_resting(state) => whole::told(store, &thread, &[task], after..upto)?,
            _ => None,
        };
        Ok(Some((state, response)))
    });
    let (state, response) = told.await?.ok_or_else(missing)?;
    let result = response.and_then(|text| serde_json::from_str::<Value>(&text).ok());
    let result = result.unwrap_or_default();
    let status = match state {
        None | Some(TaskState::Created) => "pending",
        Some(TaskState::Failed) => {
            let why = result.pointer("/error/message").cloned().unwrap_or_default();
            return Ok(answer(&json!({ "status": "error", "result": why })));
        }
        Some(state) if is_resting(state) => "finished",
        Some(_) => "running",
    };
    Ok(answer(&json!({ "status": status, "result": result })))
}

/// Whether a task goes on by itself no more.
fn is_resting(state: TaskState) -> bool {
    state.is_terminal() || matches!(state, TaskState::WaitingInput | TaskState::WaitingAuth)
}

/// The task that an append made last, or that it answered: what was said before comes first.
fn asked_for(store: &Store, thread: &ThreadRef, first: u64) -> Result<Option<String>, Error> {
    let page = store.read(thread, first.saturating_sub(1), usize::MAX, PAGE)?;
    let mut found = None;
    for entry in page.entries.iter().filter(|entry| entry.append == first) {
        let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
        let Some(event) = Event::parse(doc.root()) else { continue };
        if matches!(event.kind(), Kind::TaskCreated | Kind::InputReceived) {
            found = event.str("taskId").map(|task| task.into_owned()).or(found);
        }
    }
    Ok(found)
}

/// Where a task stands, and the entry that says so.
fn stands(
    store: &Store,
    thread: &ThreadRef,
    task: &str,
    after: u64,
) -> Result<(Option<TaskState>, u64), Error> {
    let (mut seen, mut state, mut at) = (after, None, after);
    loop {
        let page = store.read(thread, seen, usize::MAX, PAGE)?;
        let Some(last) = page.entries.last() else { return Ok((state, at)) };
        for entry in &page.entries {
            let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            if event.str("taskId").is_none_or(|own| own != task) {
                continue;
            }
            if let Some(next) = TaskState::after(&event) {
                (state, at) = (Some(next), entry.seq);
                if next.is_terminal() {
                    return Ok((state, at));
                }
            }
        }
        seen = last.seq;
    }
}

fn answer(value: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

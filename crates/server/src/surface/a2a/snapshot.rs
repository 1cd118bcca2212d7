//! A task as it stands: its records, reduced as its clients do it.

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::json::from_utf8;
use selvedge_store::{Store, Task, ThreadRef};
use serde_json::{Map, Value, json};

use super::caller::{Caller, Version};
use super::fault::{Fault, What};
use super::relay::Relay;
use crate::Error;
use crate::view::{Kind, records};

/// A task and where it is.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) context: String,
    pub(super) thread: ThreadRef,
    pub(super) task: Task,
    /// The entry before the append that made it.
    pub(super) after: u64,
}

/// How much of a task is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown {
    /// Messages of its history; all, if it is not said.
    pub(super) history: Option<usize>,
    pub(super) artifacts: Artifacts,
}

/// Whether artifacts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Artifacts {
    Shown,
    Left,
}

/// The task of an id. Of several, in several threads, the one that began last.
pub(super) async fn find(caller: &Caller, id: &str) -> Result<Found, Fault> {
    let app = &caller.app;
    let (tenant, own) = (caller.principal.tenant.clone(), id.to_owned());
    let look = move |store: &Store| Ok(store.tasks_by_id(&tenant, &own)?.into_iter().next());
    let mut placed = app.blocking(look.clone()).await?;
    match &placed {
        Some(placed) => drop(app.fresh(&placed.thread).await?),
        None => app.store().up_to_date().await.map_err(Error::from)?,
    }
    // What it is known by may have been behind.
    placed = app.blocking(look).await?;
    let Some(placed) = placed else { return Err(Fault::no_task(id)) };
    let thread = app.thread(&placed.thread).await?;
    let of = thread.clone();
    let began = placed.task.began.0;
    let after = app.blocking(move |store| after(store, &of, began)).await?;
    Ok(Found { context: placed.thread.id.to_string(), thread, task: placed.task, after })
}

/// The entry before the append that an entry came with. Blocks for the disk.
pub(super) fn after(store: &Store, thread: &ThreadRef, seq: u64) -> Result<u64, Error> {
    let page = store.read(thread, seq.saturating_sub(1), 1, usize::MAX)?;
    let append = page.entries.first().map_or(seq, |entry| entry.append);
    Ok(append.saturating_sub(1))
}

/// The task at an entry of its thread.
pub(super) async fn at(
    caller: &Caller,
    found: &Found,
    upto: Option<u64>,
    shown: Shown,
) -> Result<Value, Fault> {
    let (kind, version) =
        (caller.kind(&found.context, &found.task.id, found.after), caller.version);
    let (of, after) = (found.thread.clone(), found.after);
    let (found, relay) = (found.clone(), Relay::new(version, caller.extension, &found.task.id));
    let folded = caller.app.reading(&of, after, move |store| {
        let upto = match upto.or(found.task.ended.map(|(seq, _)| seq)) {
            Some(upto) => upto,
            None => store.head(&found.thread)?,
        };
        folded(store, &found, &kind, relay, version, upto)
    });
    let mut task = folded.await?;
    trim(&mut task, shown);
    Ok(task)
}

/// The same, on whatever thread it is. Blocks for the disk.
pub(super) fn folded(
    store: &Store,
    found: &Found,
    kind: &Kind,
    mut relay: Relay,
    version: Version,
    upto: u64,
) -> Result<Value, Error> {
    let mut task = begun(found, version);
    for (place, data) in records(store, &found.thread, kind, upto)? {
        if let Some(told) = relay.pass(&data, &place)
            && let Ok(record) = serde_json::from_str(&told)
        {
            reduce(&mut task, record, version);
        }
    }
    Ok(task)
}

/// A task of which nothing is told yet.
fn begun(found: &Found, version: Version) -> Value {
    let time = selvedge_protocol::time::from_millis(found.task.began.1);
    let state = state_name(found.task.state, version);
    let mut task = json!({
        "id": found.task.id,
        "contextId": found.context,
        "status": { "state": state, "timestamp": time },
    });
    if version == Version::V03 {
        task["kind"] = json!("task");
    }
    task
}

/// A state's name.
pub(super) fn state_name(state: TaskState, version: Version) -> &'static str {
    let (new, old) = match state {
        TaskState::Created => ("TASK_STATE_SUBMITTED", "submitted"),
        TaskState::Working | TaskState::WaitingSubtask => ("TASK_STATE_WORKING", "working"),
        TaskState::WaitingInput => ("TASK_STATE_INPUT_REQUIRED", "input-required"),
        TaskState::WaitingAuth => ("TASK_STATE_AUTH_REQUIRED", "auth-required"),
        TaskState::Completed => ("TASK_STATE_COMPLETED", "completed"),
        TaskState::Failed => ("TASK_STATE_FAILED", "failed"),
        TaskState::Canceled => ("TASK_STATE_CANCELED", "canceled"),
    };
    if version == Version::V1 { new } else { old }
}

/// The states that a name stands for.
pub(super) fn states_named(name: &str) -> Option<Vec<TaskState>> {
    Some(match name {
        "TASK_STATE_UNSPECIFIED" => Vec::new(),
        "TASK_STATE_SUBMITTED" | "submitted" => vec![TaskState::Created],
        "TASK_STATE_WORKING" | "working" => vec![TaskState::Working, TaskState::WaitingSubtask],
        "TASK_STATE_INPUT_REQUIRED" | "input-required" => vec![TaskState::WaitingInput],
        "TASK_STATE_AUTH_REQUIRED" | "auth-required" => vec![TaskState::WaitingAuth],
        "TASK_STATE_COMPLETED" | "completed" => vec![TaskState::Completed],
        "TASK_STATE_FAILED" | "failed" | "TASK_STATE_REJECTED" | "rejected" => {
            vec![TaskState::Failed]
        }
        "TASK_STATE_CANCELED" | "canceled" => vec![TaskState::Canceled],
        _ => return None,
    })
}

/// Takes a record in.
fn reduce(task: &mut Value, mut record: Value, version: Version) {
    let (kind, body) = match version {
        Version::V1 => {
            let Some(members) = record.as_object_mut() else { return };
            let Some(kind) = members.keys().next().cloned() else { return };
            let Some(body) = members.remove(&kind) else { return };
            (kind, body)
        }
        Version::V03 => (record["kind"].as_str().unwrap_or_default().to_owned(), record),
    };
    match (kind.as_str(), body) {
        ("task", body) => *task = body,
        ("statusUpdate" | "status-update", mut body) => {
            let before = task["status"]["message"].take();
            push(task, "history", before);
            let mut status = body["status"].take();
            let user = matches!(status["message"]["role"].as_str(), Some("ROLE_USER" | "user"));
            if user && let Some(status) = status.as_object_mut() {
                let said = status.remove("message").unwrap_or_default();
                push(task, "history", said);
            }
            if status.get("timestamp").is_none() {
                status["timestamp"] = task["status"]["timestamp"].take();
            }
            task["status"] = status;
            if let Value::Object(metadata) = body["metadata"].take() {
                let own = task.as_object_mut().map(|task| {
                    task.entry("metadata").or_insert_with(|| Value::Object(Map::new()))
                });
                if let Some(Value::Object(own)) = own {
                    own.extend(metadata);
                }
            }
        }
        ("artifactUpdate" | "artifact-update", mut body) => {
            let more = body["append"].as_bool() == Some(true);
            artifact(task, body["artifact"].take(), more);
        }
        _ => {}
    }
}

fn push(task: &mut Value, list: &str, item: Value) {
    if item.is_null() {
        return;
    }
    match task[list].as_array_mut() {
        Some(items) => items.push(item),
        None => task[list] = Value::Array(vec![item]),
    }
}

/// Puts an artifact in its place, or more of one to the rest of it.
fn artifact(task: &mut Value, mut artifact: Value, more: bool) {
    let id = artifact["artifactId"].clone();
    let known = task["artifacts"].as_array_mut();
    let known = known.and_then(|all| all.iter_mut().find(|own| own["artifactId"] == id));
    match known {
        Some(known) if more => {
            let Value::Array(parts) = artifact["parts"].take() else { return };
            let Some(own) = known["parts"].as_array_mut() else { return };
            for part in parts {
                // Pieces of one text are one text.
                match own.last_mut() {
                    Some(last) if is_plain(last) && is_plain(&part) => {
                        let more = part["text"].as_str().unwrap_or_default();
                        if let Value::String(text) = &mut last["text"] {
                            text.push_str(more);
                        }
                    }
                    _ => own.push(part),
                }
            }
        }
        Some(known) => *known = artifact,
        None => push(task, "artifacts", artifact),
    }
}

/// Whether a part is text and nothing else.
fn is_plain(part: &Value) -> bool {
    let Some(members) = part.as_object() else { return false };
    part["text"].is_string() && members.keys().all(|key| key == "text" || key == "kind")
}

/// Leaves out what is not to be shown.
fn trim(task: &mut Value, shown: Shown) {
    let Some(members) = task.as_object_mut() else { return };
    if shown.artifacts == Artifacts::Left {
        members.remove("artifacts");
    }
    let Some(most) = shown.history else { return };
    if most == 0 {
        members.remove("history");
    } else if let Some(Value::Array(history)) = members.get_mut("history") {
        let from = history.len().saturating_sub(most);
        history.drain(..from);
    }
}

/// Whether an agent's answer in a task is a mere message, as its journal says. Blocks for the disk.
pub(super) fn is_message(store: &Store, found: &Found) -> Result<bool, Error> {
    const SIGN: &str = "\"reply\":\"message\"";
    let mut seen = found.after;
    loop {
        let page = store.read(&found.thread, seen, usize::MAX, 1 << 20)?;
        let Some(last) = page.entries.last() else { return Ok(false) };
        seen = last.seq;
        let mut texts = page.entries.iter().map(|entry| from_utf8(&entry.event).unwrap_or(""));
        if texts.any(|text| text.contains(SIGN) && is_reply(text, &found.task.id)) {
            return Ok(true);
        }
    }
}

/// What was said in a task, as a mere message.
pub(super) fn reply(found: &Found, task: &Value, version: Version) -> Value {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let parts: Vec<Value> = artifacts
        .flat_map(|artifact| artifact["parts"].as_array().cloned().unwrap_or_default())
        .collect();
    let mut message = json!({
        "messageId": format!("{}-reply", found.task.id),
        "contextId": found.context,
        "role": if version == Version::V1 { "ROLE_AGENT" } else { "agent" },
        "parts": parts,
    });
    if version == Version::V03 {
        message["kind"] = json!("message");
    }
    message
}

fn is_reply(event: &str, task: &str) -> bool {
    let Ok(event) = serde_json::from_str::<Value>(event) else { return false };
    event["kind"] == "step-finished"
        && event["taskId"] == task
        && event["metadata"]["envelope"]["reply"] == "message"
}

/// Something that cannot be told as JSON.
pub(super) fn broken(error: impl std::fmt::Display) -> Fault {
    Fault::new(What::Internal, error.to_string())
}

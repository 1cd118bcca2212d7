//! Tasks: shown, listed, canceled.

use selvedge_protocol::json::Node;
use selvedge_protocol::time;
use selvedge_store::{Place, Store, TaskQuery};
use serde_json::{Value, json};

use super::answer::Answer;
use super::caller::Caller;
use super::fault::{Fault, What};
use super::relay::Relay;
use super::request::{count, flag, needed, text};
use super::snapshot::{self, Artifacts, Found, Shown, find, states_named};
use crate::surface::native::acts::cancel::stop_task;
use crate::{Error, ErrorCode};

/// Tasks of a page, unless asked otherwise, and at most.
const PAGE: usize = 50;
const PAGE_MAX: usize = 100;

/// `GetTask`, `tasks/get`
pub(super) async fn get(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let id = needed(params, "id", "")?;
    let history = count(params, "historyLength", "")?;
    let found = find(caller, &id).await?;
    let shown = Shown { history, artifacts: Artifacts::Shown };
    Ok(Answer::Json(snapshot::at(caller, &found, None, shown).await?.to_string()))
}

/// `CancelTask`, `tasks/cancel`
pub(super) async fn cancel(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let id = needed(params, "id", "")?;
    let found = find(caller, &id).await?;
    let over = || Fault::new(What::NotCancelable, format!("task `{id}` is over"));
    if found.task.state.is_terminal() {
        return Err(over());
    }
    let stopped = stop_task(&caller.app, &caller.principal, (&found.context, &id), None).await;
    match stopped {
        Err(Error { code: ErrorCode::AlreadyOver, .. }) => return Err(over()),
        other => drop(other?),
    }
    let found = find(caller, &id).await?;
    let shown = Shown { history: None, artifacts: Artifacts::Shown };
    Ok(Answer::Json(snapshot::at(caller, &found, None, shown).await?.to_string()))
}

/// `ListTasks`: those whose state changed last first.
pub(super) async fn list(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let limit = count(params, "pageSize", "")?.unwrap_or(PAGE);
    if !(1..=PAGE_MAX).contains(&limit) {
        let message = format!("`pageSize` must be a number from 1 to {PAGE_MAX}");
        return Err(Fault::at("/pageSize", message));
    }
    let status = text(params, "status", "")?;
    let states = match &status {
        Some(name) => states_named(name)
            .ok_or_else(|| Fault::at("/status", "`status` must be a state of tasks"))?,
        None => Vec::new(),
    };
    let since = match text(params, "statusTimestampAfter", "")? {
        Some(text) => Some(time::to_millis(&text).ok_or_else(|| {
            let message = "`statusTimestampAfter` must be a time such as 2026-01-31T12:00:00Z";
            Fault::at("/statusTimestampAfter", message)
        })?),
        None => None,
    };
    let asked = TaskQuery {
        thread: text(params, "contextId", "")?,
        states,
        since,
        after: text(params, "pageToken", "")?.map(Place::new),
        limit,
    };
    let shown = Shown {
        history: count(params, "historyLength", "")?,
        artifacts: match flag(params, "includeArtifacts", "")? {
            Some(true) => Artifacts::Shown,
            _ => Artifacts::Left,
        },
    };
    caller.app.store().up_to_date().await.map_err(Error::from)?;
    let (own, tenant) = (asked.clone(), caller.principal.tenant.clone());
    let page = caller.app.blocking(move |store: &Store| {
        let count = store.tasks_of_count(&tenant, &own)?;
        Ok((store.tasks_of(&tenant, &own)?, count))
    });
    let (listed, total) = page.await.map_err(|error| match error.code {
        ErrorCode::BadParameter => Fault::at("/pageToken", "`pageToken` is none of a page here"),
        _ => Fault::from(error),
    })?;
    let mut tasks = Vec::with_capacity(listed.items.len());
    for placed in listed.items {
        let thread = match caller.app.thread(&placed.thread).await {
            Err(Error { code: ErrorCode::NotFound, .. }) => continue,
            other => other?,
        };
        let (of, began) = (thread.clone(), placed.task.began.0);
        let after = caller.app.blocking(move |store| snapshot::after(store, &of, began)).await?;
        let context = placed.thread.id.to_string();
        let found = Found { context, thread, task: placed.task, after };
        let task = snapshot::at(caller, &found, None, shown).await?;
        // Who refused a task has failed at it, as the journal has it.
        if status.as_ref().is_none_or(|status| fits(&task, status)) {
            tasks.push(task);
        }
    }
    let next = listed.next.map_or(String::new(), |next| next.to_string());
    let body = json!({
        "tasks": tasks,
        "nextPageToken": next,
        "pageSize": limit,
        "totalSize": total,
    });
    Ok(Answer::Json(body.to_string()))
}

fn fits(task: &Value, status: &str) -> bool {
    match task["status"]["state"].as_str().unwrap_or_default() {
        own @ ("TASK_STATE_REJECTED" | "rejected" | "TASK_STATE_FAILED" | "failed") => own
            .trim_start_matches("TASK_STATE_")
            .eq_ignore_ascii_case(status.trim_start_matches("TASK_STATE_")),
        _ => true,
    }
}

/// A task, folded where one waits for the disk anyway.
pub(super) fn folded(
    store: &Store,
    caller: &Caller,
    found: &Found,
    upto: u64,
) -> Result<Value, Error> {
    let kind = caller.kind(&found.context, &found.task.id, found.after);
    let relay = Relay::new(caller.version, caller.extension, &found.task.id);
    snapshot::folded(store, found, &kind, relay, caller.version, upto)
}

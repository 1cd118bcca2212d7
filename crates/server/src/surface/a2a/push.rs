//! Whom a task is told to: kept, shown, listed, forgotten. What is kept of a config is sealed.

use selvedge_agents::credential::VaultError;
use selvedge_protocol::journal::Cursor;
use selvedge_protocol::json::Node;
use selvedge_store::Push;
use serde_json::json;

use super::answer::Answer;
use super::caller::{Caller, Version};
use super::config::Config;
use super::fault::{Fault, What};
use super::request::{needed, text};
use super::snapshot::{Found, broken, find};
use crate::{App, Error};

/// `CreateTaskPushNotificationConfig`, `tasks/pushNotificationConfig/set`
pub(super) async fn set(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let task = needed(params, "taskId", "")?;
    set_for(caller, &task, params).await
}

/// The same for a task that the path names.
pub(super) async fn set_for(
    caller: &Caller,
    task: &str,
    params: Node<'_, '_>,
) -> Result<Answer, Fault> {
    let inner = super::request::member(params, "config").filter(|config| config.is_object());
    let config = Config::read(inner.unwrap_or(params), caller.version, "")?.checked(caller)?;
    let found = find(caller, task).await?;
    let of = found.thread.clone();
    let head = caller.app.blocking(move |store| Ok(store.head(&of)?)).await?;
    let shown = config.shown(task, caller.version);
    keep(caller, &found, config, head).await?;
    Ok(Answer::Json(shown.to_string()))
}

/// Keeps a config, and tells of what comes after an entry.
pub(super) async fn keep(
    caller: &Caller,
    found: &Found,
    config: Config,
    after: u64,
) -> Result<(), Fault> {
    let app = &caller.app;
    let text = config.kept().into_bytes();
    let task = &found.task;
    let place = place(found.thread.num, &task.id, &config.id);
    let sealed = app.vault().seal(place, text).await.map_err(broken)?;
    let push = Push {
        thread: found.thread.num,
        task: task.id.clone(),
        id: config.id,
        tenant: caller.principal.tenant.to_string(),
        context: found.context.clone(),
        sealed,
        told: Cursor { epoch: found.thread.epoch, seq: after }.to_string(),
        // There is nothing more to tell of a task that was over before.
        over: task.ended.is_some_and(|(seq, _)| seq <= after),
    };
    let shared = app.clone();
    let kept = app.blocking(move |_| Ok(shared.pushes().put(&push)?)).await?;
    if !kept {
        return Err(Fault::new(What::Params, "this task is told to too many already"));
    }
    app.push_news().notify_one();
    Ok(())
}

/// What a config is sealed for.
fn place(thread: i64, task: &str, id: &str) -> String {
    format!("push/{thread}/{}/{task}/{id}", task.len())
}

/// What is kept of a config.
pub(super) async fn opened(app: &App, push: &Push) -> Result<Config, VaultError> {
    let place = place(push.thread, &push.task, &push.id);
    let text = app.vault().open(place, push.sealed.clone()).await?;
    Config::known(&text).ok_or(VaultError::Broken)
}

/// Which task and which config are asked for. 0.3 calls the task `id`.
fn named(params: Node<'_, '_>, version: Version) -> Result<(String, Option<String>), Fault> {
    match version {
        Version::V1 => Ok((needed(params, "taskId", "")?, text(params, "id", "")?)),
        Version::V03 => {
            let config = text(params, "pushNotificationConfigId", "")?;
            match text(params, "taskId", "")? {
                Some(task) => Ok((task, config.or(text(params, "id", "")?))),
                None => Ok((needed(params, "id", "")?, config)),
            }
        }
    }
}

/// `GetTaskPushNotificationConfig`, `tasks/pushNotificationConfig/get`
pub(super) async fn get(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let (task, id) = named(params, caller.version)?;
    let found = find(caller, &task).await?;
    let mut pushes = all(caller, &found).await?;
    let wanted = pushes.iter().position(|push| id.as_ref().is_none_or(|id| push.id == *id));
    let Some(at) = wanted else {
        let message = match id {
            Some(id) => format!("task `{task}` is not told under `{id}`"),
            None => format!("task `{task}` is told to nobody"),
        };
        return Err(Fault::new(What::NoTask, message));
    };
    let config = opened(&caller.app, &pushes.swap_remove(at)).await.map_err(broken)?;
    Ok(Answer::Json(config.shown(&task, caller.version).to_string()))
}

/// `ListTaskPushNotificationConfigs`, `tasks/pushNotificationConfig/list`
pub(super) async fn list(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let (task, _) = named(params, caller.version)?;
    let found = find(caller, &task).await?;
    let mut configs = Vec::new();
    for push in all(caller, &found).await? {
        let config = opened(&caller.app, &push).await.map_err(broken)?;
        configs.push(config.shown(&task, caller.version));
    }
    Ok(Answer::Json(match caller.version {
        Version::V1 => json!({ "configs": configs, "nextPageToken": "" }).to_string(),
        Version::V03 => json!(configs).to_string(),
    }))
}

async fn all(caller: &Caller, found: &Found) -> Result<Vec<Push>, Fault> {
    let (app, thread, task) = (caller.app.clone(), found.thread.num, found.task.id.clone());
    let all = move |_: &selvedge_store::Store| Ok(app.pushes().of_task(thread, &task)?);
    Ok(caller.app.blocking(all).await?)
}

/// `DeleteTaskPushNotificationConfig`, `tasks/pushNotificationConfig/delete`
pub(super) async fn delete(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let (task, id) = named(params, caller.version)?;
    let Some(id) = id else { return Err(Fault::at("/id", "`id` is missing: which config?")) };
    let found = find(caller, &task).await?;
    let (app, thread) = (caller.app.clone(), found.thread.num);
    let remove = move |_: &selvedge_store::Store| {
        app.pushes().remove(thread, &task, &id).map_err(Error::from)
    };
    // Once is enough: what is not there need not go.
    let _ = caller.app.blocking(remove).await?;
    Ok(Answer::Json(match caller.version {
        Version::V1 => "{}".to_owned(),
        Version::V03 => "null".to_owned(),
    }))
}

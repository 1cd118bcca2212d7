//! Sending a message: a new task, or an answer to one that waits.

use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::json::{Doc, Node, quote};
use selvedge_store::{Appended, Create, InboxKind, Key, Store, Task, Within};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::answer::Answer;
use super::caller::{Caller, Version};
use super::fault::{Fault, What};
use super::message::{Sent, Wait};
use super::push;
use super::request::member;
use super::snapshot::{self, Artifacts, Found, Shown, find};
use crate::surface::native::acts::auths::authenticate;
use crate::surface::native::acts::inputs::{Reply, give};
use crate::surface::native::messages::{Aimed, Saying, TaskIds, receivers, say_aimed};
use crate::turn::{Turn, Until};

/// A message that was sent, and the task that it is about.
pub(super) struct Said {
    pub(super) found: Found,
    /// The entry before the append that it made.
    pub(super) before: u64,
    /// Whether the task is new.
    pub(super) is_new: bool,
}

/// `SendMessage`, `message/send`
pub(super) async fn send(caller: &Caller, params: Node<'_, '_>) -> Result<Answer, Fault> {
    let sent = Sent::read(params, caller.version)?;
    let said = deliver(caller, &sent, params).await?;
    if sent.wait == Wait::Rest {
        let turn = said.turn(Until::Rest);
        // Who waits longer is told how it stands; the task goes on.
        let most = caller.app.options().request_timeout.mul_f32(0.8);
        let _ = tokio::time::timeout(most, turn.rested(caller.app.clone())).await;
    }
    let shown = Shown { history: sent.history, artifacts: Artifacts::Shown };
    let task = snapshot::at(caller, &said.found, None, shown).await?;
    let version = caller.version;
    if said.is_new && sent.wait == Wait::Rest {
        let found = said.found.clone();
        let (of, after) = (&said.found.thread, found.after);
        let is_message = move |store: &Store| snapshot::is_message(store, &found);
        if caller.app.reading(of, after, is_message).await? {
            let message = snapshot::reply(&said.found, &task, version);
            return Ok(Answer::Json(told(message, "message", version)));
        }
    }
    Ok(Answer::Json(told(task, "task", version)))
}

fn told(result: Value, name: &str, version: Version) -> String {
    match version {
        Version::V1 => json!({ name: result }).to_string(),
        Version::V03 => result.to_string(),
    }
}

impl Said {
    /// What comes of it.
    pub(super) fn turn(&self, until: Until) -> Turn {
        Turn {
            id: self.found.context.clone(),
            thread: self.found.thread.clone(),
            after: self.before,
            tasks: vec![self.found.task.id.clone()],
            until,
        }
    }
}

/// Writes the message down, and whom to tell.
pub(super) async fn deliver(
    caller: &Caller,
    sent: &Sent,
    params: Node<'_, '_>,
) -> Result<Said, Fault> {
    let push = sent.push.as_ref().map(|config| config.checked(caller)).transpose()?;
    let said = match &sent.task {
        Some(task) => to_task(caller, sent, task, params).await?,
        None => to_agent(caller, sent, params).await?,
    };
    if let Some(config) = push {
        push::keep(caller, &said.found, config, said.before).await?;
    }
    Ok(said)
}

/// The event that says it.
fn event(sent: &Sent) -> String {
    let mut event = format!(
        "{{\"kind\":\"message\",\"role\":\"user\",\"messageId\":{},\"content\":{}",
        quote(&sent.id),
        sent.content
    );
    if let Some(metadata) = &sent.metadata {
        event.push_str(&format!(",\"metadata\":{metadata}"));
    }
    event.push('}');
    event
}

/// The same message again, in the same context, is the same request, however it is to be answered.
fn key(sent: &Sent, params: Node<'_, '_>) -> Option<Key> {
    sent.context.as_ref().or(sent.task.as_ref())?;
    let message = member(params, "message")?;
    let digest: [u8; 32] = Sha256::digest(message.raw().as_bytes()).into();
    let short: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let id: String =
        Sha256::digest(sent.id.as_bytes()).iter().take(12).map(|b| format!("{b:02x}")).collect();
    Some(Key { text: format!("a2a-{id}-{short}"), digest })
}

/// A new task, in the message's context or one of its own.
async fn to_agent(caller: &Caller, sent: &Sent, params: Node<'_, '_>) -> Result<Said, Fault> {
    let app = &caller.app;
    let id = sent.context.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
    if id.len() > 256 || id.contains(|c: char| c.is_control()) {
        let message = "`contextId` must have 1 to 256 bytes and no control characters";
        return Err(Fault::at("/message/contextId", message));
    }
    let thread = match sent.context {
        Some(_) => app.find_thread(&caller.principal.thread(&id)).await?,
        None => None,
    };
    let mut before = Vec::new();
    if thread.is_none() {
        before.push(format!("{{\"kind\":\"thread-created\",\"contextId\":{}}}", quote(&id)));
    }
    let named = caller.agent.clone().map(|agent| vec![agent]);
    let to = receivers(app, thread, named).await.map_err(no_agent)?;
    let saying = Saying {
        thread: &id,
        create: Create::IfMissing,
        before,
        message: sent.id.clone(),
        event: event(sent),
        text: sent.text.clone(),
        // One message is one task here.
        to: to.into_iter().take(1).collect(),
        key: key(sent, params),
    };
    let aimed = Aimed { ids: TaskIds::Minted, task: None };
    let (appended, said) = say_aimed(app, &caller.principal, saying, aimed).await?;
    match said.tasks.into_iter().next() {
        Some((task, agent)) if !appended.duplicate => Ok(begun(id, task, agent, appended)),
        made => {
            let task = made.map(|(task, _)| task).or_else(|| said.resumed.into_iter().next());
            let task = task.ok_or_else(|| snapshot::broken("the message made no task"))?;
            placed(caller, &task, &appended).await
        }
    }
}

/// A task that was just made: nobody has to look for it.
fn begun(context: String, id: String, agent: String, appended: Appended) -> Said {
    let task = Task {
        id,
        parent: None,
        agent: Some(agent),
        initiator: Some("user".to_owned()),
        model: None,
        state: TaskState::Created,
        began: (appended.last, appended.at),
        ended: None,
    };
    let before = appended.first.saturating_sub(1);
    let found = Found { context, thread: appended.thread, task, after: before };
    Said { found, before, is_new: true }
}

/// Where agents are not told apart by `to`, there is nothing to say about it.
fn no_agent(error: crate::Error) -> Fault {
    Fault { pointer: None, ..Fault::from(error) }
}

async fn placed(caller: &Caller, task: &str, appended: &Appended) -> Result<Said, Fault> {
    let found = find(caller, task).await?;
    let before = appended.first.saturating_sub(1);
    Ok(Said { is_new: found.after == before, found, before })
}

/// An answer to what a task asks.
async fn to_task(
    caller: &Caller,
    sent: &Sent,
    task: &str,
    params: Node<'_, '_>,
) -> Result<Said, Fault> {
    let found = find(caller, task).await?;
    if sent.context.as_ref().is_some_and(|context| *context != found.context) {
        let message = "`contextId` is not the one of the task";
        return Err(Fault::at("/message/contextId", message));
    }
    if found.task.state.is_terminal() {
        let message = format!("task `{task}` is over; a message without `taskId` begins another");
        return Err(Fault::new(What::Unsupported, message));
    }
    let (of, own) = (found.thread.clone(), task.to_owned());
    let waits = caller.app.blocking(move |store| {
        let unfinished = store.unfinished(&of, &Within::Task(own))?;
        let mut waits = store.pending(&of)?;
        waits.retain(|item| item.task.as_ref().is_some_and(|task| unfinished.tasks.contains(task)));
        Ok(waits)
    });
    let waits = waits.await?;
    let Some(oldest) = waits.first() else {
        let message = format!("task `{task}` is at work and waits for nothing; cancel it, or wait");
        return Err(Fault::new(What::Unsupported, message));
    };
    if let Some(appended) = with_data(caller, sent, &found).await? {
        return answered(found, &appended);
    }
    if oldest.kind == InboxKind::Auth && waits.iter().all(|item| item.kind == InboxKind::Auth) {
        // Whoever has authenticated elsewhere says so with any message.
        let user = caller.principal.subject.as_deref().unwrap_or("user");
        let body = json!({ "userId": user }).to_string();
        let doc = Doc::parse(&body).map_err(snapshot::broken)?;
        let proof = Reply { thread: &found.context, id: &oldest.id, root: doc.root(), key: None };
        let (appended, _) = authenticate(&caller.app, &caller.principal, proof).await?;
        return answered(found, &appended);
    }
    let agent = found.task.agent.clone().unwrap_or_default();
    let saying = Saying {
        thread: &found.context,
        create: Create::Never,
        before: Vec::new(),
        message: sent.id.clone(),
        event: event(sent),
        text: sent.text.clone(),
        to: vec![agent],
        key: key(sent, params),
    };
    let aimed = Aimed { ids: TaskIds::Minted, task: Some(task.to_owned()) };
    let (appended, _) = say_aimed(&caller.app, &caller.principal, saying, aimed).await?;
    answered(found, &appended)
}

fn answered(found: Found, appended: &Appended) -> Result<Said, Fault> {
    Ok(Said { before: appended.first.saturating_sub(1), found, is_new: false })
}

/// An answer that names its question, as a data part: `{"inputId", "value"}`, or a credential.
async fn with_data(caller: &Caller, sent: &Sent, found: &Found) -> Result<Option<Appended>, Fault> {
    for data in &sent.data {
        let doc = Doc::parse(data).map_err(snapshot::broken)?;
        let root = doc.root();
        let named = |name| root.some(name).and_then(Node::str).map(|id| id.into_owned());
        let thread = found.context.as_str();
        if let Some(id) = named("inputId") {
            let reply = Reply { thread, id: &id, root, key: None };
            return Ok(Some(give(&caller.app, &caller.principal, reply).await?.0));
        }
        if let Some(id) = named("authId") {
            let proof = Reply { thread, id: &id, root, key: None };
            return Ok(Some(authenticate(&caller.app, &caller.principal, proof).await?.0));
        }
    }
    Ok(None)
}

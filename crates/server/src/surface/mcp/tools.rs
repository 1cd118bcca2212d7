//! What clients can do: the list of tools, and each of them.

use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use rmcp::model::{Tool, ToolAnnotations};
use selvedge_protocol::json::Doc;
use selvedge_store::{Create, Key, ThreadKey};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use super::turns::{Waits, came_of};
use super::{query, value};
use crate::auth::{Principal, Scope};
use crate::extract::Id;
use crate::surface::native::acts::cancel::stop_task;
use crate::surface::native::acts::inputs::{Reply, give};
use crate::surface::native::messages::{Saying, checked_id, named, receivers, say};
use crate::surface::native::threads::named_id;
use crate::surface::native::{lists, threads};
use crate::{App, Error, ErrorCode};

/// Messages of a thread that are shown, unless asked otherwise.
const MESSAGES: u64 = 50;

/// Every tool there is.
pub(super) fn list() -> Vec<Tool> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let wait = count("Seconds to wait for the answer; as long as the server lets, unless told");
    vec![
        reads(tool(
            "list_threads",
            "Threads, the one updated last first.",
            &[],
            json!({
                "status": { "enum": ["waiting", "working", "failed", "idle"] },
                "participant": text("Only those that they take part in"),
                "limit": count("At most so many"),
                "after": text("The `next` of the page before"),
            }),
        )),
        reads(tool(
            "read_thread",
            "A thread: its latest messages, tasks, open questions.",
            &["thread"],
            json!({
                "thread": text("The thread's id"),
                "messages": count("How many of the latest messages; 50 unless told"),
            }),
        )),
        reads(tool(
            "search",
            "Find what was said, in all threads.",
            &["query"],
            json!({
                "query": text("Words; quoted ones together, `word*` any ending"),
                "limit": count("At most so many"),
                "after": text("The `next` of the page before"),
            }),
        )),
        tool(
            "send_message",
            "Say something to agents, and wait for what they answer.",
            &["text"],
            json!({
                "text": text("What is said"),
                "thread": text("The thread's id; a new one unless told"),
                "to": { "type": "array", "items": { "type": "string" },
                        "description": "Agents that are to answer; those of the thread unless told" },
                "message": text("An id of your own for it: sent again to its thread, as after a lost \
                                 connection, it is said once"),
                "wait": wait,
            }),
        ),
        tool(
            "answer",
            "Answer a question that a task waits for; the first answer counts.",
            &["thread", "input", "value"],
            json!({
                "thread": text("The thread's id"),
                "input": text("The question's `inputId`"),
                "value": { "description": "The answer, of the kind that was asked for" },
                "reason": text("Why"),
                "wait": wait,
            }),
        ),
        tool(
            "cancel_task",
            "Stop a task with all that came of it.",
            &["thread", "task"],
            json!({
                "thread": text("The thread's id"),
                "task": text("The task's id"),
                "reason": text("Why"),
            }),
        ),
    ]
}

fn tool(name: &'static str, about: &'static str, needs: &[&str], members: Value) -> Tool {
    let schema = json!({ "type": "object", "properties": members, "required": needs });
    let schema: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    Tool::new(name, about, Arc::new(schema))
}

fn reads(tool: Tool) -> Tool {
    tool.with_annotations(ToolAnnotations::new().read_only(true))
}

/// Uses a tool.
pub(super) async fn call(
    app: &App,
    principal: &Principal,
    name: &str,
    arguments: &Value,
) -> Result<Value, Error> {
    let writes = matches!(name, "send_message" | "answer" | "cancel_task");
    if writes && !principal.may(Scope::Write) {
        return Err(Error::new(ErrorCode::Forbidden, "this needs a key with the scope `write`"));
    }
    let (state, own) = (State(app.clone()), Extension(principal.clone()));
    let given = |name: &'static str| (name, arguments.get(name));
    match name {
        "list_threads" => {
            let asked =
                query(&[given("status"), given("participant"), given("limit"), given("after")]);
            value(lists::threads(state, own, RawQuery(asked)).await?).await
        }
        "search" => {
            let words = Value::from(text(arguments, "query")?);
            let asked = query(&[("q", Some(&words)), given("limit"), given("after")]);
            value(lists::search(state, own, RawQuery(asked)).await?).await
        }
        "read_thread" => {
            let id = Id(text(arguments, "thread")?);
            let most = arguments.get("messages").and_then(Value::as_u64).unwrap_or(MESSAGES);
            let mut shown = value(threads::show(state, own, id, RawQuery(None)).await?).await?;
            latest(&mut shown, usize::try_from(most).unwrap_or(usize::MAX));
            Ok(shown)
        }
        "send_message" => send(app, principal, arguments).await,
        "answer" => answer(app, principal, arguments).await,
        _ => {
            let (thread, task) = (text(arguments, "thread")?, text(arguments, "task")?);
            let reason = optional(arguments, "reason")?;
            let stopped = stop_task(app, principal, (&thread, &task), reason).await?;
            Ok(json!({ "thread": thread, "task": task, "last": stopped.last }))
        }
    }
}

/// Leaves the latest messages only, and says how many came before them.
fn latest(shown: &mut Value, most: usize) {
    let Some(messages) = shown["messages"].as_array_mut() else { return };
    let before = messages.len().saturating_sub(most);
    messages.drain(..before);
    shown["earlierMessages"] = before.into();
}

async fn send(app: &App, principal: &Principal, arguments: &Value) -> Result<Value, Error> {
    let said = text(arguments, "text")?;
    let id = named_id(optional(arguments, "thread")?, "thread")?;
    let waits = Waits::of(app, arguments)?;
    let key: ThreadKey = principal.thread(&id);
    let thread = app.find_thread(&key).await?;
    let before = thread.is_none().then(|| {
        format!("{{\"kind\":\"thread-created\",\"contextId\":{}}}", Value::from(id.as_str()))
    });
    let body = arguments.to_string();
    let to = match Doc::parse(&body) {
        Ok(doc) => named(doc.root())?,
        Err(_) => None,
    };
    let to = receivers(app, thread, to).await?;
    let given = optional(arguments, "message")?;
    let given = given.map(|own| checked_id(own, "message", "")).transpose()?;
    let message = given.clone().unwrap_or_else(|| Uuid::now_v7().to_string());
    let event = json!({ "kind": "message", "role": "user", "messageId": message, "content": said });
    let event = event.to_string();
    let saying = Saying {
        thread: &id,
        create: Create::IfMissing,
        before: before.into_iter().collect(),
        message,
        text: Some(said),
        to,
        key: given.map(|own| once(&own, &event)),
        event,
    };
    let (appended, said) = say(app, principal, saying).await?;
    let tasks = said.tasks.into_iter().map(|(task, _)| task).chain(said.resumed).collect();
    came_of(app, principal, (id, appended, tasks), waits).await
}

/// Lets a message be said once, whoever sends it again.
fn once(id: &str, event: &str) -> Key {
    let digest = Sha256::digest(id.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Key { text: format!("mcp:{digest}"), digest: Sha256::digest(event.as_bytes()).into() }
}

async fn answer(app: &App, principal: &Principal, arguments: &Value) -> Result<Value, Error> {
    let (id, input) = (text(arguments, "thread")?, text(arguments, "input")?);
    let waits = Waits::of(app, arguments)?;
    let body = arguments.to_string();
    let doc =
        Doc::parse(&body).map_err(|error| Error::new(ErrorCode::BadJson, error.to_string()))?;
    let reply = Reply { thread: &id, id: &input, root: doc.root(), key: None };
    let (appended, task) = give(app, principal, reply).await?;
    came_of(app, principal, (id, appended, task.into_iter().collect()), waits).await
}

/// A member that must be there.
fn text(arguments: &Value, name: &str) -> Result<String, Error> {
    optional(arguments, name)?.filter(|text| !text.is_empty()).ok_or_else(|| wrong(name))
}

fn optional(arguments: &Value, name: &str) -> Result<Option<String>, Error> {
    match arguments.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(name)),
    }
}

pub(super) fn wrong(name: &str) -> Error {
    let message = format!("`{name}` is missing, or not what the tool's schema says");
    Error::new(ErrorCode::BadParameter, message).at(format!("/{name}"))
}

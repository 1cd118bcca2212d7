//! Threads, tasks and artifacts as resources: listed, described, read.

use axum::Extension;
use axum::body;
use axum::extract::{RawQuery, State};
use http::{HeaderMap, header};
use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use selvedge_protocol::base64::{self, Alphabet};
use serde_json::{Value, json};

use super::uri::{Named, parse, uri};
use super::{query, value};
use crate::auth::Principal;
use crate::extract::{Id, Ids};
use crate::surface::native::acts::{artifacts, cancel};
use crate::surface::native::{events, lists, threads};
use crate::{App, Error, ErrorCode};

/// Threads of a page; each brings its tasks and artifacts.
const PAGE: usize = 20;
/// Tasks, and artifacts, of one thread that a list shows.
const EACH: usize = 50;
const JSON: &str = "application/json";

/// A page of what there is, and where the next one begins.
pub(super) async fn list(
    app: &App,
    principal: &Principal,
    cursor: Option<String>,
) -> Result<(Vec<Resource>, Option<String>), Error> {
    let (after, limit) = (cursor.map(Value::from), Value::from(PAGE));
    let asked = query(&[("after", after.as_ref()), ("limit", Some(&limit))]);
    let own = Extension(principal.clone());
    let found = lists::threads(State(app.clone()), own, RawQuery(asked)).await?;
    let found = value(found).await?;
    let mut all = Vec::new();
    for thread in found["threads"].as_array().into_iter().flatten() {
        let Some(id) = thread["id"].as_str() else { continue };
        let title = thread["title"].as_str();
        let resource = Resource::new(uri(id, &Named::Thread), title.unwrap_or(id));
        let words = thread["lastWords"].as_str().unwrap_or_default();
        let about =
            format!("A thread that is {}. {words}", thread["status"].as_str().unwrap_or(""));
        all.push(resource.with_description(about.trim()).with_mime_type(JSON));
        // It may be gone meanwhile.
        all.extend(below(app, principal, id).await.unwrap_or_default());
    }
    Ok((all, found["next"].as_str().map(str::to_owned)))
}

/// The tasks and artifacts of a thread.
async fn below(app: &App, principal: &Principal, id: &str) -> Result<Vec<Resource>, Error> {
    let thread = app.fresh(&principal.thread(id)).await?;
    let tasks = app.blocking(move |store| Ok(store.tasks(&thread)?)).await?;
    let tasks = tasks.into_iter().rev().take(EACH).map(|task| {
        let by = task.agent.as_deref().unwrap_or("someone");
        let about = format!("A task of {by}: {}", task.state.name());
        let named = Named::Task(task.id.clone());
        Resource::new(uri(id, &named), task.id).with_description(about).with_mime_type(JSON)
    });
    let mut all: Vec<Resource> = tasks.collect();
    let limit = Value::from(EACH);
    let asked = RawQuery(query(&[("limit", Some(&limit))]));
    let (own, thread) = (Extension(principal.clone()), Id(id.to_owned()));
    let found = value(artifacts::list(State(app.clone()), own, thread, asked).await?).await?;
    for artifact in found["artifacts"].as_array().into_iter().flatten() {
        let Some(own) = artifact["id"].as_str() else { continue };
        let named = uri(id, &Named::Artifact(own.to_owned()));
        let mut resource = Resource::new(named, artifact["name"].as_str().unwrap_or(own));
        let last = artifact["versions"].as_array().and_then(|versions| versions.last());
        let mime = last.and_then(|version| version["mimeType"].as_str());
        resource.mime_type = mime.map(str::to_owned);
        resource.description = artifact["description"].as_str().map(str::to_owned);
        resource.size = last.and_then(|version| version["size"].as_u64());
        all.push(resource);
    }
    Ok(all)
}

/// How resources are named.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    [
        ("thread://{thread}", "thread", "A thread: its messages, tasks, questions and artifacts"),
        ("thread://{thread}/events{?after}", "events", "A page of a thread's journal"),
        ("thread://{thread}/tasks", "tasks", "A thread's tasks, each with its parent and children"),
        ("thread://{thread}/tasks/{task}", "task", "A task, with what it said and did"),
        ("thread://{thread}/artifacts", "artifacts", "A thread's artifacts with their versions"),
    ]
    .into_iter()
    .map(|(uri, name, about)| {
        ResourceTemplate::new(uri, name).with_description(about).with_mime_type(JSON)
    })
    .chain([ResourceTemplate::new("thread://{thread}/artifacts/{artifact}", "artifact")
        .with_description("What the latest version of an artifact holds")])
    .collect()
}

/// What a resource holds.
pub(super) async fn read(
    app: &App,
    principal: &Principal,
    named: &str,
) -> Result<ResourceContents, Error> {
    let (thread, what) = parse(named)?;
    let (state, own) = (State(app.clone()), Extension(principal.clone()));
    let all = RawQuery(None);
    let response = match what {
        Named::Thread => threads::show(state, own, Id(thread), all).await?,
        Named::Events { after } => {
            let after = after.map(Value::from);
            let asked = RawQuery(query(&[("after", after.as_ref())]));
            events::read(state, own, Id(thread), asked).await?
        }
        Named::Tasks => cancel::tasks(state, own, Id(thread), all).await?,
        Named::Task(id) => {
            let shown = task(app, principal, thread, id).await?;
            return Ok(ResourceContents::text(shown.to_string(), named).with_mime_type(JSON));
        }
        Named::Artifacts => artifacts::list(state, own, Id(thread), all).await?,
        Named::Artifact(id) => {
            artifacts::download(state, own, Ids(thread, id), HeaderMap::new(), all).await?
        }
    };
    let mime = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let mime = mime.unwrap_or(JSON).to_owned();
    let bytes = body::to_bytes(response.into_body(), app.options().body_bytes).await;
    let bytes = bytes.map_err(|error| Error::new(ErrorCode::BodyTooLarge, error.to_string()))?;
    let is_text = mime.starts_with("text/") || mime.contains("json") || mime.contains("xml");
    Ok(match std::str::from_utf8(&bytes) {
        Ok(text) if is_text => ResourceContents::text(text, named),
        _ => ResourceContents::blob(base64::encode(&bytes, Alphabet::Standard), named),
    }
    .with_mime_type(mime))
}

/// A task, with what it and those that it called said.
async fn task(
    app: &App,
    principal: &Principal,
    thread: String,
    id: String,
) -> Result<Value, Error> {
    let asked = Value::from(id.clone());
    let asked = RawQuery(query(&[("tasks", Some(&asked))]));
    let (state, own) = (State(app.clone()), Extension(principal.clone()));
    let shown = value(threads::show(state, own, Id(thread.clone()), asked).await?).await?;
    let tasks = shown["tasks"].as_array().into_iter().flatten();
    let found = tasks.into_iter().find(|task| task["id"] == id).ok_or_else(|| {
        let message = format!("task `{id}` not found in thread `{thread}`");
        Error::new(ErrorCode::NotFound, message)
    })?;
    Ok(json!({ "thread": thread, "task": found, "messages": shown["messages"],
               "inputs": shown["inputs"], "artifacts": shown["artifacts"] }))
}

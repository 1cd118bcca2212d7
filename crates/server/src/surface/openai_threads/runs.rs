//! Runs: a task of an agent each.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use http::{HeaderMap, HeaderValue};
use selvedge_agents::wish;
use selvedge_protocol::json::{Doc, Node, Raw, quote};
use selvedge_store::{Append, Appended, Create, Guard, ReadError, Store, Task, ThreadRef};
use serde_json::{Map, Value};

use super::bodies::{self, mint, wrong};
use super::capabilities::{Deed, Parties, judged};
use super::gather::{Gathered, Sort, change, of_run, parsed};
use super::pages::{Asked, Page, answer, list as listed};
use super::stream::{Following, follow};
use super::threads::{NewThread, made, shown};
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Ids, Payload};
use crate::query::Query;
use crate::surface::native::acts::cancel::stop_task;
use crate::surface::native::events::key;
use crate::surface::native::messages::receivers;
use crate::surface::native::threads::{body_object, text_member};
use crate::view::{Filter, Place, Start};
use crate::{App, Error, ErrorCode};

/// How long clients are asked to wait before they look at a run again, in milliseconds.
const LOOK_AGAIN: &str = "250";

/// `POST /v1/threads/{id}/runs`
pub(super) async fn create(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let doc = body_object(&body)?;
    let root = doc.root();
    let new = NewRun::read(&app, root, (&principal, &headers)).await?;
    let mut events = additional(&app, &principal, thread, (root, &headers)).await?;
    let new = new.answering(&events);
    events.push(new.event.clone());
    let drafts = Stamp::new(&id, now()).events(format!("[{}]", events.join(",")).as_bytes())?;
    let mut append = Append::new(principal.thread(&id), drafts);
    append.key = key(&headers, &body)?;
    let appended = app.append_to(&id, append).await?;
    begun(&app, &principal, &id, (new, appended), String::new()).await
}

/// The events of messages that come before a run.
async fn additional(
    app: &App,
    principal: &Principal,
    thread: ThreadRef,
    (root, headers): (Node<'_, '_>, &HeaderMap),
) -> Result<Vec<String>, Error> {
    let messages = bodies::messages(root, "additional_messages", (principal, headers))?;
    if messages.is_empty() {
        return Ok(Vec::new());
    }
    let parties = Parties::of_thread(app, &thread).await?;
    for (i, message) in messages.iter().enumerate() {
        // What asks or answers something is a message of its own.
        let deed = judged(principal, &parties, &[], message);
        let at = format!("/additional_messages/{i}");
        if let Deed::Asks(_) = deed.map_err(|error| error.within(&at))? {
            return Err(wrong("a message that asks something comes by itself", at));
        }
    }
    Ok(messages.into_iter().map(|message| message.event).collect())
}

/// `POST /v1/threads/runs`
pub(super) async fn create_with_thread(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let doc = body_object(&body)?;
    let root = doc.root();
    let new = NewRun::read(&app, root, (&principal, &headers)).await?;
    let empty = body_object(b"")?;
    let asked = root.some("thread").unwrap_or(empty.root());
    if !asked.is_object() {
        return Err(wrong("`thread` must be an object", "/thread"));
    }
    let thread = NewThread::read(&app, (asked, 1), (&principal, &headers));
    let thread = thread.map_err(|error| error.within("/thread"))?;
    let events = thread.events(std::slice::from_ref(&new.event));
    let drafts = Stamp::new(&thread.id, now()).events(events.as_bytes())?;
    let mut append = Append::new(principal.thread(&thread.id), drafts).creating(Create::New);
    append.key = key(&headers, &body)?;
    let appended = made(&app, append).await?;
    let made = shown(&app, &thread.id, appended.thread.clone()).await?;
    let opening = format!("event: thread.created\ndata: {made}\n\n");
    begun(&app, &principal, &thread.id, (new, appended), opening).await
}

/// A run that is to be made.
struct NewRun {
    id: String,
    event: String,
    streams: bool,
}

impl NewRun {
    async fn read(
        app: &App,
        root: Node<'_, '_>,
        (principal, headers): (&Principal, &HeaderMap),
    ) -> Result<Self, Error> {
        let agent = assistant(app, root).await?;
        let streams = streams(root)?;
        let id = mint("run_", headers, 0);
        let mut metadata = Vec::new();
        if let Some(user) = &principal.subject {
            metadata.push(format!("\"userId\":{}", quote(user)));
        }
        // What clients say of it stands apart from what the house does.
        if let Some(labels) = bodies::metadata(root)? {
            metadata.push(format!("\"labels\":{}", labels.raw()));
        }
        let wishes = wishes(root)?;
        if !wishes.is_empty() {
            metadata.push(format!("\"request\":{}", Value::from(wishes)));
        }
        let event = format!(
            "{{\"kind\":\"task-created\",\"taskId\":{},\"agentId\":{},\"initiator\":\"user\",\
             \"dispatched\":true,\"metadata\":{{{}}}}}",
            quote(&id),
            quote(&agent),
            metadata.join(",")
        );
        Ok(Self { id, event, streams })
    }

    /// Names the message that comes with it: what others say meanwhile is not what it answers.
    fn answering(mut self, events: &[String]) -> Self {
        let last = events.last().and_then(|event| Doc::parse(event).ok());
        let id = last.as_ref().and_then(|doc| doc.root().get("messageId")?.str());
        if let (Some(id), Some(rest)) = (id, self.event.strip_suffix('}')) {
            self.event = format!("{rest},\"messageId\":{}}}", quote(&id));
        }
        self
    }
}

/// What a run wishes for: functions that the client runs, beside the agent's own tools, and how to
/// answer. Tools that OpenAI runs are not here.
fn wishes(root: Node<'_, '_>) -> Result<Map<String, Value>, Error> {
    let value = |name| root.some(name).and_then(|own| serde_json::from_str(own.raw()).ok());
    let mut wishes = Map::new();
    if let Some(mut tools) = value("tools") {
        if let Value::Array(list) = &mut tools {
            list.retain(|tool| tool.get("type").is_none_or(|kind| kind == "function"));
        }
        wishes.insert("tools".to_owned(), tools);
    }
    let names = [
        ("temperature", "temperature"),
        ("top_p", "top_p"),
        ("max_completion_tokens", "max_tokens"),
    ];
    for (theirs, ours) in names {
        if let Some(number) = value(theirs) {
            if !number.is_number() {
                return Err(wrong(format!("`{theirs}` must be a number"), format!("/{theirs}")));
            }
            wishes.insert(ours.to_owned(), number);
        }
    }
    let wishes = Value::from(wishes);
    wish::tools(&wishes).map_err(|(at, message)| wrong(&message, at))?;
    match wishes {
        Value::Object(wishes) => Ok(wishes),
        _ => Ok(Map::new()),
    }
}

/// Whether a stream is asked for.
pub(super) fn streams(root: Node<'_, '_>) -> Result<bool, Error> {
    match root.some("stream") {
        None => Ok(false),
        Some(stream) => {
            stream.bool().ok_or_else(|| wrong("`stream` must be true or false", "/stream"))
        }
    }
}

/// The agent that a body names. A run is of one assistant: whoever names none is refused, as there.
async fn assistant(app: &App, root: Node<'_, '_>) -> Result<String, Error> {
    let Some(named) = text_member(root, "assistant_id")? else {
        let message = "Missing required parameter: 'assistant_id'.";
        return Err(Error::new(ErrorCode::MissingParameter, message).at("/assistant_id"));
    };
    receivers(app, None, Some(vec![named.clone()])).await.map_err(|error| match error.code {
        ErrorCode::BadParameter => Error { code: ErrorCode::NotFound, ..error }.at("/assistant_id"),
        _ => error,
    })?;
    Ok(named)
}

/// What happens in a run that was just made, or the run.
async fn begun(
    app: &App,
    principal: &Principal,
    id: &str,
    (new, appended): (NewRun, Appended),
    opening: String,
) -> Result<Response, Error> {
    let Appended { thread, first, last, .. } = appended;
    let after = first.saturating_sub(1);
    if new.streams {
        let start = Start::After(Place::of(&thread, after));
        let following = Following { run: new.id, after, start, rests: first, opening };
        return follow(app, principal, (id, thread), following).await;
    }
    let filter = of_run(Filter::all(principal.sees), &new.id);
    let (name, run) = (id.to_owned(), new.id.clone());
    let found = app.blocking(move |store| {
        Ok(Gathered::between(store, (&name, &thread), after..last, filter)?.one(Sort::Run, &run))
    });
    let found = found.await?.ok_or_else(|| no_run(&new.id, id))?;
    Ok(answer(&found))
}

/// A run that is not there, or not for this caller.
pub(super) fn no_run(run: &str, thread: &str) -> Error {
    let run = selvedge_protocol::validate::brief(run);
    Error::new(ErrorCode::NotFound, format!("run `{run}` not found in thread `{thread}`"))
}

/// A task of a thread. Blocks for the disk.
pub(super) fn task(
    store: &Store,
    thread: &ThreadRef,
    run: &str,
) -> Result<Option<Task>, ReadError> {
    Ok(store.tasks(thread)?.into_iter().find(|task| task.id == run))
}

/// A thread and a task of it that must be there.
pub(super) async fn found(
    app: &App,
    principal: &Principal,
    (id, run): (&str, &str),
) -> Result<(ThreadRef, Task), Error> {
    let thread = app.fresh(&principal.thread(id)).await?;
    let (of, own) = (thread.clone(), run.to_owned());
    let task = app.blocking(move |store| Ok(task(store, &of, &own)?)).await?;
    Ok((thread, task.ok_or_else(|| no_run(run, id))?))
}

/// What a run says, as it stands.
pub(super) async fn gathered(
    app: &App,
    principal: &Principal,
    (id, run): (&str, &str),
) -> Result<Gathered, Error> {
    let (thread, task) = found(app, principal, (id, run)).await?;
    let (name, filter) = (id.to_owned(), Filter::all(principal.sees));
    app.blocking(move |store| Ok(Gathered::run(store, (&name, &thread), &task, filter)?)).await
}

/// A run as it stands.
pub(super) async fn object(
    app: &App,
    principal: &Principal,
    (id, run): (&str, &str),
) -> Result<Value, Error> {
    let gathered = gathered(app, principal, (id, run)).await?;
    gathered.one(Sort::Run, run).ok_or_else(|| no_run(run, id))
}

/// `GET /v1/threads/{id}/runs/{run}`
pub(super) async fn retrieve(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, run): Ids,
) -> Result<Response, Error> {
    let mut response = answer(&object(&app, &principal, (&id, &run)).await?);
    let wait = HeaderValue::from_static(LOOK_AGAIN);
    response.headers_mut().insert("openai-poll-after-ms", wait);
    Ok(response)
}

/// `GET /v1/threads/{id}/runs`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let thread = app.fresh(&principal.thread(&id)).await?;
    let asked = Asked::new(&Query::new(query.as_deref()))?;
    let sees = principal.sees;
    let page = app.blocking(move |store| {
        let page = asked.of(store.tasks(&thread)?, |task| &task.id)?;
        let mut items = Vec::new();
        for task in &page.items {
            let run = Gathered::run(store, (&id, &thread), task, Filter::all(sees))?;
            items.extend(run.one(Sort::Run, &task.id));
        }
        Ok(Page { items, has_more: page.has_more })
    });
    Ok(listed(page.await?))
}

/// `POST /v1/threads/{id}/runs/{run}`
pub(super) async fn modify(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, run): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    found(&app, &principal, (&id, &run)).await?;
    let doc = body_object(&body)?;
    if let Some(metadata) = bodies::metadata(doc.root())? {
        let metadata = parsed(metadata.raw()).unwrap_or_default();
        let event = change(Sort::Run, &run, &metadata).with("taskId", Raw::string(&run));
        let drafts = Stamp::new(&id, now()).own(&[event])?;
        let guard = Guard::Running { task: run.clone() };
        let mut append = Append::new(principal.thread(&id), drafts).guarded(guard);
        append.key = key(&headers, &body)?;
        app.append_to(&id, append).await?;
    }
    Ok(answer(&object(&app, &principal, (&id, &run)).await?))
}

/// `POST /v1/threads/{id}/runs/{run}/cancel`
pub(super) async fn cancel(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, run): Ids,
) -> Result<Response, Error> {
    found(&app, &principal, (&id, &run)).await?;
    stop_task(&app, &principal, (&id, &run), None).await?;
    Ok(answer(&object(&app, &principal, (&id, &run)).await?))
}

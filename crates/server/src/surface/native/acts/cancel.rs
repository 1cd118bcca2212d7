//! Tasks: listed, and stopped with all that came of them.
//!
//! Invariant: one append says that someone asked and how everything ended, so nobody sees the one
//! without the other; what ended before is not ended again.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::Raw;
use selvedge_store::{
    Append, AppendError, Appended, Guard, Instead, Key, ReadError, Store, ThreadRef, Unfinished,
    Within,
};
use serde_json::{Value, json};

use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Ids, Payload};
use crate::interrupt::interrupted;
use crate::query::Query;
use crate::state;
use crate::surface::native::events::{key_of, told};
use crate::surface::native::stream::filter;
use crate::surface::native::threads::{body_object, text_member};
use crate::view::Sieve;
use crate::{App, Error, ErrorCode};

/// Tasks of a page, unless asked otherwise, and at most.
const PAGE: usize = 200;
const PAGE_MAX: usize = 1000;
/// How often a cancel is tried while tasks come and go under it.
const TRIES: usize = 16;
/// What became of a tool call.
const CANCELED: &str = "canceled";

/// `GET /api/threads/{id}/tasks`: in the order they began, each with its parent and children.
pub(crate) async fn tasks(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let filter = filter(&query, &principal)?;
    let after: usize = query.parsed("after", "a number")?.unwrap_or(0);
    let limit = query.limit(PAGE, PAGE_MAX)?;
    let thread = app.thread(&principal.thread(&id)).await?;
    let body = app
        .blocking(move |store| {
            let head = store.head(&thread)?;
            let state = state::fold(store, &thread, head, &mut Sieve::new(filter))?;
            let mut rest = state.tasks.iter().skip(after);
            let tasks: Vec<Value> = rest
                .by_ref()
                .take(limit)
                .map(|task| {
                    let mut shown = state::task(task);
                    shown["children"] = json!(task.children);
                    shown
                })
                .collect();
            let next = rest.next().map(|_| after + limit);
            Ok(json!({ "tasks": tasks, "next": next }).to_string())
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `POST /api/threads/{id}/cancel`
pub(crate) async fn thread(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let asked = Asked::new(&principal, &id, &body)?;
    let key = key_of(&headers, &[b"cancel", &body])?;
    Ok(told(&stop(&app, &asked, Within::Thread, key).await?, ""))
}

/// `POST /api/threads/{id}/tasks/{taskId}/cancel`
pub(crate) async fn task(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, task): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let asked = Asked::new(&principal, &id, &body)?;
    let key = key_of(&headers, &[b"cancel-task", task.as_bytes(), &body])?;
    Ok(told(&stop(&app, &asked, Within::Task(task), key).await?, ""))
}

/// Stops a task and what came of it.
pub(crate) async fn stop_task(
    app: &App,
    principal: &Principal,
    (thread, task): (&str, &str),
    reason: Option<String>,
) -> Result<Appended, Error> {
    let asked = Asked { principal, thread, reason };
    stop(app, &asked, Within::Task(task.to_owned()), None).await
}

/// `POST /api/threads/{id}/tool-calls/{toolCallId}/cancel`
pub(crate) async fn call(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, call): Ids,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let asked = Asked::new(&principal, &id, &body)?;
    let key = key_of(&headers, &[b"cancel-call", call.as_bytes(), &body])?;
    let there = app.fresh(&principal.thread(&id)).await?;
    let own = call.clone();
    let found = app.blocking(move |store| match store.call(&there, &own)? {
        Some(call) => Ok(Some((interrupted(store, &there, &call, CANCELED)?, call))),
        None => Ok(None),
    });
    let Some((end, found)) = found.await? else {
        let message = format!("tool call `{call}` not found in thread `{id}`");
        return Err(Error::new(ErrorCode::NotFound, message));
    };
    let request = asked.event(found.task.as_deref()).with_str("toolCallId", &call);
    let append = asked.append(&[request, end], Guard::Calling { id: call }, key)?;
    Ok(told(&app.append_to(&id, append).await?, ""))
}

/// Someone who asks to stop something.
struct Asked<'a> {
    principal: &'a Principal,
    thread: &'a str,
    reason: Option<String>,
}

impl<'a> Asked<'a> {
    fn new(principal: &'a Principal, thread: &'a str, body: &[u8]) -> Result<Self, Error> {
        let reason = text_member(body_object(body)?.root(), "reason")?;
        Ok(Self { principal, thread, reason })
    }

    /// That they ask.
    fn event(&self, task: Option<&str>) -> Event<'static> {
        let kind = if self.principal.is_agent() { "agent" } else { "user" };
        Event::new(Kind::CancelRequested)
            .with_some("taskId", task.map(Raw::string))
            .with_some("reason", self.reason.as_deref().map(Raw::string))
            .with_str("requestedBy", self.principal.subject.as_deref().unwrap_or(kind))
    }

    fn append(
        &self,
        events: &[Event<'_>],
        guard: Guard,
        key: Option<Key>,
    ) -> Result<Append, Error> {
        let drafts = Stamp::new(self.thread, now()).own(events)?;
        let mut append = Append::new(self.principal.thread(self.thread), drafts).guarded(guard);
        append.key = key;
        Ok(append)
    }
}

/// Stops tasks. What is to be ended is looked up first, and looked up again if it has changed when
/// the append's turn comes.
async fn stop(
    app: &App,
    asked: &Asked<'_>,
    within: Within,
    key: Option<Key>,
) -> Result<Appended, Error> {
    let own = match &within {
        Within::Task(id) => Some(id.as_str()),
        Within::Thread => None,
    };
    for _ in 0..TRIES {
        let there = app.fresh(&asked.principal.thread(asked.thread)).await?;
        let (of, reason) = (within.clone(), asked.reason.clone());
        let looked = app.blocking(move |store| {
            let found = store.unfinished(&there, &of)?;
            Ok((ends(store, &there, &found, reason.as_deref())?, found))
        });
        let (ends, found) = looked.await?;
        // Also where there seems to be nothing to end: under a key, that may be our own doing.
        let mut events = vec![asked.event(own)];
        events.extend(ends);
        let guard = Guard::Unfinished { within: within.clone(), found };
        let append = asked.append(&events, guard, key.clone())?;
        match app.append(append).await {
            Err(AppendError::Instead(Instead::Changed)) => {}
            Err(AppendError::Instead(Instead::Unknown)) => {
                return Err(match own {
                    Some(task) => {
                        let message =
                            format!("task `{task}` not found in thread `{}`", asked.thread);
                        Error::new(ErrorCode::NotFound, message)
                    }
                    None => Error::new(ErrorCode::AlreadyOver, "nothing runs in this thread"),
                });
            }
            Err(AppendError::NotFound) => return Err(Error::no_thread(asked.thread)),
            result => return Ok(result?),
        }
    }
    Err(Error::new(ErrorCode::Busy, "tasks come and go too fast to stop them; try again"))
}

/// How everything ends: a task's calls before it, and the tasks it called before it.
pub(crate) fn ends(
    store: &Store,
    thread: &ThreadRef,
    found: &Unfinished,
    reason: Option<&str>,
) -> Result<Vec<Event<'static>>, ReadError> {
    let mut out = Vec::new();
    let calls_of = |task: Option<&str>| {
        let calls = found.calls.iter().filter(move |call| call.task.as_deref() == task);
        calls.map(|call| interrupted(store, thread, call, CANCELED)).collect::<Result<Vec<_>, _>>()
    };
    out.extend(calls_of(None)?);
    for task in &found.tasks {
        out.extend(calls_of(Some(task))?);
        out.push(
            Event::new(Kind::TaskStatus)
                .with_str("taskId", task)
                .with_str("status", "canceled")
                .with_some("message", reason.map(Raw::string)),
        );
    }
    Ok(out)
}

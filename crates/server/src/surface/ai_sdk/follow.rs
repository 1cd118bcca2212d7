//! An agent's message as a stream of chunks: of the turn that begins or goes on with a request, or
//! of the one that is running.
//!
//! Invariant: a stream that begins with the turn is the whole message, so a client that lost some
//! of it can begin anew.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use selvedge_protocol::dialect::Id as DialectId;
use selvedge_protocol::journal::Cursor;
use selvedge_store::ThreadRef;

use crate::auth::Principal;
use crate::extract::Id;
use crate::query::Query;
use crate::surface::asked::{beside, running};
use crate::surface::native::acts::cancel::stop_task;
use crate::surface::native::stream::filter;
use crate::turn::{Frame, Turn, Until, Writing};
use crate::view::{Format, Kind, Place, Start};
use crate::{App, Error};

/// A turn that a client follows: of all who answer a message.
pub(super) struct Followed {
    pub(super) thread: ThreadRef,
    /// The tasks, and the entry that began the first.
    pub(super) tasks: Vec<String>,
    pub(super) began: u64,
    /// The last entry that the client has.
    pub(super) after: u64,
}

impl Followed {
    /// The turn that a task is part of, from its start.
    pub(super) async fn whole(
        app: &App,
        thread: ThreadRef,
        task: String,
        began: u64,
    ) -> Result<Self, Error> {
        let all = beside(app, &thread, began).await?;
        // It may have begun with its first word.
        let all = if all.iter().any(|(own, _)| *own == task) { all } else { vec![(task, began)] };
        let began = all.first().map_or(began, |(_, began)| *began);
        let tasks = all.into_iter().map(|(task, _)| task).collect();
        Ok(Self { thread, tasks, began, after: began.saturating_sub(1) })
    }
}

/// How a client wants to follow a turn.
pub(super) struct Manner {
    /// The major version of `ai` that it uses.
    pub(super) version: u32,
    pub(super) leaving: Leaving,
}

/// What a client means that does not wait for the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaving {
    /// Nothing: it was cut off, or comes again.
    Nothing,
    /// That the turn is to stop.
    Stop,
}

/// `GET /ai-sdk/chat/{id}/stream`. A chat that is not there has nothing that runs either.
pub(super) async fn resume(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let version = super::version(&query, &headers)?;
    let wanted = principal.thread(&id);
    let thread = app.find_thread(&wanted).await?;
    let Some(thread) = thread else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let Some(task) = running(&app, &thread).await?.pop() else {
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let followed = Followed::whole(&app, thread, task.id, task.began.0).await?;
    let manner = Manner { version, leaving: Leaving::Nothing };
    follow(&app, &principal, &query, &id, followed, manner).await
}

/// A turn as chunks.
pub(super) async fn follow(
    app: &App,
    principal: &Principal,
    query: &Query<'_>,
    id: &str,
    followed: Followed,
    manner: Manner,
) -> Result<Response, Error> {
    let Followed { thread, tasks, began, after } = followed;
    let format = Format::Version(DialectId::AiSdkStream, super::spelled(manner.version));
    let kind = Kind { format, filter: filter(query, principal)? };
    let place = Place { cursor: Cursor { epoch: thread.epoch, seq: after }, records: 0 };
    let leaver = Leaver {
        app: app.clone(),
        principal: principal.clone(),
        thread: id.to_owned(),
        tasks: tasks.clone(),
        done: Arc::new(AtomicBool::new(manner.leaving == Leaving::Nothing)),
    };
    let turn = Turn {
        id: id.to_owned(),
        thread,
        after: began.saturating_sub(1),
        tasks,
        until: Until::RestNow,
    };
    let mut response = turn.written(app, kind, Start::After(place), writing(leaver)).await?;
    let version = HeaderValue::from_static("v1");
    response.headers_mut().insert("x-vercel-ai-ui-message-stream", version);
    Ok(response)
}

/// Chunks as the client reads them. A message that is still open when the turn rests is finished.
fn writing(leaver: Leaver) -> Writing {
    let open = Arc::new(AtomicBool::new(false));
    let (was_open, done) = (open.clone(), leaver.done.clone());
    let mut parts = HashSet::new();
    let frame = move |frame: &Frame<'_>, out: &mut String| {
        let _until_dropped = &leaver;
        match kind_of(frame.data) {
            "text-start" | "reasoning-start" => {
                parts.insert(id_of(frame.data).to_owned());
            }
            // Its reader, who came in the middle of it, would fail.
            "text-delta" | "reasoning-delta" if !parts.contains(id_of(frame.data)) => return,
            "text-end" | "reasoning-end" if !parts.remove(id_of(frame.data)) => return,
            "start" => open.store(true, Ordering::Relaxed),
            "finish" | "abort" => open.store(false, Ordering::Relaxed),
            _ => {}
        }
        out.push_str("data: ");
        out.push_str(frame.data);
        out.push_str("\n\n");
    };
    let end = move |out: &mut String| {
        done.store(true, Ordering::Relaxed);
        if was_open.load(Ordering::Relaxed) {
            out.push_str("data: {\"type\":\"finish\",\"finishReason\":\"tool-calls\"}\n\n");
        }
        out.push_str("data: [DONE]\n\n");
    };
    Writing { frame: Box::new(frame), end: Box::new(end) }
}

/// The type of a chunk, which comes first in it.
fn kind_of(chunk: &str) -> &str {
    let rest = chunk.strip_prefix("{\"type\":\"").unwrap_or("");
    rest.split('"').next().unwrap_or("")
}

/// The id of a part's chunk, which comes second in it.
fn id_of(chunk: &str) -> &str {
    let rest = chunk.split_once("\"id\":\"").map_or("", |(_, rest)| rest);
    rest.split('"').next().unwrap_or("")
}

/// Stops the turn of a client that went away, if that is what it wants.
struct Leaver {
    app: App,
    principal: Principal,
    thread: String,
    tasks: Vec<String>,
    /// Whether there is nothing to be stopped.
    done: Arc<AtomicBool>,
}

impl Drop for Leaver {
    fn drop(&mut self) {
        if self.done.load(Ordering::Relaxed) {
            return;
        }
        let (app, principal) = (self.app.clone(), self.principal.clone());
        let (thread, tasks) = (self.thread.clone(), self.tasks.clone());
        tokio::spawn(async move {
            for task in tasks {
                let reason = Some("the client went away".to_owned());
                // It may be over by now; then there is nothing to stop.
                let _ = stop_task(&app, &principal, (&thread, &task), reason).await;
            }
        });
    }
}

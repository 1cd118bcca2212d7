//! `/invocations` and `/ping`, as Looopy's runtime has them: one turn of an agent as one answer.
//!
//! The answer ends when the turn does: over, or waiting for someone. Whoever loses it goes on at
//! `/api/contexts/{id}/stream` with the last id; the turn does not stop for that.

use std::collections::HashMap;
use std::time::SystemTime;

use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, stream};
use http::{HeaderMap, header};
use selvedge_protocol::journal::fold::TaskState;
use selvedge_protocol::journal::{Cursor, Event};
use selvedge_protocol::json::{Doc, Node, from_utf8, quote};
use selvedge_store::{Appended, Create, ThreadRef};
use serde_json::json;
use uuid::Uuid;

use crate::auth::Principal;
use crate::extract::Payload;
use crate::query::Query;
use crate::surface::native::acts::auths::authenticate;
use crate::surface::native::acts::inputs::{Reply, give};
use crate::surface::native::messages::{Saying, receivers, say};
use crate::surface::native::stream::{event_stream, filter};
use crate::surface::native::threads::{asked, body_object, text_member};
use crate::view::{Descendants, Format, Kind, Place, Reader, Start};
use crate::{App, Error, ErrorCode};

/// Names the context.
const SESSION: &str = "x-amzn-bedrock-agentcore-runtime-session-id";
/// Characters of a prompt, and answers of one resumption.
const PROMPT: usize = 100_000;
const ANSWERS: usize = 20;

/// `GET /ping`
pub(super) async fn ping(State(app): State<App>) -> Response {
    let busy = app.options().agents.as_ref().is_some_and(|desk| desk.is_busy());
    let status = if busy { "HealthyBusy" } else { "Healthy" };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let body = json!({ "status": status, "time_of_last_update": now.as_secs() }).to_string();
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// `GET /invocations`: the context's state.
pub(super) async fn state(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Error> {
    asked(&app, &principal, &session(&headers)?, &Query::new(query.as_deref())).await
}

/// `POST /invocations`: a prompt, or answers to what the last turn asked.
pub(super) async fn invoke(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let id = session(&headers)?;
    let doc = body_object(&body)?;
    let root = doc.root();
    let which = text_member(root, "type")?;
    let resumes = root.some("inputs").is_some() || root.some("credentials").is_some();
    let (appended, tasks) = match which.as_deref() {
        Some("resume") => resume(&app, &principal, &id, root).await?,
        None if resumes => resume(&app, &principal, &id, root).await?,
        Some("prompt") | None => prompt(&app, &principal, &id, root).await?,
        Some(_) => {
            let message = "`type` must be prompt or resume";
            return Err(Error::new(ErrorCode::BadParameter, message).at("/type"));
        }
    };
    let mut filter = filter(&Query::new(query.as_deref()), &principal)?;
    filter.tasks = tasks.clone();
    filter.descendants = Descendants::Included;
    let kind = Kind { format: Format::Native, filter };
    let before = appended.first.saturating_sub(1);
    let ending = ended(app.clone(), appended.thread.clone(), before, tasks).boxed();
    until(app, &id, appended.thread, kind, before, ending).await
}

fn session(headers: &HeaderMap) -> Result<String, Error> {
    let id = headers.get(SESSION).and_then(|value| value.to_str().ok());
    let id = id.filter(|id| !id.is_empty() && id.len() <= 256);
    id.map(str::to_owned).ok_or_else(|| {
        let message = "the header `X-Amzn-Bedrock-AgentCore-Runtime-Session-Id` must name the \
                       context, in 1 to 256 characters";
        Error::new(ErrorCode::BadParameter, message)
    })
}

/// Says something to the context's agent; the context is made if it is new.
async fn prompt(
    app: &App,
    principal: &Principal,
    id: &str,
    root: Node<'_, '_>,
) -> Result<(Appended, Vec<String>), Error> {
    let wrong = |message: String| Error::new(ErrorCode::BadParameter, message).at("/prompt");
    let said = text_member(root, "prompt")?;
    let said = said.ok_or_else(|| wrong("`prompt` is missing: what is to be done?".to_owned()))?;
    if said.is_empty() || said.chars().count() > PROMPT {
        return Err(wrong(format!("`prompt` must have 1 to {PROMPT} characters")));
    }
    let wanted = principal.thread(id);
    let thread = app.blocking(move |store| Ok(store.thread(&wanted)?)).await?;
    let mut events = Vec::new();
    if thread.is_none() {
        events.push(format!("{{\"kind\":\"thread-created\",\"contextId\":{}}}", quote(id)));
    }
    let to = receivers(app, thread, root).await?;
    let message = Uuid::now_v7().to_string();
    let metadata = root.some("metadata").filter(|metadata| metadata.is_object());
    let metadata = metadata.map_or(String::new(), |m| format!(",\"metadata\":{}", m.raw()));
    let event = format!(
        "{{\"kind\":\"message\",\"role\":\"user\",\"messageId\":{},\"content\":{}{metadata}}}",
        quote(&message),
        quote(&said)
    );
    let saying = Saying {
        thread: id,
        create: Create::IfMissing,
        before: events,
        message,
        event,
        text: Some(said),
        to,
        key: None,
    };
    let (appended, said) = say(app, principal, saying).await?;
    let tasks = said.tasks.into_iter().map(|(task, _)| task).chain(said.resumed).collect();
    Ok((appended, tasks))
}

/// Answers what a turn waits for.
async fn resume(
    app: &App,
    principal: &Principal,
    id: &str,
    root: Node<'_, '_>,
) -> Result<(Appended, Vec<String>), Error> {
    let list = |name: &str| root.some(name).into_iter().flat_map(Node::children);
    let inputs: Vec<Node<'_, '_>> = list("inputs").collect();
    let credentials: Vec<Node<'_, '_>> = list("credentials").collect();
    let count = inputs.len() + credentials.len();
    if count == 0 || count > ANSWERS {
        let message = format!("`inputs` and `credentials` must be 1 to {ANSWERS} answers");
        let at = if credentials.is_empty() { "/inputs" } else { "/credentials" };
        return Err(Error::new(ErrorCode::BadParameter, message).at(at));
    }
    let mut first: Option<Appended> = None;
    let mut tasks = Vec::new();
    for (i, input) in inputs.into_iter().enumerate() {
        let at = |error: Error| error.within(&format!("/inputs/{i}"));
        let input_id = text_member(input, "inputId").map_err(at)?.unwrap_or_default();
        let answer = Reply { thread: id, id: &input_id, root: input, key: None };
        let (appended, task) = give(app, principal, answer).await.map_err(at)?;
        tasks.extend(task.filter(|task| !tasks.contains(task)));
        first.get_or_insert(appended);
    }
    for (i, given) in credentials.into_iter().enumerate() {
        let at = |error: Error| error.within(&format!("/credentials/{i}"));
        let auth = text_member(given, "authId").map_err(at)?.unwrap_or_default();
        let proof = Reply { thread: id, id: &auth, root: given, key: None };
        let (appended, task) = authenticate(app, principal, proof).await.map_err(at)?;
        tasks.extend(task.filter(|task| !tasks.contains(task)));
        first.get_or_insert(appended);
    }
    let first = first.ok_or_else(|| Error::new(ErrorCode::BadParameter, "there are no answers"))?;
    Ok((first, tasks))
}

/// What happens after an entry, until the one that is found to be the last.
pub(crate) async fn until(
    app: App,
    id: &str,
    thread: ThreadRef,
    kind: Kind,
    before: u64,
    ending: BoxFuture<'static, u64>,
) -> Result<Response, Error> {
    let start =
        Start::After(Place { cursor: Cursor { epoch: thread.epoch, seq: before }, records: 0 });
    let snapshot = format!("/api/threads/{id}");
    let (shared, of) = (app.clone(), thread.clone());
    let open = move || Reader::open(&shared, &snapshot, &of, &kind, start);
    let reader = tokio::task::spawn_blocking(open).await;
    let reader = reader.map_err(|e| Error::new(ErrorCode::Internal, e.to_string()))??;
    let state = Some((reader, End::Sought(ending)));
    let bytes = stream::unfold(state, |state| async {
        let (mut reader, mut end) = state?;
        loop {
            let sought = match &mut end {
                End::At(seq) if reader.seen() >= *seq => return None,
                End::At(_) => return Some((reader.next().await?, Some((reader, end)))),
                End::Sought(sought) => sought,
            };
            tokio::select! {
                bytes = reader.next() => return Some((bytes?, Some((reader, end)))),
                seq = sought => end = End::At(seq),
            }
        }
    });
    Ok(event_stream(Body::from_stream(bytes)))
}

/// Where a turn ends.
enum End {
    Sought(BoxFuture<'static, u64>),
    At(u64),
}

/// The entry with which the last of the tasks is over or waits for someone.
async fn ended(app: App, thread: ThreadRef, mut seen: u64, tasks: Vec<String>) -> u64 {
    let mut rests: HashMap<String, bool> = tasks.into_iter().map(|task| (task, false)).collect();
    let of = thread.clone();
    let Ok(tail) = app.blocking(move |store| Ok(store.tail(&of)?)).await else { return seen };
    let mut edge = tail.watch();
    loop {
        let (of, after) = (thread.clone(), seen);
        let read = app.blocking(move |store| Ok(store.read(&of, after, usize::MAX, 1 << 20)?));
        let Ok(page) = read.await else { return seen };
        for entry in &page.entries {
            seen = entry.seq;
            let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            let task = event.str("taskId");
            let Some(rest) = task.and_then(|task| rests.get_mut(&*task)) else { continue };
            *rest = match TaskState::after(&event) {
                Some(TaskState::WaitingInput | TaskState::WaitingAuth) => true,
                Some(state) => state.is_terminal(),
                None => *rest,
            };
            if rests.values().all(|rest| *rest) {
                return seen;
            }
        }
        if page.entries.is_empty() {
            let more = edge.wait_for(|edge| edge.head > seen || edge.end.is_some()).await;
            if more.map_or(true, |edge| edge.end.is_some()) {
                return seen;
            }
        }
    }
}

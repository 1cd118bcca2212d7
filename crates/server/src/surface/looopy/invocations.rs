//! `/invocations` and `/ping`, as Looopy's runtime has them: one turn of an agent as one answer.
//!
//! The answer ends when the turn does: over, or waiting for someone. Whoever loses it goes on at
//! `/api/contexts/{id}/stream` with the last id; the turn does not stop for that.

use std::time::SystemTime;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};
use selvedge_protocol::json::{Node, quote};
use selvedge_store::{Appended, Create};
use serde_json::json;
use uuid::Uuid;

use crate::auth::Principal;
use crate::extract::Payload;
use crate::query::Query;
use crate::surface::native::acts::auths::authenticate;
use crate::surface::native::acts::inputs::{Reply, give};
use crate::surface::native::messages::{Saying, named, opening, receivers, say};
use crate::surface::native::stream::filter;
use crate::surface::native::threads::{asked, body_object, text_member};
use crate::turn::{Turn, Until};
use crate::view::{Format, Kind};
use crate::{App, Error, ErrorCode};

/// Names the context.
const SESSION: &str = "x-amzn-bedrock-agentcore-runtime-session-id";
/// Characters of a prompt, and answers of one resumption.
const PROMPT: usize = 100_000;
const ANSWERS: usize = 20;

/// `GET /ping`
pub(super) async fn ping(State(app): State<App>) -> Response {
    let busy = app.desk().is_some_and(|desk| desk.is_busy());
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
    let filter = filter(&Query::new(query.as_deref()), &principal)?;
    let kind = Kind { format: Format::Native, filter };
    let after = appended.first.saturating_sub(1);
    let turn = Turn { id, thread: appended.thread, after, tasks, until: Until::Rest };
    turn.stream(&app, kind).await
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
    let (thread, events) = opening(app, principal, id).await?;
    let to = receivers(app, thread, named(root)?).await?;
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

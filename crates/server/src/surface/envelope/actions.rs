//! The queue of next actions: each is open until it is claimed, once.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use selvedge_agents::router::{Action, Dispatch, Taken};
use selvedge_protocol::journal::Cursor;
use selvedge_store::{Append, Key};
use serde_json::{Value, json};

use super::routing::routing;
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Id, Ids, Payload};
use crate::surface::native::events::placed;
use crate::surface::native::threads::{body_object, text_member};
use crate::{App, Error, ErrorCode};

/// Bytes of the name of whoever claims.
const NAME: usize = 256;

/// `GET /api/threads/{id}/actions`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let (routing, _) = routing(&app, &thread).await?;
    let open: Vec<Value> = routing.open().map(shown).collect();
    let body = json!({ "actions": open }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

fn shown(action: &Action) -> Value {
    let args = action.args.as_deref().and_then(|args| serde_json::from_str::<Value>(args).ok());
    json!({
        "id": action.id(),
        "messageId": action.message,
        "intent": action.intent,
        "task": action.task,
        "args": args,
    })
}

/// `POST /api/threads/{id}/actions/{action}/claim`
pub(super) async fn claim(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, wanted): Ids,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let thread = app.thread(&principal.thread(&id)).await?;
    let doc = body_object(&body)?;
    let agent = text_member(doc.root(), "agent")?;
    let agent = agent.filter(|agent| (1..=NAME).contains(&agent.len())).ok_or_else(|| {
        let message = "`agent` must say who claims it, in 1 to 256 bytes";
        Error::new(ErrorCode::BadParameter, message).at("/agent")
    })?;
    let (known, _) = routing(&app, &thread).await?;
    let Some(action) = known.action(&wanted) else {
        let message = format!("there is no next action `{wanted}` in thread `{id}`");
        return Err(Error::new(ErrorCode::NotFound, message));
    };
    if let Some(taken) = &action.taken {
        return Err(claimed(&action.id(), taken));
    }
    let here = app.desk().is_some_and(|desk| desk.member(&agent).is_some());
    let dispatch = if here { Dispatch::Here } else { Dispatch::Elsewhere };
    let events = known.claim(action, &agent, dispatch);
    let task = events.iter().find_map(|event| event.str("taskId")).map(|task| task.into_owned());
    let drafts = Stamp::new(&id, now()).own(&events)?;
    // Whoever comes second finds the first under the key, whatever they asked for.
    let key = Key { text: format!("claim/{}", action.id()), digest: [0; 32] };
    let append = Append::new(principal.thread(&id), drafts).keyed(key);
    let appended = app.append_to(&id, append).await?;
    if appended.duplicate {
        let (now, _) = routing(&app, &thread).await?;
        let taken = now.action(&wanted).and_then(|action| action.taken.clone());
        let nobody = Taken { by: String::new(), task: None };
        return Err(claimed(&action.id(), &taken.unwrap_or(nobody)));
    }
    let cursor = Cursor { epoch: appended.thread.epoch, seq: appended.last };
    let body = json!({
        "action": shown(action), "by": agent, "taskId": task, "cursor": cursor.to_string(),
    });
    Ok((StatusCode::OK, placed(cursor, body.to_string())).into_response())
}

fn claimed(id: &str, taken: &Taken) -> Error {
    let message = format!("`{}` has claimed next action `{id}`", taken.by);
    let details = json!({ "by": taken.by, "taskId": taken.task });
    Error::new(ErrorCode::AlreadyClaimed, message).with(details.to_string())
}

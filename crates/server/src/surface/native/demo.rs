//! The demonstration, for whoever wants to see a conversation: one request begins it.

use axum::Extension;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, header};
use serde_json::json;

use super::threads;
use crate::app::Demo;
use crate::auth::Principal;
use crate::extract::Payload;
use crate::surface::envelope;
use crate::{App, Error, ErrorCode};

/// `POST /api/demo`
pub(crate) async fn begin(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
) -> Result<Response, Error> {
    let Some(demo) = app.options().demo else {
        let message = "this server has agents of its own; the demonstration is for those without";
        return Err(Error::new(ErrorCode::Conflict, message));
    };
    if app.desk().is_none() {
        let made = tokio::task::spawn_blocking(demo.agents).await;
        let made = made.map_err(|error| error.to_string()).and_then(|made| made);
        app.hire(made.map_err(|error| Error::new(ErrorCode::Internal, error))?);
    }
    let begun = app.find_thread(&principal.thread(demo.thread)).await?.is_none();
    if begun {
        open(&app, &principal, demo).await?;
    }
    let body = json!({ "thread": demo.thread, "begun": begun }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Makes its thread, and says the first words there.
async fn open(app: &App, principal: &Principal, demo: Demo) -> Result<(), Error> {
    let made = json!({ "id": demo.thread, "title": demo.title, "agents": [demo.agent] });
    let said = json!({
        "protocol": "multiagent-1.0",
        "role": "user",
        "timestamp": selvedge_agents::journal::now(),
        "intent": "plan",
        "task": demo.prompt,
        "content": { "type": "text", "text": demo.prompt },
        "trace": { "id": "visitor-1" },
    });
    let asks = || (State(app.clone()), Extension(principal.clone()));
    let body = |value: serde_json::Value| Payload(Bytes::from(value.to_string()));
    let (own, caller) = asks();
    threads::create(own, caller, HeaderMap::new(), body(made)).await?;
    let (own, caller) = asks();
    let thread = RawQuery(Some(format!("thread={}", demo.thread)));
    envelope::receive(own, caller, thread, HeaderMap::new(), body(said)).await?;
    Ok(())
}

//! What went wrong, as an envelope.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::dialect::envelope::PROTOCOL;
use selvedge_protocol::time;
use serde_json::{Value, json};

use crate::Error;
use crate::clock::now;

/// The envelope that says why there is no answer.
pub(crate) fn told(error: Error) -> Response {
    let mut data = json!({ "code": error.code.name() });
    if let Some(pointer) = &error.pointer {
        data["pointer"] = json!(pointer);
    }
    if let Some(details) = error.details.as_deref().and_then(|d| serde_json::from_str(d).ok()) {
        data["details"] = details;
    }
    let content = json!({ "type": "error", "text": error.message, "data": data });
    let body = envelope("Say what went wrong", &content).to_string();
    let mut response = error.into_response();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(body);
    response
}

/// An envelope of the server's own.
pub(super) fn envelope(task: &str, content: &Value) -> Value {
    json!({
        "protocol": PROTOCOL,
        "role": "system",
        "agent": { "id": "orchestrator", "name": "Selvedge", "model": "n/a",
                   "version": env!("CARGO_PKG_VERSION") },
        "timestamp": time::from_millis(now()).unwrap_or_default(),
        "intent": "reflect",
        "task": task,
        "content": content,
    })
}

//! What went wrong, as the runtime's framework tells it: `detail`, with the place of each mistake.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};
use selvedge_protocol::diagnostic::{Report, Severity};
use serde_json::{Value, json};

use crate::{Error, ErrorCode};

/// Mistakes that one answer names.
const MOST: usize = 20;

/// Why there is no response. A body that is not a request gives 422 and a list; all else says why.
pub(crate) fn told(error: Error) -> Response {
    let is_body = error.pointer.is_some() || error.code == ErrorCode::BadJson;
    let invalid = is_body && error.code.status() == StatusCode::BAD_REQUEST;
    let invalid = invalid || error.code == ErrorCode::BadEvent;
    let listed = error.details.as_deref().and_then(|d| serde_json::from_str::<Value>(d).ok());
    let detail = match listed.filter(Value::is_array) {
        Some(list) => list,
        None if invalid => {
            let kind =
                if error.code == ErrorCode::BadJson { "json_invalid" } else { "value_error" };
            let pointer = error.pointer.as_deref().unwrap_or_default();
            json!([mistake(kind, pointer, &error.message)])
        }
        None => json!(error.message),
    };
    let mut response = error.into_response();
    if invalid {
        *response.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
    }
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::from(json!({ "detail": detail }).to_string());
    response
}

/// A body that breaks the protocol's rules, with every place where it does.
pub(super) fn invalid(report: &Report) -> Option<Error> {
    let errors = report.diagnostics().iter().filter(|one| one.severity == Severity::Error);
    let errors: Vec<_> = errors.take(MOST).collect();
    let first = errors.first()?;
    let list = errors.iter().map(|one| {
        let kind = match one.code {
            "missing-field" => "missing",
            "wrong-type" => "type_error",
            _ => "value_error",
        };
        mistake(kind, &one.pointer, &one.message)
    });
    let list = Value::from_iter(list).to_string();
    let error = Error::new(ErrorCode::BadParameter, first.message.clone());
    Some(error.at(first.pointer.clone()).with(list))
}

fn mistake(kind: &str, pointer: &str, message: &str) -> Value {
    let place = pointer.split('/').skip(1).map(|part| match part.parse::<u64>() {
        Ok(index) => json!(index),
        Err(_) => json!(part.replace("~1", "/").replace("~0", "~")),
    });
    let place: Vec<Value> = std::iter::once(json!("body")).chain(place).collect();
    json!({ "type": kind, "loc": place, "msg": message })
}

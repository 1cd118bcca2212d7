//! What went wrong, as OpenAI tells it: `{"error":{"message","type","param","code"}}`.

use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

use crate::{Error, ErrorCode};

/// An error in OpenAI's shape. Whatever is wrong with a request is a 400 there, also that something
/// is over; clients try a 409 again.
pub(crate) fn told(error: Error) -> Response {
    let status = match error.code {
        ErrorCode::AlreadyAnswered | ErrorCode::AlreadyOver | ErrorCode::Expired => {
            StatusCode::BAD_REQUEST
        }
        code if code.status() == StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        code => code.status(),
    };
    let sort = match status.as_u16() {
        401 => "authentication_error",
        403 => "permission_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    let code = match error.code {
        ErrorCode::Unauthorized => "invalid_api_key",
        code => code.name(),
    };
    let param = error.pointer.as_deref().filter(|at| !at.is_empty()).map(param);
    let body = json!({ "error": {
        "message": error.message, "type": sort, "param": param, "code": code,
    } });
    let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    let mut response = (status, json, body.to_string()).into_response();
    if error.code.is_retryable() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// A JSON pointer as OpenAI names a place: `messages[0].content`.
fn param(pointer: &str) -> String {
    let mut out = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            out.push_str(&format!("[{part}]"));
        } else {
            let dot = if out.is_empty() { "" } else { "." };
            out.push_str(&format!("{dot}{part}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_becomes_the_name_of_a_parameter() {
        assert_eq!(param("/messages/0/content"), "messages[0].content");
        assert_eq!(param("/role"), "role");
    }
}

//! What went wrong, as both bindings of both versions tell it.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};

use super::caller::Version;
use crate::surface::native::stream::event_stream;
use crate::{Error, ErrorCode};

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Parse,
    Request,
    Method,
    Params,
    Internal,
    Unauthorized,
    Forbidden,
    Busy,
    NoTask,
    NotCancelable,
    Unsupported,
    ContentType,
    NoExtendedCard,
    Version,
}

/// An answer that says no.
#[derive(Debug, Clone)]
pub(super) struct Fault {
    pub(super) what: What,
    pub(super) message: String,
    /// JSON pointer into the parameters.
    pub(super) pointer: Option<String>,
}

impl What {
    /// The code of JSON-RPC, the status of HTTP, and the status and reason of Google's errors.
    fn row(self) -> (i32, u16, &'static str, Option<&'static str>) {
        match self {
            Self::Parse => (-32700, 400, "INVALID_ARGUMENT", None),
            Self::Request => (-32600, 400, "INVALID_ARGUMENT", None),
            Self::Method => (-32601, 404, "NOT_FOUND", None),
            Self::Params => (-32602, 400, "INVALID_ARGUMENT", None),
            Self::Internal => (-32603, 500, "INTERNAL", None),
            Self::Unauthorized => (-32600, 401, "UNAUTHENTICATED", None),
            Self::Forbidden => (-32600, 403, "PERMISSION_DENIED", None),
            Self::Busy => (-32603, 429, "RESOURCE_EXHAUSTED", None),
            Self::NoTask => (-32001, 404, "NOT_FOUND", Some("TASK_NOT_FOUND")),
            Self::NotCancelable => {
                (-32002, 409, "FAILED_PRECONDITION", Some("TASK_NOT_CANCELABLE"))
            }
            Self::Unsupported => {
                (-32004, 400, "FAILED_PRECONDITION", Some("UNSUPPORTED_OPERATION"))
            }
            Self::ContentType => {
                (-32005, 415, "INVALID_ARGUMENT", Some("CONTENT_TYPE_NOT_SUPPORTED"))
            }
            Self::NoExtendedCard => {
                (-32007, 400, "FAILED_PRECONDITION", Some("EXTENDED_AGENT_CARD_NOT_CONFIGURED"))
            }
            Self::Version => (-32009, 400, "FAILED_PRECONDITION", Some("VERSION_NOT_SUPPORTED")),
        }
    }

    fn status(self) -> StatusCode {
        StatusCode::from_u16(self.row().1).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl Fault {
    pub(super) fn new(what: What, message: impl Into<String>) -> Self {
        Self { what, message: message.into(), pointer: None }
    }

    /// Something wrong with a parameter.
    pub(super) fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        Self { what: What::Params, message: message.into(), pointer: Some(pointer.into()) }
    }

    /// A task that is not there, or not for this caller.
    pub(super) fn no_task(id: &str) -> Self {
        let id = selvedge_protocol::validate::brief(id);
        Self::new(What::NoTask, format!("task `{id}` not found"))
    }

    /// More of it, as Google's errors have it.
    fn details(&self) -> Value {
        let mut details = Vec::new();
        if let (.., Some(reason)) = self.what.row() {
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": reason,
                "domain": "a2a-protocol.org",
            }));
        }
        if let Some(pointer) = &self.pointer {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            details.push(json!({
                "@type": "type.googleapis.com/google.rpc.BadRequest",
                "fieldViolations": [{ "field": field, "description": self.message }],
            }));
        }
        Value::Array(details)
    }

    /// As the answer to a JSON-RPC request, whose id is JSON.
    pub(super) fn rpc(&self, version: Version, id: &str) -> Response {
        let mut error = json!({ "code": self.what.row().0, "message": self.message });
        match (version, &self.pointer, self.details()) {
            (Version::V1, _, details) if details.as_array().is_some_and(|d| !d.is_empty()) => {
                error["data"] = details;
            }
            (Version::V03, Some(pointer), _) => error["data"] = json!({ "pointer": pointer }),
            _ => {}
        }
        let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}");
        let status = match self.what {
            What::Unauthorized | What::Forbidden | What::Busy => self.what.status(),
            _ => StatusCode::OK,
        };
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (status, json, body).into_response()
    }

    /// As the only event of a stream that answers a JSON-RPC request.
    pub(super) fn event(&self, id: &str) -> Response {
        let error = json!({ "code": self.what.row().0, "message": self.message });
        let body = format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n\n");
        event_stream(Body::from(body))
    }

    /// As an answer of HTTP+JSON.
    pub(super) fn rest(&self) -> Response {
        let (_, code, status, _) = self.what.row();
        let body = json!({ "error": {
            "code": code,
            "status": status,
            "message": self.message,
            "details": self.details(),
        }});
        let json = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        (self.what.status(), json, body.to_string()).into_response()
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        self.rest()
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let what = match error.code {
            ErrorCode::NotFound => What::NoTask,
            ErrorCode::Unauthorized => What::Unauthorized,
            ErrorCode::Forbidden | ErrorCode::UserRequired => What::Forbidden,
            ErrorCode::AlreadyOver | ErrorCode::AlreadyAnswered | ErrorCode::Expired => {
                What::Unsupported
            }
            ErrorCode::Busy
            | ErrorCode::RateLimited
            | ErrorCode::Storage
            | ErrorCode::Timeout
            | ErrorCode::TooManyConnections => What::Busy,
            ErrorCode::Internal => What::Internal,
            ErrorCode::MethodNotAllowed => What::Method,
            _ => What::Params,
        };
        Self { what, message: error.message, pointer: error.pointer }
    }
}

/// What the authorizer and others say before a JSON-RPC request is read.
pub(crate) fn rpc_told(error: Error) -> Response {
    told(error, |fault| fault.rpc(Version::V1, "null"))
}

/// The same for HTTP+JSON.
pub(crate) fn rest_told(error: Error) -> Response {
    told(error, Fault::rest)
}

/// The status and the headers of our own, the body of the protocol's.
fn told(error: Error, tell: impl Fn(&Fault) -> Response) -> Response {
    let fault = Fault::from(error.clone());
    let mut response = error.into_response();
    response.headers_mut().remove(header::CONTENT_LENGTH);
    *response.body_mut() = Body::new(tell(&fault).into_body());
    response
}

//! An operation's answer, and how a binding tells it.

use axum::response::{IntoResponse, Response};
use http::header;

use super::caller::{Extension, Version};
use super::draft;
use super::fault::Fault;
use selvedge_protocol::dialect::a2a::EVENTS_EXTENSION;

/// What came of an operation.
pub(super) enum Answer {
    /// Something, as JSON.
    Json(String),
    /// Events.
    Stream(Response),
}

/// How a binding puts things.
#[derive(Debug, Clone)]
pub(super) enum Binding {
    /// As answers to the request of this id, which is JSON.
    Rpc(String),
    /// As they are, in the media type of the request.
    Rest(&'static str),
    /// The same, as 0.3 has it.
    Draft,
}

impl Binding {
    /// The data of an event.
    pub(super) fn event(&self, data: &str, out: &mut String) {
        match self {
            Self::Rpc(id) => {
                out.push_str("{\"jsonrpc\":\"2.0\",\"id\":");
                out.push_str(id);
                out.push_str(",\"result\":");
                out.push_str(data);
                out.push('}');
            }
            Self::Rest(_) => out.push_str(data),
            Self::Draft => out.push_str(&draft::response(data)),
        }
    }

    /// The whole answer.
    pub(super) fn told(
        &self,
        (version, extension): (Version, Extension),
        answer: Result<Answer, Fault>,
    ) -> Response {
        let mut response = match (answer, self) {
            (Ok(Answer::Stream(response)), _) => response,
            (Ok(Answer::Json(result)), Self::Rpc(_)) => {
                let mut body = String::with_capacity(result.len() + 64);
                self.event(&result, &mut body);
                ([(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            (Ok(Answer::Json(result)), Self::Rest(media)) => {
                ([(header::CONTENT_TYPE, *media)], result).into_response()
            }
            (Ok(Answer::Json(result)), Self::Draft) => {
                let body = draft::config(&draft::response(&result));
                ([(header::CONTENT_TYPE, "application/json")], body).into_response()
            }
            (Err(fault), Self::Rpc(id)) => fault.rpc(version, id),
            (Err(fault), Self::Rest(_) | Self::Draft) => fault.rest(),
        };
        let headers = response.headers_mut();
        headers.insert(header::VARY, header::HeaderValue::from_static("a2a-version"));
        if extension == Extension::Active {
            let name = match version {
                Version::V1 => "a2a-extensions",
                Version::V03 => "x-a2a-extensions",
            };
            headers.insert(name, header::HeaderValue::from_static(EVENTS_EXTENSION));
        }
        response
    }
}

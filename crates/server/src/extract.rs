//! What handlers take from a request, refused in our own words.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::request::Parts;

use crate::{App, Error, ErrorCode};

/// A request's whole body, within the server's bound.
pub(crate) struct Payload(pub(crate) Bytes);

impl FromRequest<App> for Payload {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        match Bytes::from_request(request, app).await {
            Ok(bytes) => Ok(Self(bytes)),
            Err(BytesRejection::FailedToBufferBody(error))
                if error.status() == http::StatusCode::PAYLOAD_TOO_LARGE =>
            {
                let limit = app.options().body_bytes;
                let message = format!("the body has more than {limit} bytes");
                Err(Error::new(ErrorCode::BodyTooLarge, message))
            }
            Err(error) => Err(Error::new(ErrorCode::BadParameter, error.body_text())),
        }
    }
}

/// The ids in a path such as `/api/threads/{id}/inputs/{inputId}`.
pub(crate) struct Ids(pub(crate) String, pub(crate) String);

impl FromRequestParts<App> for Ids {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        match Path::<(String, String)>::from_request_parts(parts, app).await {
            Ok(Path((thread, own))) => Ok(Self(thread, own)),
            Err(error) => Err(Error::new(ErrorCode::BadParameter, error.body_text())),
        }
    }
}

/// The id in a path such as `/api/threads/{id}`.
pub(crate) struct Id(pub(crate) String);

impl FromRequestParts<App> for Id {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        match Path::<String>::from_request_parts(parts, app).await {
            Ok(Path(id)) => Ok(Self(id)),
            Err(error) => Err(Error::new(ErrorCode::BadParameter, error.body_text())),
        }
    }
}

//! What handlers take from a request, refused in our own words.

use std::pin::Pin;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use bytes::{Bytes, BytesMut};
use http::request::Parts;
use http_body::Body as _;

use crate::{App, Error, ErrorCode};

/// A request's whole body, within the server's bound.
pub(crate) struct Payload(pub(crate) Bytes);

impl FromRequest<App> for Payload {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let mut body = request.into_body();
        let limit = app.options().body_bytes;
        let too_large = || {
            let message = format!("the body has more than {limit} bytes");
            Error::new(ErrorCode::BodyTooLarge, message)
        };
        if body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        // Most come in one piece, which is not copied.
        let Some(first) = piece(&mut body).await? else { return Ok(Self(Bytes::new())) };
        if body.is_end_stream() && first.len() <= limit {
            return Ok(Self(first));
        }
        let mut all = BytesMut::from(first);
        loop {
            if all.len() > limit {
                return Err(too_large());
            }
            match piece(&mut body).await? {
                Some(next) => all.extend_from_slice(&next),
                None => return Ok(Self(all.freeze())),
            }
        }
    }
}

/// The next piece of a body.
async fn piece(body: &mut Body) -> Result<Option<Bytes>, Error> {
    loop {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        match frame {
            None => return Ok(None),
            // Else trailers, which say nothing here.
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => {
                let message = format!("the body did not arrive: {error}");
                return Err(Error::new(ErrorCode::BadParameter, message));
            }
        }
    }
}

/// A header's value as text, as [`http::HeaderValue::to_str`] has it.
pub(crate) fn visible(value: &[u8]) -> Option<&str> {
    let is_visible = |byte: &u8| matches!(byte, b'\t' | b' '..=b'~');
    value.iter().all(is_visible).then(|| std::str::from_utf8(value).ok())?
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

//! The replay log: any thread as envelopes.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;

use crate::auth::Principal;
use crate::query::Query;
use crate::surface::native::stream::filter;
use crate::surface::native::transfer::exported;
use crate::{App, Error, ErrorCode};

/// `GET /envelopes?thread=`
pub(super) async fn log(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let Some(id) = query.get("thread") else {
        let message = "say with `thread` which thread";
        return Err(Error::new(ErrorCode::BadParameter, message));
    };
    let filter = filter(&query, &principal)?;
    let thread = app.thread(&principal.thread(id)).await?;
    let asked = Query::new(Some("dialect=envelope"));
    exported(&app, &asked, id.to_owned(), thread, filter, None).await
}

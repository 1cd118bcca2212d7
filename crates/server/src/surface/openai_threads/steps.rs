//! The steps of a run: messages that it made, and tool calls.

use axum::Extension;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;

use super::gather::Sort;
use super::pages::{Asked, answer, list as listed};
use super::runs::gathered;
use crate::auth::Principal;
use crate::extract::Ids;
use crate::query::Query;
use crate::{App, Error, ErrorCode};

/// `GET /v1/threads/{id}/runs/{run}/steps`
pub(super) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(id, run): Ids,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let gathered = gathered(&app, &principal, (&id, &run)).await?;
    let asked = Asked::new(&Query::new(query.as_deref()))?;
    let steps = gathered.all(Sort::Step);
    Ok(listed(asked.of(steps, |step| step["id"].as_str().unwrap_or_default())?))
}

/// `GET /v1/threads/{id}/runs/{run}/steps/{step}`
pub(super) async fn retrieve(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    path: Result<Path<(String, String, String)>, PathRejection>,
) -> Result<Response, Error> {
    let Path((id, run, step)) =
        path.map_err(|error| Error::new(ErrorCode::BadParameter, error.body_text()))?;
    let gathered = gathered(&app, &principal, (&id, &run)).await?;
    let found = gathered.one(Sort::Step, &step).ok_or_else(|| {
        let step = selvedge_protocol::validate::brief(&step);
        Error::new(ErrorCode::NotFound, format!("step `{step}` not found in run `{run}`"))
    })?;
    Ok(answer(&found))
}

//! Artifacts: listed, downloaded, written, compared.
//!
//! Invariant: of a version that the caller may not see, no answer tells anything. Versions keep
//! their numbers, so what is not seen leaves a hole.

mod content;
mod diff;
mod table;
mod write;

pub(crate) use content::download;
pub(super) use diff::diff;
pub(crate) use write::file_events;
pub(super) use write::put;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::journal::Visibility;
use selvedge_store::{Artifact, ArtifactVersion, WhichVersion};
use serde_json::{Value, json};

use crate::auth::Principal;
use crate::extract::{Id, Ids};
use crate::query::Query;
use crate::surface::native::stream::filter;
use crate::{App, Error, ErrorCode};

/// Artifacts of a page, unless asked otherwise, and at most.
const PAGE: usize = 100;
const PAGE_MAX: usize = 500;

/// `GET /api/threads/{id}/artifacts`
pub(crate) async fn list(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Id(id): Id,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let sees = filter(&query, &principal)?.sees;
    let after: usize = query.parsed("after", "a number")?.unwrap_or(0);
    let limit = query.limit(PAGE, PAGE_MAX)?;
    let thread = app.fresh(&principal.thread(&id)).await?;
    let end = after.saturating_add(limit);
    // One more, to see whether there is a next page.
    let found = app
        .blocking(move |store| Ok(store.artifacts_within(&thread, after..end.saturating_add(1))?));
    let mut found = found.await?;
    let next = (found.len() > limit).then_some(end);
    found.truncate(limit);
    let seen = found.into_iter().filter_map(|artifact| visible(artifact, sees));
    let artifacts: Vec<Value> = seen.map(|artifact| shown(&artifact)).collect();
    let body = json!({ "artifacts": artifacts, "next": next }).to_string();
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// `GET /api/threads/{id}/artifacts/{artifactId}`
pub(crate) async fn show(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(thread, id): Ids,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let sees = filter(&Query::new(query.as_deref()), &principal)?.sees;
    let there = app.fresh(&principal.thread(&thread)).await?;
    let own = id.clone();
    let found = app.blocking(move |store| Ok(store.artifact(&there, &own, WhichVersion::All)?));
    let found = found.await?.and_then(|artifact| visible(artifact, sees));
    let artifact = found.ok_or_else(|| not_found(&thread, &id))?;
    let etag = artifact.versions.last().map_or(String::new(), |last| etag(last.number));
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::ETAG, etag)];
    Ok((headers, shown(&artifact).to_string()).into_response())
}

/// What someone may see of an artifact, if there is anything.
fn visible(mut artifact: Artifact, sees: Visibility) -> Option<Artifact> {
    artifact.versions.retain(|version| version.visibility <= sees);
    // What it is called is told by the versions, too.
    let told = |of: fn(&ArtifactVersion) -> &Option<String>| {
        artifact.versions.iter().rev().find_map(|version| of(version).clone())
    };
    artifact.name = told(|version| &version.name);
    artifact.description = told(|version| &version.description);
    Some(artifact).filter(|artifact| !artifact.versions.is_empty())
}

fn shown(of: &Artifact) -> Value {
    let versions = of.versions.iter().map(|version| {
        json!({
            "version": version.number,
            "mimeType": version.mime,
            "size": version.size,
            "rows": version.rows,
            "complete": version.complete,
            "first": version.first,
            "last": version.last,
        })
    });
    json!({
        "id": of.id,
        "kind": of.kind.name(),
        "name": of.name,
        "description": of.description,
        "version": of.versions.last().map(|last| last.number),
        "versions": versions.collect::<Vec<_>>(),
    })
}

fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

fn not_found(thread: &str, id: &str) -> Error {
    let message = format!("artifact `{id}` not found in thread `{thread}`");
    Error::new(ErrorCode::NotFound, message)
}

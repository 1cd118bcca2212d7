//! What differs between two versions.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::header;
use selvedge_protocol::journal::fold::ArtifactKind;
use selvedge_protocol::json::{Doc, quote};
use selvedge_store::WhichVersion;

use super::content::{Content, Inside};
use super::{not_found, visible};
use crate::auth::Principal;
use crate::diff::{lines, rows, values};
use crate::extract::Ids;
use crate::query::Query;
use crate::surface::native::stream::filter;
use crate::{App, Error, ErrorCode};

/// Bytes of a text that is compared line by line.
const TEXT: usize = 8 << 20;

/// `GET /api/threads/{id}/artifacts/{artifactId}/diff?from=&to=`: unless told, the latest version
/// and the one before it.
pub(crate) async fn diff(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(thread, id): Ids,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let sees = filter(&query, &principal)?.sees;
    let from: Option<u64> = query.parsed("from", "a number from 1")?;
    let to: Option<u64> = query.parsed("to", "a number from 1")?;
    let there = app.fresh(&principal.thread(&thread)).await?;
    let own = (thread, id);
    let body = app
        .blocking(move |store| {
            let (thread, id) = &own;
            let found = store.artifact(&there, id, WhichVersion::All)?;
            let found = found.and_then(|artifact| visible(artifact, sees));
            let versions = found.ok_or_else(|| not_found(thread, id))?.versions;
            let mut numbers = versions.iter().rev().map(|version| version.number);
            let to = to.or_else(|| numbers.next()).unwrap_or(0);
            let before = || versions.iter().rev().map(|v| v.number).find(|number| *number < to);
            let from = from.or_else(before).ok_or_else(|| {
                let message = "there is no version before it; name one with `?from=`";
                Error::new(ErrorCode::NotFound, message)
            })?;
            let load = |number| {
                let loaded = Content::load(store, &there, id, Some(number), sees)?;
                loaded.ok_or_else(|| {
                    let message = format!("artifact `{id}` has no version {number}");
                    Error::new(ErrorCode::NotFound, message)
                })
            };
            let (old, new) = (load(from)?, load(to)?);
            let kind = new.kind.name();
            let told = compared(&old, &new);
            Ok(format!("{{\"from\":{from},\"to\":{to},\"kind\":\"{kind}\",{told}}}"))
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// What differs, as members of a JSON object.
fn compared(old: &Content, new: &Content) -> String {
    match (&old.body, &new.body) {
        (Inside::Text(old), Inside::Text(new)) if old.len().max(new.len()) <= TEXT => {
            let told = lines::unified(old, new);
            format!(
                "\"equal\":{},\"truncated\":{},\"diff\":{}",
                old == new,
                told.truncated,
                quote(&told.text)
            )
        }
        (Inside::Text(old), Inside::Text(new)) => {
            format!("\"equal\":{},\"large\":true", old == new)
        }
        (Inside::Json(left), Inside::Json(right)) => {
            let (Ok(left), Ok(right)) = (Doc::parse(left), Doc::parse(right)) else {
                return format!("\"equal\":{}", left == right);
            };
            if new.kind == ArtifactKind::Dataset {
                let (come, gone) = rows::between(left.root(), right.root());
                return format!(
                    "\"equal\":{},\"added\":[{}],\"addedCount\":{},\"removed\":[{}],\"removedCount\":{}",
                    come.count + gone.count == 0,
                    come.list,
                    come.count,
                    gone.list,
                    gone.count
                );
            }
            let told = values::Changes::between(left.root(), right.root());
            format!(
                "\"equal\":{},\"truncated\":{},\"changes\":[{}]",
                told.count == 0,
                told.truncated,
                told.list
            )
        }
        (left, right) => format!("\"equal\":{},\"binary\":true", bytes(left) == bytes(right)),
    }
}

fn bytes(of: &Inside) -> &[u8] {
    match of {
        Inside::Text(text) | Inside::Json(text) => text.as_bytes(),
        Inside::Bytes(bytes) => bytes,
    }
}

//! What is in a version of an artifact, and downloading it.

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use selvedge_protocol::base64;
use selvedge_protocol::journal::fold::{self, ArtifactKind};
use selvedge_protocol::journal::{Event, Kind, Visibility};
use selvedge_protocol::json::{Doc, from_utf8, text};
use selvedge_store::{ArtifactVersion, Store, ThreadRef, WhichVersion};

use super::{etag, not_found, table, visible};
use crate::auth::Principal;
use crate::extract::Ids;
use crate::query::Query;
use crate::surface::native::stream::filter;
use crate::{App, Error, ErrorCode};

/// Bytes of a version that is put together here; larger ones are in the journal.
const MOST: u64 = 64 << 20;
/// Bytes read from the journal at once.
const PAGE: usize = 1 << 20;

/// A version with what is in it.
pub(super) struct Content {
    pub(super) kind: ArtifactKind,
    pub(super) name: Option<String>,
    pub(super) version: ArtifactVersion,
    pub(super) body: Inside,
}

/// What is in a version.
pub(super) enum Inside {
    Text(String),
    Bytes(Vec<u8>),
    /// JSON: a record, or an array of rows.
    Json(String),
}

impl Content {
    /// A version that someone may see; `None` if there is no such. Blocks for the disk.
    pub(super) fn load(
        store: &Store,
        thread: &ThreadRef,
        id: &str,
        number: Option<u64>,
        sees: Visibility,
    ) -> Result<Option<Self>, Error> {
        let found = store.artifact(thread, id, WhichVersion::All)?;
        let Some(artifact) = found.and_then(|artifact| visible(artifact, sees)) else {
            return Ok(None);
        };
        let wanted = |version: &&ArtifactVersion| number.is_none_or(|own| own == version.number);
        let Some(version) = artifact.versions.iter().rev().find(wanted).cloned() else {
            return Ok(None);
        };
        if version.size > MOST {
            let message = format!(
                "version {} has more than {MOST} bytes; read its events, from {} to {}",
                version.number, version.first, version.last
            );
            return Err(Error::new(ErrorCode::BodyTooLarge, message));
        }
        let made = fold(store, thread, (id, artifact.kind), &version)?;
        let body = inside(artifact.kind, made);
        Ok(Some(Self { kind: artifact.kind, name: artifact.name, version, body }))
    }
}

/// Puts a version together from the events that wrote it.
fn fold(
    store: &Store,
    thread: &ThreadRef,
    (id, kind): (&str, ArtifactKind),
    version: &ArtifactVersion,
) -> Result<fold::Version, Error> {
    let mut artifact = fold::Artifact::new(kind);
    let mut seen = version.first.saturating_sub(1);
    while seen < version.last {
        let page = store.read(thread, seen, usize::MAX, PAGE)?;
        let before = seen;
        for entry in page.entries.iter().take_while(|entry| entry.seq <= version.last) {
            seen = entry.seq;
            let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("{}")) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            let is_write =
                matches!(event.kind(), Kind::FileWrite | Kind::DataWrite | Kind::DatasetWrite);
            if is_write && event.get("artifactId").is_some_and(|own| own.is(id)) {
                artifact.apply(&event);
            }
        }
        if seen == before {
            break;
        }
    }
    Ok(artifact.versions.into_iter().next().unwrap_or_default())
}

fn inside(kind: ArtifactKind, made: fold::Version) -> Inside {
    match kind {
        ArtifactKind::Data => Inside::Json(made.content),
        ArtifactKind::Dataset => Inside::Json(format!("[{}]", made.content)),
        ArtifactKind::File => {
            let own = made.about.iter().find(|(name, _)| name == "encoding");
            let content = text::decode(&made.content).into_owned();
            match own.filter(|(_, own)| own.is("base64")).and_then(|_| decode(&content)) {
                Some(bytes) => Inside::Bytes(bytes),
                None => Inside::Text(content),
            }
        }
    }
}

/// Base64 in chunks, each of which may be padded.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for part in text.split('=').filter(|part| !part.is_empty()) {
        out.extend(base64::decode(part)?);
    }
    Some(out)
}

/// `GET /api/threads/{id}/artifacts/{artifactId}/content`
pub(crate) async fn download(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(thread, id): Ids,
    headers: HeaderMap,
    RawQuery(query): RawQuery,
) -> Result<Response, Error> {
    let query = Query::new(query.as_deref());
    let sees = filter(&query, &principal)?.sees;
    let number = query.parsed("version", "a number from 1")?;
    let format = Format::named(query.get("format"))?;
    let there = app.fresh(&principal.thread(&thread)).await?;
    let own = id.clone();
    let content = app.blocking(move |store| Content::load(store, &there, &own, number, sees));
    let content = content.await?.ok_or_else(|| not_found(&thread, &id))?;
    let mine = etag(content.version.number);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let known = known.is_some_and(|list| list.split(',').any(|one| one.trim() == mine));
    if known && content.version.complete {
        return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, mine)]).into_response());
    }
    let name = content.name.as_deref().unwrap_or(&id).to_owned();
    let (version, complete) = (content.version.number, content.version.complete);
    let (body, ty, ending) = app.blocking(move |_| rendered(content, format)).await?;
    let mut response = Body::from(body).into_response();
    let answer = response.headers_mut();
    answer.insert(header::CONTENT_TYPE, ty);
    answer.insert(header::CONTENT_DISPOSITION, attachment(&name, ending));
    // Whatever it is, it is not run here.
    let nothing = "default-src 'none'; sandbox; frame-ancestors 'none'";
    answer.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(nothing));
    answer.insert("artifact-version", HeaderValue::from(version));
    let told = if complete { "true" } else { "false" };
    answer.insert("artifact-complete", HeaderValue::from_static(told));
    if complete && let Ok(etag) = HeaderValue::from_str(&mine) {
        answer.insert(header::ETAG, etag);
    }
    Ok(response)
}

/// How a dataset is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    AsIs,
    Json,
    Csv,
    Lines,
}

impl Format {
    fn named(name: Option<&str>) -> Result<Self, Error> {
        match name {
            None => Ok(Self::AsIs),
            Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            Some("ndjson") => Ok(Self::Lines),
            Some(_) => {
                let message = "`format` must be json, csv or ndjson";
                Err(Error::new(ErrorCode::BadParameter, message))
            }
        }
    }
}

/// What is sent, its media type, and how the file's name ends.
fn rendered(content: Content, format: Format) -> Result<(Bytes, HeaderValue, &'static str), Error> {
    let fixed = HeaderValue::from_static;
    let wrong = |is: &str| {
        let message = format!("`format` is for datasets; this is a {is}");
        Err(Error::new(ErrorCode::BadParameter, message))
    };
    let json = matches!(content.kind, ArtifactKind::Data | ArtifactKind::Dataset);
    match (content.body, format) {
        (Inside::Json(rows), Format::Csv) if content.kind == ArtifactKind::Dataset => {
            Ok((table::csv(&rows)?.into(), fixed("text/csv; charset=utf-8"), ".csv"))
        }
        (Inside::Json(rows), Format::Lines) if content.kind == ArtifactKind::Dataset => {
            Ok((table::lines(&rows).into(), fixed("application/x-ndjson"), ".ndjson"))
        }
        (Inside::Json(text), Format::AsIs | Format::Json) => {
            Ok((text.into(), fixed("application/json"), ".json"))
        }
        (_, Format::Csv | Format::Lines | Format::Json) => {
            wrong(if json { "record" } else { "file" })
        }
        (Inside::Text(text), Format::AsIs) => {
            let ty = media_type(content.version.mime.as_deref(), "text/plain", "; charset=utf-8");
            Ok((text.into(), ty, ""))
        }
        (Inside::Bytes(bytes), Format::AsIs) => {
            let ty = media_type(content.version.mime.as_deref(), "application/octet-stream", "");
            Ok((bytes.into(), ty, ""))
        }
    }
}

/// What the file says it is, if that can be said.
fn media_type(own: Option<&str>, unless: &'static str, charset: &str) -> HeaderValue {
    let is_plain = |ty: &str| ty.starts_with("text/") && !ty.contains(';');
    let own = own.filter(|own| own.contains('/') && own.len() <= 256).unwrap_or(unless);
    let full = if is_plain(own) { format!("{own}{charset}") } else { own.to_owned() };
    HeaderValue::from_str(&full).unwrap_or(HeaderValue::from_static(unless))
}

/// To be saved under a name that leads nowhere else.
fn attachment(name: &str, ending: &str) -> HeaderValue {
    let name: String = name
        .chars()
        .map(|c| if c.is_control() || "/\\\"<>:|?*;".contains(c) { '_' } else { c })
        .take(150)
        .collect();
    let name = name.trim_matches(['.', ' ']);
    let name = if name.is_empty() { "artifact" } else { name };
    let ending = if name.to_lowercase().ends_with(ending) { "" } else { ending };
    let name = format!("{name}{ending}");
    let plain: String = name.chars().map(|c| if c.is_ascii() { c } else { '_' }).collect();
    let encoded = crate::surface::native::threads::encode(&name);
    let value = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    HeaderValue::from_str(&value).unwrap_or(HeaderValue::from_static("attachment"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        let plain = |name: &str, ending: &str| {
            attachment(name, ending).to_str().unwrap().split('"').nth(1).unwrap().to_owned()
        };
        assert_eq!(plain("../../etc/passwd", ""), "_.._etc_passwd");
        assert_eq!(plain("a\"; x=\"b\r\nc", ""), "a__ x=_b__c");
        assert_eq!(plain("  ..", ".csv"), "artifact.csv");
        assert_eq!(plain("über.CSV", ".csv"), "_ber.CSV");
    }

    #[test]
    fn base64_is_read_whether_chunks_are_padded_or_not() {
        assert_eq!(decode("AAEC/w==AAEC"), Some(vec![0, 1, 2, 255, 0, 1, 2]));
        assert_eq!(decode("not base64!"), None);
    }

    #[test]
    fn a_media_type_that_is_none_is_not_repeated() {
        let ty = |own| media_type(own, "text/plain", "; charset=utf-8");
        assert_eq!(ty(Some("text/markdown")), "text/markdown; charset=utf-8");
        assert_eq!(ty(Some("text/x\r\nset-cookie: a")), "text/plain");
        assert_eq!(ty(Some("nonsense")), "text/plain; charset=utf-8");
        assert_eq!(ty(Some("image/svg+xml")), "image/svg+xml");
    }
}

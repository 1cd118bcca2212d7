//! Writing a version of an artifact.

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use selvedge_protocol::base64::{self, Alphabet};
use selvedge_protocol::journal::fold::ArtifactKind;
use selvedge_protocol::journal::{Event, Kind, Visibility};
use selvedge_protocol::json::{Doc, Raw, from_utf8};
use selvedge_store::{
    Append, AppendError, Appended, Draft, Guard, Instead, ThreadRef, WhichVersion,
};

use super::{etag, visible};
use crate::auth::Principal;
use crate::clock::now;
use crate::event::Stamp;
use crate::extract::{Ids, Payload};
use crate::query::Query;
use crate::surface::native::events::{key_of, told};
use crate::{App, Error, ErrorCode};

/// Bytes and rows of one event. A multiple of three: base64 of it needs no padding.
const CHUNK: usize = 192 << 10;
const ROWS: usize = 1000;
/// How often a version is tried while others write.
const TRIES: usize = 16;
/// What forms of old browsers, and `curl -d`, say of anything.
const FORM: &str = "application/x-www-form-urlencoded";

/// `PUT /api/threads/{id}/artifacts/{artifactId}/content`
pub(crate) async fn put(
    State(app): State<App>,
    Extension(principal): Extension<Principal>,
    Ids(thread, id): Ids,
    RawQuery(raw): RawQuery,
    headers: HeaderMap,
    Payload(body): Payload,
) -> Result<Response, Error> {
    let query = Query::new(raw.as_deref());
    let own = Writing::new(&id, &query, &headers)?;
    let kind = own.kind;
    let condition = Condition::new(&headers)?;
    let head = |name| headers.get(name).map_or(&b""[..], HeaderValue::as_bytes);
    let (on, none) = (head(header::IF_MATCH), head(header::IF_NONE_MATCH));
    let ty = head(header::CONTENT_TYPE);
    let raw = raw.as_deref().unwrap_or("").as_bytes();
    let key = key_of(&headers, &[b"write", id.as_bytes(), raw, on, none, ty, &body])?;
    let name = principal.thread(&thread);
    let there = app.thread(&name).await?;
    let stamp = Stamp::new(&thread, now());
    let drafts: Vec<Draft> = app.blocking(move |_| stamp.own(&own.events(&body)?)).await?;
    for _ in 0..TRIES {
        let version = condition.version(&app, &there, &id).await?;
        let guard = Guard::Version { artifact: id.clone(), kind, version };
        let mut append = Append::new(name.clone(), drafts.clone()).guarded(guard);
        append.key.clone_from(&key);
        match app.append(append).await {
            Ok(appended) => return written(&app, &id, &appended, version + 1).await,
            Err(AppendError::Instead(Instead::Version { .. })) if condition.is_open() => {}
            Err(AppendError::NotFound) => return Err(Error::no_thread(&thread)),
            Err(error) => return Err(refusal(&app, &principal, (&there, &id), error).await),
        }
    }
    Err(Error::new(ErrorCode::Busy, "others write this artifact all the time; try again"))
}

/// The answer, with the version that it became.
async fn written(app: &App, id: &str, appended: &Appended, next: u64) -> Result<Response, Error> {
    let mut version = next;
    if appended.duplicate {
        app.store().fresh(&appended.thread).await?;
        let (thread, id, from) = (appended.thread.clone(), id.to_owned(), appended.first);
        let found =
            app.blocking(move |store| Ok(store.artifact(&thread, &id, WhichVersion::All)?));
        let versions = found.await?.map(|artifact| artifact.versions).unwrap_or_default();
        let own = versions.iter().find(|version| version.first == from);
        version = own.map_or(next, |own| own.number);
    }
    let status =
        if version == 1 && !appended.duplicate { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = (status, told(appended, &format!(",\"version\":{version}"))).into_response();
    if let Ok(etag) = HeaderValue::from_str(&etag(version)) {
        response.headers_mut().insert(header::ETAG, etag);
    }
    Ok(response)
}

/// Why not; without the number of a version that the caller may not see.
async fn refusal(
    app: &App,
    principal: &Principal,
    (thread, id): (&ThreadRef, &str),
    error: AppendError,
) -> Error {
    let (of, own, sees) = (thread.clone(), id.to_owned(), principal.sees);
    let is_hidden = matches!(error, AppendError::Instead(_))
        && app
            .blocking(move |store| {
                let latest = store.artifact(&of, &own, WhichVersion::Latest)?;
                Ok(latest.is_some_and(|latest| visible(latest, sees).is_none()))
            })
            .await
            .unwrap_or(true);
    if is_hidden {
        let message = "the latest version is another one";
        return Error::new(ErrorCode::VersionConflict, message);
    }
    error.into()
}

/// What the artifact's latest version must be.
enum Condition {
    Anything,
    Something,
    Nothing,
    Is(u64),
}

impl Condition {
    fn new(headers: &HeaderMap) -> Result<Self, Error> {
        let bad = |message| Err(Error::new(ErrorCode::BadParameter, message));
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("").trim());
        match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
            (None, None) => Ok(Self::Anything),
            (None, Some("*")) => Ok(Self::Nothing),
            (None, Some(_)) => bad("`If-None-Match` can only be `*` here"),
            (Some(_), Some(_)) => bad("`If-Match` and `If-None-Match` exclude each other"),
            (Some("*"), None) => Ok(Self::Something),
            (Some(text), None) => match text.trim_matches('"').parse() {
                Ok(version) => Ok(Self::Is(version)),
                Err(_) => bad("`If-Match` must be a version, such as \"3\""),
            },
        }
    }

    /// Whether it may be any version.
    fn is_open(&self) -> bool {
        matches!(self, Self::Anything | Self::Something)
    }

    /// The version to write on top of.
    async fn version(&self, app: &App, thread: &ThreadRef, id: &str) -> Result<u64, Error> {
        match self {
            Self::Nothing => return Ok(0),
            Self::Is(version) => return Ok(*version),
            Self::Anything | Self::Something => {}
        }
        app.store().fresh(thread).await?;
        let (of, id) = (thread.clone(), id.to_owned());
        let latest =
            app.blocking(move |store| Ok(store.artifact(&of, &id, WhichVersion::Latest)?));
        let latest = latest.await?.and_then(|artifact| artifact.versions.last().map(|v| v.number));
        match (latest, self) {
            (None, Self::Something) => {
                let error = Error::new(ErrorCode::VersionConflict, "there is no version yet");
                Err(error.with("{\"version\":0}".to_owned()))
            }
            (latest, _) => Ok(latest.unwrap_or(0)),
        }
    }
}

/// The events that write the first version of a file.
pub(crate) fn file_events(
    id: &str,
    name: &str,
    media_type: Option<&str>,
    body: &Bytes,
) -> Vec<Event<'static>> {
    let mut first = vec![("name", name.to_owned())];
    let ty = media_type.filter(|ty| !ty.is_empty() && ty.len() <= 256);
    first.extend(ty.map(|ty| ("mimeType", ty.to_owned())));
    let each = Event::new(Kind::FileWrite).with_str("artifactId", id);
    Writing { kind: ArtifactKind::File, each, first }.file(body)
}

/// What is written besides the content.
struct Writing {
    kind: ArtifactKind,
    /// What every event has, and what the first one has besides.
    each: Event<'static>,
    first: Vec<(&'static str, String)>,
}

impl Writing {
    fn new(id: &str, query: &Query<'_>, headers: &HeaderMap) -> Result<Self, Error> {
        let bad = |message| Err(Error::new(ErrorCode::BadParameter, message));
        if id.is_empty() || id.len() > 256 || id.contains(|c: char| c.is_control()) {
            return bad("an artifact's id must have 1 to 256 bytes and no control characters");
        }
        let kind = match query.get("kind").map(ArtifactKind::named) {
            None => ArtifactKind::File,
            Some(Some(kind)) => kind,
            Some(None) => return bad("`kind` must be file, data or dataset"),
        };
        let write = match kind {
            ArtifactKind::File => Kind::FileWrite,
            ArtifactKind::Data => Kind::DataWrite,
            ArtifactKind::Dataset => Kind::DatasetWrite,
        };
        let mut each = Event::new(write).with_str("artifactId", id);
        if let Some(task) = query.get("taskId") {
            each = each.with_str("taskId", task);
        }
        if let Some(name) = query.get("visibility") {
            if Visibility::named(name).is_none() {
                return bad("`visibility` must be public, participants, operator or internal");
            }
            each = each.with_str("visibility", name);
        }
        let mut first = Vec::new();
        for name in ["name", "description"] {
            first.extend(query.get(name).map(|value| (name, value.to_owned())));
        }
        let ty = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let ty = ty.filter(|ty| !ty.is_empty() && ty.len() <= 256 && !ty.starts_with(FORM));
        if kind == ArtifactKind::File {
            first.extend(ty.map(|ty| ("mimeType", ty.to_owned())));
        }
        Ok(Self { kind, each, first })
    }

    /// The events that write a body.
    fn events(&self, body: &Bytes) -> Result<Vec<Event<'static>>, Error> {
        match self.kind {
            ArtifactKind::File => Ok(self.file(body)),
            ArtifactKind::Data => self.data(body),
            ArtifactKind::Dataset => self.dataset(body),
        }
    }

    fn file(&self, body: &Bytes) -> Vec<Event<'static>> {
        let mut chunks = Vec::new();
        let encoding = match from_utf8(body) {
            Ok(mut rest) => {
                while !rest.is_empty() {
                    let (chunk, left) = rest.split_at(rest.floor_char_boundary(CHUNK));
                    chunks.push(Raw::string(chunk));
                    rest = left;
                }
                "utf-8"
            }
            Err(_) => {
                let encoded = body.chunks(CHUNK).map(|c| base64::encode(c, Alphabet::Standard));
                chunks.extend(encoded.map(|chunk| Raw::owned(format!("\"{chunk}\""))));
                "base64"
            }
        };
        let mut events = self.chunks("data", chunks, "\"\"");
        if let Some(first) = events.first_mut() {
            first.set("encoding", Raw::string(encoding));
        }
        events
    }

    fn data(&self, body: &Bytes) -> Result<Vec<Event<'static>>, Error> {
        let doc = parse(body)?;
        if !doc.root().is_object() {
            return Err(Error::new(ErrorCode::BadParameter, "a record is a JSON object").at(""));
        }
        let event = self.each.clone().with("data", Raw::owned(doc.root().raw()));
        Ok(vec![self.told(event)])
    }

    fn dataset(&self, body: &Bytes) -> Result<Vec<Event<'static>>, Error> {
        let doc = parse(body)?;
        if !doc.root().is_array() {
            let message = "a dataset is a JSON array of rows";
            return Err(Error::new(ErrorCode::BadParameter, message).at(""));
        }
        let mut chunks = Vec::new();
        let (mut rows, mut count) = (String::new(), 0);
        for row in doc.root().children() {
            if count == ROWS || rows.len() >= CHUNK {
                chunks.push(Raw::owned(format!("[{rows}]")));
                rows.clear();
                count = 0;
            }
            if count > 0 {
                rows.push(',');
            }
            rows.push_str(row.raw());
            count += 1;
        }
        if count > 0 {
            chunks.push(Raw::owned(format!("[{rows}]")));
        }
        Ok(self.chunks("rows", chunks, "[]"))
    }

    /// Events of chunks; nothing at all is one chunk, too.
    fn chunks(
        &self,
        field: &'static str,
        mut chunks: Vec<Raw<'static>>,
        nothing: &'static str,
    ) -> Vec<Event<'static>> {
        if chunks.is_empty() {
            chunks.push(Raw::Ref(nothing));
        }
        let last = chunks.len() - 1;
        let events = chunks.into_iter().enumerate().map(|(index, chunk)| {
            let event = self.each.clone().with(field, chunk);
            let event = event
                .with("index", Raw::owned(index.to_string()))
                .with("complete", Raw::Ref(if index == last { "true" } else { "false" }));
            if index == 0 { self.told(event) } else { event }
        });
        events.collect()
    }

    /// With what the first event has besides.
    fn told(&self, event: Event<'static>) -> Event<'static> {
        let first = self.first.iter();
        first.fold(event, |event, (name, value)| event.with_str(name, value))
    }
}

fn parse(body: &[u8]) -> Result<Doc<'_>, Error> {
    Doc::parse_bytes(body)
        .map_err(|error| Error::new(ErrorCode::BadJson, format!("not JSON: {error}")))
}

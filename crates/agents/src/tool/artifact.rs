//! Tools with which an agent writes and reads the artifacts of its thread.
//!
//! Invariant: a write is one append of one whole version, guarded by the version it follows. The
//! same call done twice, after a restart, writes once.

mod schemas;
mod shelf;

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt as _};
use selvedge_protocol::journal::fold::ArtifactKind;
use selvedge_protocol::journal::{Event, Kind};
use selvedge_protocol::json::{Raw, quote};
use selvedge_store::{AppendError, Guard, Instead, WhichVersion};
use serde_json::{Value, json};

use self::shelf::{Held, Shelf};
use super::{Invocation, Run, SchemaError, Tool, ToolError};
use crate::journal::JournalError;

/// Bytes of one version.
const SIZE: usize = 1 << 20;
/// Bytes of a file in one event.
const CHUNK: usize = 64 << 10;
/// Rows of a dataset in one event.
const ROWS: usize = 500;

/// The tools.
pub fn tools() -> Result<Vec<Tool>, SchemaError> {
    let deeds = [Deed::Create, Deed::Append, Deed::Update, Deed::List, Deed::Read];
    deeds.into_iter().map(|deed| Tool::here(schemas::spec(deed), Arc::new(deed))).collect()
}

/// What is done with artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Create,
    Append,
    Update,
    List,
    Read,
}

impl Run for Deed {
    fn run(&self, call: Invocation) -> BoxFuture<'static, Result<Value, ToolError>> {
        let deed = *self;
        async move {
            let shelf = Shelf::open(&call).await?;
            match deed {
                Self::Create => create(&call, &shelf).await,
                Self::Append => append(&call, &shelf).await,
                Self::Update => update(&call, &shelf).await,
                Self::List => shelf.list().await,
                Self::Read => read(&call, &shelf).await,
            }
        }
        .boxed()
    }
}

/// A version that is to be written.
struct Draft {
    id: String,
    kind: ArtifactKind,
    /// The version it follows; 0 if it is the first.
    after: u64,
    /// File text, a record, or rows.
    content: Value,
}

async fn create(call: &Invocation, shelf: &Shelf) -> Result<Value, ToolError> {
    let name = text(call, "name").unwrap_or_default();
    let (kind, content) = content(call)?;
    let draft = Draft { id: name.to_owned(), kind, after: 0, content };
    match write(call, shelf, draft).await? {
        Ok(done) => Ok(done),
        Err(_) => Err(ToolError(format!("there is `{name}` already; use artifact_update"))),
    }
}

async fn append(call: &Invocation, shelf: &Shelf) -> Result<Value, ToolError> {
    let id = text(call, "id").unwrap_or_default();
    let (kind, more) = content(call)?;
    // Someone else may write in between: then it is added behind that.
    for _ in 0..5 {
        let held = shelf.take(id, WhichVersion::Latest).await?;
        if held.by == call.place {
            return Ok(held.written());
        }
        let content = joined(&held, kind, more.clone())?;
        let draft = Draft { id: id.to_owned(), kind, after: held.version, content };
        if let Ok(done) = write(call, shelf, draft).await? {
            return Ok(done);
        }
    }
    Err(ToolError(format!("others write to `{id}` all the time")))
}

async fn update(call: &Invocation, shelf: &Shelf) -> Result<Value, ToolError> {
    let id = text(call, "id").unwrap_or_default();
    let (kind, content) = content(call)?;
    let after = match call.arguments.get("version").and_then(Value::as_u64) {
        Some(version) => version,
        None => {
            let held = shelf.take(id, WhichVersion::Latest).await?;
            if held.by == call.place {
                return Ok(held.written());
            }
            held.version
        }
    };
    let draft = Draft { id: id.to_owned(), kind, after, content };
    match write(call, shelf, draft).await? {
        Ok(done) => Ok(done),
        Err(latest) => Err(ToolError(format!(
            "the latest version of `{id}` is {latest}, not {after}; read it first"
        ))),
    }
}

async fn read(call: &Invocation, shelf: &Shelf) -> Result<Value, ToolError> {
    let which = match call.arguments.get("version").and_then(Value::as_u64) {
        Some(version) => WhichVersion::Number(version),
        None => WhichVersion::Latest,
    };
    let offset = call.arguments.get("offset").and_then(Value::as_u64).unwrap_or(0);
    let held = shelf.take(text(call, "id").unwrap_or_default(), which).await?;
    Ok(held.shown(usize::try_from(offset).unwrap_or(usize::MAX)))
}

/// Writes a version. Tells the latest version if that is not the one it was to follow.
async fn write(
    call: &Invocation,
    shelf: &Shelf,
    draft: Draft,
) -> Result<Result<Value, u64>, ToolError> {
    let size = draft.content.to_string().len();
    if size > SIZE {
        return Err(ToolError(format!("it has {size} bytes, more than {SIZE}")));
    }
    let version = draft.after + 1;
    let guard =
        Guard::Version { artifact: draft.id.clone(), kind: draft.kind, version: draft.after };
    match call.writer.append_if(guard, events(call, &draft, version)).await {
        Ok(_) => Ok(Ok(json!({"id": draft.id, "version": version}))),
        Err(JournalError::Append(AppendError::Instead(Instead::Version { version: latest }))) => {
            // Written by this call, before it was stopped and run again?
            match shelf.take(&draft.id, WhichVersion::Latest).await {
                Ok(held) if held.by == call.place => Ok(Ok(held.written())),
                _ => Ok(Err(latest)),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// The events that write a version.
fn events(call: &Invocation, draft: &Draft, version: u64) -> Vec<Event<'static>> {
    let metadata = format!("{{\"toolCallId\":{},\"version\":{version}}}", quote(&call.id));
    let about = |kind| {
        let mut event = Event::new(kind).with_str("artifactId", &draft.id);
        let name = text(call, "name").or((version == 1).then_some(draft.id.as_str()));
        for (field, value) in [("name", name), ("description", text(call, "description"))] {
            if let Some(value) = value {
                event = event.with_str(field, value);
            }
        }
        event
    };
    let metadata = Raw::owned(metadata);
    match (&draft.kind, &draft.content) {
        (ArtifactKind::Data, content) => {
            let event = about(Kind::DataWrite).with("data", Raw::owned(content.to_string()));
            vec![event.with("metadata", metadata)]
        }
        (ArtifactKind::Dataset, content) => {
            let rows = content.as_array().map(Vec::as_slice).unwrap_or_default();
            let batches: Vec<String> =
                rows.chunks(ROWS).map(|rows| Value::from(rows.to_vec()).to_string()).collect();
            let batches = if batches.is_empty() { vec!["[]".to_owned()] } else { batches };
            let write = |first: bool| match first {
                true => about(Kind::DatasetWrite).with("metadata", metadata.clone()),
                false => Event::new(Kind::DatasetWrite).with_str("artifactId", &draft.id),
            };
            numbered(batches.into_iter().map(|rows| ("rows", rows)), write)
        }
        (ArtifactKind::File, content) => {
            let pieces = pieces(content.as_str().unwrap_or_default());
            let mime = text(call, "mime_type").unwrap_or("text/plain");
            let encoding = text(call, "encoding").unwrap_or("utf-8");
            let write = |first: bool| match first {
                true => about(Kind::FileWrite)
                    .with_str("mimeType", mime)
                    .with_str("encoding", encoding)
                    .with_some("uri", text(call, "url").map(Raw::string))
                    .with("metadata", metadata.clone()),
                false => Event::new(Kind::FileWrite).with_str("artifactId", &draft.id),
            };
            numbered(pieces.into_iter().map(|piece| ("data", quote(piece))), write)
        }
    }
}

/// Chunks with their numbers; the last says that it is.
fn numbered(
    chunks: impl ExactSizeIterator<Item = (&'static str, String)>,
    write: impl Fn(bool) -> Event<'static>,
) -> Vec<Event<'static>> {
    let last = chunks.len().saturating_sub(1);
    let event = |(index, (field, chunk)): (usize, (&'static str, String))| {
        write(index == 0)
            .with(field, Raw::owned(chunk))
            .with("index", Raw::owned(index.to_string()))
            .with("complete", Raw::Ref(if index == last { "true" } else { "false" }))
    };
    chunks.enumerate().map(event).collect()
}

/// A text in pieces, at least one.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > CHUNK {
        let (piece, rest) = text.split_at(text.floor_char_boundary(CHUNK));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// What is to be written, and as what.
fn content(call: &Invocation) -> Result<(ArtifactKind, Value), ToolError> {
    let given = |name: &str| call.arguments.get(name).filter(|value| !value.is_null()).cloned();
    match (given("content"), given("url"), given("data"), given("rows")) {
        (Some(text), None, None, None) => Ok((ArtifactKind::File, text)),
        // A file that is elsewhere has no content here.
        (None, Some(_), None, None) => Ok((ArtifactKind::File, Value::String(String::new()))),
        (None, None, Some(record), None) => Ok((ArtifactKind::Data, record)),
        (None, None, None, Some(rows)) => Ok((ArtifactKind::Dataset, rows)),
        _ => Err(ToolError(
            "give one of `content` (a file's text), `url` (where a file is), `data` (a record), \
             `rows` (a dataset)"
                .to_owned(),
        )),
    }
}

/// What is there with more behind it.
fn joined(held: &Held, kind: ArtifactKind, more: Value) -> Result<Value, ToolError> {
    match (&held.content, more) {
        _ if held.kind != kind => Err(ToolError(format!("it is a {}", held.kind.name()))),
        (Value::String(text), Value::String(more)) => Ok(Value::String(format!("{text}{more}"))),
        (Value::Array(rows), Value::Array(more)) => Ok(rows.iter().cloned().chain(more).collect()),
        _ => Err(ToolError("nothing can be added to a record; use artifact_update".to_owned())),
    }
}

fn text<'c>(call: &'c Invocation, name: &str) -> Option<&'c str> {
    call.arguments.get(name).and_then(Value::as_str)
}

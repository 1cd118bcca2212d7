//! The artifacts of a thread, as they are read.

use selvedge_protocol::journal::Event;
use selvedge_protocol::journal::fold::{Artifact, ArtifactKind};
use selvedge_protocol::json::{Doc, from_utf8, text};
use selvedge_store::{Store, ThreadRef, WhichVersion};
use serde_json::{Value, json};

use crate::journal::{Journal, JournalError};
use crate::tool::{Invocation, RESULT, ToolError};

/// Bytes of content that are read.
const SIZE: u64 = 16 << 20;
/// Bytes read at once.
const PAGE: usize = 1 << 20;
/// Artifacts and rows that are shown at once.
const SHOWN: usize = 200;
/// Bytes of a file that are shown at once.
const BYTES: usize = RESULT / 2;

/// The artifacts of a thread.
pub(super) struct Shelf {
    journal: Journal,
    thread: ThreadRef,
}

/// One version of an artifact.
pub(super) struct Held {
    id: String,
    pub(super) kind: ArtifactKind,
    name: Option<String>,
    pub(super) version: u64,
    complete: bool,
    /// File text, a record, or rows.
    pub(super) content: Value,
    /// The call that wrote it.
    pub(super) by: String,
}

impl Shelf {
    /// The artifacts of the call's thread, with all that was written so far.
    pub(super) async fn open(call: &Invocation) -> Result<Self, ToolError> {
        let journal = call.journal.clone();
        let key = call.writer.thread().clone();
        let thread = journal.blocking(move |store| store.thread(&key)).await?;
        let thread = thread.ok_or(JournalError::NoThread)?;
        let fresh = journal.store().fresh(&thread).await;
        fresh.map_err(|error| ToolError(error.to_string()))?;
        Ok(Self { journal, thread })
    }

    /// All of them, without their content.
    pub(super) async fn list(&self) -> Result<Value, ToolError> {
        let thread = self.thread.clone();
        let all = self.journal.blocking(move |store| store.artifacts(&thread)).await?;
        let left = all.len().saturating_sub(SHOWN);
        let shown = all.into_iter().take(SHOWN).map(|artifact| {
            let last = artifact.versions.last();
            json!({
                "id": artifact.id,
                "kind": artifact.kind.name(),
                "name": artifact.name,
                "description": artifact.description,
                "version": last.map_or(0, |version| version.number),
                "bytes": last.map_or(0, |version| version.size),
                "rows": last.map(|version| version.rows).filter(|rows| *rows > 0),
            })
        });
        Ok(json!({"artifacts": shown.collect::<Vec<_>>(), "more": left}))
    }

    /// A version of an artifact.
    pub(super) async fn take(&self, id: &str, which: WhichVersion) -> Result<Held, ToolError> {
        let (thread, wanted) = (self.thread.clone(), id.to_owned());
        let held = self.journal.blocking(move |store| {
            let Some(found) = store.artifact(&thread, &wanted, which)? else { return Ok(None) };
            let Some(version) = found.versions.last() else { return Ok(None) };
            if version.size > SIZE {
                return Ok(Some(Err(version.size)));
            }
            let range = (version.first, version.last);
            let (folded, by) = fold(store, &thread, &wanted, found.kind, range)?;
            Ok(Some(Ok(Held {
                content: content(&folded),
                id: wanted,
                kind: found.kind,
                name: found.name,
                version: version.number,
                complete: version.complete,
                by,
            })))
        });
        match held.await? {
            Some(Ok(held)) => Ok(held),
            Some(Err(size)) => Err(ToolError(format!("`{id}` has {size} bytes, too many to read"))),
            None => Err(ToolError(format!("there is no artifact `{id}`, or no such version"))),
        }
    }
}

/// Puts a version together from the events that wrote it; and names the call that began it.
fn fold(
    store: &Store,
    thread: &ThreadRef,
    id: &str,
    kind: ArtifactKind,
    (first, last): (u64, u64),
) -> Result<(Artifact, String), selvedge_store::ReadError> {
    let mut folded = Artifact::new(kind);
    let mut by = String::new();
    let mut after = first.saturating_sub(1);
    while after < last {
        let page = store.read(thread, after, usize::MAX, PAGE)?;
        let Some(end) = page.entries.last() else { break };
        after = end.seq;
        for entry in page.entries.iter().filter(|entry| entry.seq <= last) {
            let Ok(doc) = Doc::parse(from_utf8(&entry.event).unwrap_or("")) else { continue };
            let Some(event) = Event::parse(doc.root()) else { continue };
            if event.str("artifactId").is_none_or(|own| own != id) {
                continue;
            }
            if entry.seq == first {
                let call = event.at("metadata", "/toolCallId");
                let call = call.as_ref().and_then(|call| call.str());
                by = format!(
                    "{}/{}",
                    event.str("taskId").unwrap_or_default(),
                    call.unwrap_or_default()
                );
            }
            folded.apply(&event);
        }
    }
    Ok((folded, by))
}

fn content(folded: &Artifact) -> Value {
    let Some(version) = folded.versions.last() else { return Value::Null };
    match folded.kind {
        ArtifactKind::File => Value::String(text::decode(&version.content).into_owned()),
        ArtifactKind::Data => serde_json::from_str(&version.content).unwrap_or_default(),
        ArtifactKind::Dataset => {
            serde_json::from_str(&format!("[{}]", version.content)).unwrap_or_default()
        }
    }
}

impl Held {
    /// What is told when it was written.
    pub(super) fn written(&self) -> Value {
        json!({"id": self.id, "version": self.version})
    }

    /// As a model gets to see it, from an offset on: bytes of a file, rows of a dataset.
    pub(super) fn shown(&self, offset: usize) -> Value {
        let mut shown = json!({
            "id": self.id,
            "kind": self.kind.name(),
            "name": self.name,
            "version": self.version,
            "complete": self.complete,
        });
        match &self.content {
            Value::String(text) => {
                let from = text.floor_char_boundary(offset);
                let to = text.floor_char_boundary(from.saturating_add(BYTES));
                shown["content"] = json!(text.get(from..to).unwrap_or_default());
                shown["bytes"] = json!(text.len());
                if to < text.len() {
                    shown["next_offset"] = json!(to);
                }
            }
            Value::Array(rows) => {
                let page: Vec<&Value> = rows.iter().skip(offset).take(SHOWN).collect();
                let next = offset.saturating_add(page.len());
                shown["rows"] = json!(page);
                shown["total_rows"] = json!(rows.len());
                if next < rows.len() {
                    shown["next_offset"] = json!(next);
                }
            }
            record => shown["data"] = record.clone(),
        }
        shown
    }
}

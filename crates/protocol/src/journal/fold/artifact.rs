//! Artifacts and their versions.

use std::collections::BTreeMap;

use super::Oddity;
use crate::journal::{Event, Kind};
use crate::json::{Raw, text};

/// A file, a data record or a dataset, with all its versions.
#[derive(Debug, Clone)]
pub struct Artifact {
    /// What sort of artifact.
    pub kind: ArtifactKind,
    /// Its name, once one was given.
    pub name: Option<String>,
    /// Its description, once one was given.
    pub description: Option<String>,
    /// Versions, oldest first. The last may not be complete.
    pub versions: Vec<Version>,
}

/// What sort of artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactKind {
    /// Text or bytes, streamed in chunks.
    File,
    /// One record, written whole.
    Data,
    /// Rows, streamed in batches.
    Dataset,
}

impl ArtifactKind {
    /// What sort of artifact an event begins to write.
    pub fn of(event: &Event<'_>) -> Self {
        match event.kind() {
            Kind::DataWrite => Self::Data,
            Kind::DatasetWrite => Self::Dataset,
            _ => Self::File,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Data => "data",
            Self::Dataset => "dataset",
        }
    }

    /// The sort of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::File, Self::Data, Self::Dataset].into_iter().find(|kind| kind.name() == name)
    }
}

/// One version of an artifact.
#[derive(Debug, Clone, Default)]
pub struct Version {
    /// File text or base64 as a string body; data as JSON; rows as JSON values with commas
    /// between them.
    pub content: String,
    /// Rows so far, for a dataset.
    pub rows: usize,
    /// Whether the last chunk and all before it are there.
    pub complete: bool,
    /// `mimeType`, `encoding`, `schema`, `uri`: what the first chunk said, as JSON.
    pub about: Vec<(String, Raw<'static>)>,
    /// Chunks in place.
    next: i64,
    /// The number of the last chunk, once known.
    last: Option<i64>,
    /// Chunks that came early, by number.
    held: BTreeMap<i64, String>,
}

impl Version {
    /// Chunks that came before the ones they follow.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn append(&mut self, kind: ArtifactKind, chunk: &str) {
        match kind {
            ArtifactKind::File => self.content.push_str(chunk),
            ArtifactKind::Data => chunk.clone_into(&mut self.content),
            ArtifactKind::Dataset => {
                let rows = chunk.strip_prefix('[').and_then(|c| c.strip_suffix(']'));
                let rows = rows.unwrap_or("").trim();
                if !rows.is_empty() {
                    if !self.content.is_empty() {
                        self.content.push(',');
                    }
                    self.content.push_str(rows);
                    self.rows +=
                        Raw::Ref(chunk).doc().map_or(0, |doc| doc.root().children().count());
                }
            }
        }
    }
}

impl Artifact {
    /// One without versions yet.
    pub fn new(kind: ArtifactKind) -> Self {
        Self { kind, name: None, description: None, versions: Vec::new() }
    }

    /// The text of a file's latest version, decoded; base64 stays base64.
    pub fn text(&self) -> Option<String> {
        let version = self.versions.last().filter(|_| self.kind == ArtifactKind::File)?;
        Some(text::decode(&version.content).into_owned())
    }

    /// Takes a write in; says what is odd about it.
    pub fn apply(&mut self, event: &Event<'_>) -> Option<Oddity> {
        if let Some(name) = event.str("name") {
            self.name = Some(name.into_owned());
        }
        if let Some(description) = event.str("description") {
            self.description = Some(description.into_owned());
        }
        if self.kind == ArtifactKind::Data {
            let mut version = Version { complete: true, ..Version::default() };
            version.append(self.kind, event.get("data").map_or("null", Raw::as_str));
            about(event, &mut version);
            self.versions.push(version);
            return None;
        }
        let index = event.get("index").and_then(Raw::i64).unwrap_or(0);
        let done = self.versions.last().is_none_or(|v| v.complete);
        if done && index > 0 && !self.versions.is_empty() {
            return Some(Oddity::RepeatedChunk);
        }
        if done {
            self.versions.push(Version::default());
        }
        let kind = self.kind;
        let version = self.versions.last_mut()?;
        if index < version.next || version.held.contains_key(&index) {
            return Some(Oddity::RepeatedChunk);
        }
        if index == 0 {
            about(event, version);
        }
        if event.get("complete").and_then(Raw::bool) == Some(true) {
            version.last = Some(index);
        }
        let chunk = match kind {
            ArtifactKind::Dataset => event.get("rows").map_or("[]", Raw::as_str),
            _ => event.body("data").unwrap_or(""),
        };
        let mut odd = None;
        if index > version.next {
            version.held.insert(index, chunk.to_owned());
            odd = Some(Oddity::EarlyChunk);
        } else {
            version.append(kind, chunk);
            version.next += 1;
            while let Some(chunk) = version.held.remove(&version.next) {
                version.append(kind, &chunk);
                version.next += 1;
            }
        }
        version.complete = version.last.is_some_and(|last| version.next > last);
        odd
    }
}

fn about(event: &Event<'_>, version: &mut Version) {
    for field in ["mimeType", "encoding", "schema", "uri", "metadata"] {
        if let Some(value) = event.get(field) {
            version.about.push((field.to_owned(), value.to_owned()));
        }
    }
}

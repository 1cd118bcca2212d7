//! Artifacts, without their content.

use selvedge_protocol::journal::Visibility;
use selvedge_protocol::journal::fold::ArtifactKind;

/// A file, a data record or a dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// Its id.
    pub id: String,
    /// What sort of artifact.
    pub kind: ArtifactKind,
    /// Its name, once told.
    pub name: Option<String>,
    /// The beginning of its description, once told.
    pub description: Option<String>,
    /// Versions, the oldest first.
    pub versions: Vec<ArtifactVersion>,
}

/// One version of an artifact. Its content is in the events from `first` to `last` that name the
/// artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactVersion {
    /// Counted from 1.
    pub number: u64,
    /// Its media type, where told.
    pub mime: Option<String>,
    /// The first event that wrote it.
    pub first: u64,
    /// The last so far.
    pub last: u64,
    /// Bytes in place: of a file's text, base64 as written; of a record's or of rows' JSON.
    pub size: u64,
    /// Rows in place, of a dataset.
    pub rows: u64,
    /// Whether all of it is there.
    pub complete: bool,
    /// Who may see it: whoever may see all that was written of it.
    pub visibility: Visibility,
    /// Its name, where its own writes tell.
    pub name: Option<String>,
    /// The beginning of its description, where its own writes tell.
    pub description: Option<String>,
}

/// Which version of an artifact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhichVersion {
    /// All of them.
    #[default]
    All,
    /// The last.
    Latest,
    /// This one, counted from 1.
    Number(u64),
}

//! What was found.

use selvedge_protocol::journal::Visibility;

/// An event whose text has the words that were looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The thread's id.
    pub thread: String,
    /// What the thread is called.
    pub title: Option<String>,
    /// The event.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at: i64,
    /// Who may see it: [`Visibility::Public`] or [`Visibility::Participants`].
    pub visibility: Visibility,
    /// The text around the words.
    pub snippet: Vec<Piece>,
}

/// A piece of a snippet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text around what was found.
    Around(String),
    /// What was found.
    Hit(String),
}

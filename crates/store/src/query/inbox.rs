//! What waits for someone.

use selvedge_protocol::journal::{Urgency, Visibility};

use super::Place;

/// Which of the things that wait.
#[derive(Debug, Clone)]
pub struct InboxQuery {
    /// Only of this kind.
    pub kind: Option<InboxKind>,
    /// Only what a user must answer.
    pub user_only: bool,
    /// Only what whoever sees so much may see.
    pub sees: Visibility,
    /// Which come first.
    pub order: InboxOrder,
    /// Only those after this place.
    pub after: Option<Place>,
    /// At most so many.
    pub limit: usize,
}

impl Default for InboxQuery {
    fn default() -> Self {
        Self {
            kind: None,
            user_only: false,
            sees: Visibility::Internal,
            order: InboxOrder::default(),
            after: None,
            limit: 0,
        }
    }
}

/// Which of the things that wait come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InboxOrder {
    /// The oldest.
    #[default]
    Oldest,
    /// The most urgent, and of those the oldest.
    Urgent,
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InboxKind {
    /// An answer.
    Input,
    /// Credentials.
    Auth,
}

impl InboxKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Auth => "auth",
        }
    }

    /// The kind of that name, as it is written down.
    pub(crate) fn named(name: &str) -> Self {
        if name == Self::Auth.name() { Self::Auth } else { Self::Input }
    }
}

/// Something that waits for someone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxItem {
    /// The thread's id.
    pub thread: String,
    /// What is waited for.
    pub kind: InboxKind,
    /// `inputId` or `authId`.
    pub id: String,
    /// The task that asks.
    pub task: Option<String>,
    /// The event that asks.
    pub seq: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at: i64,
    /// `inputType` or `authType`.
    pub ty: Option<String>,
    /// What is asked, or its beginning.
    pub prompt: Option<String>,
    /// Whether only a user may answer.
    pub require_user: bool,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Until when, in milliseconds since 1970.
    pub expires: Option<i64>,
}

//! Who is asking, and what they may.

use std::sync::Arc;

use selvedge_protocol::journal::Visibility;
use selvedge_store::ThreadKey;

/// What a caller may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Everyone, without a key.
    Nobody,
    /// Read threads.
    Read,
    /// Append to threads.
    Write,
}

/// Whoever makes a request.
#[derive(Debug, Clone)]
pub(crate) struct Principal {
    pub(crate) tenant: Arc<str>,
    pub(crate) sees: Visibility,
}

impl Principal {
    /// Whoever asks where no keys are configured.
    pub(crate) fn anyone() -> Self {
        Self { tenant: "default".into(), sees: Visibility::Internal }
    }

    /// A thread of the caller's own tenant.
    pub(crate) fn thread(&self, id: &str) -> ThreadKey {
        ThreadKey::new(self.tenant.clone(), id)
    }
}

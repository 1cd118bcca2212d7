//! How far a rebuild has come.

/// How far what follows the journal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Rows of the journal that were followed.
    pub done: u64,
    /// Rows there are.
    pub total: u64,
}

impl Progress {
    pub(crate) fn done(total: u64) -> Self {
        Self { done: total, total }
    }

    /// Whether nothing is left to be done.
    pub fn is_done(&self) -> bool {
        self.done >= self.total
    }
}

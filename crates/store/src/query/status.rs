//! Where a thread stands.

/// Where a thread stands, in the order of what matters most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ThreadStatus {
    /// Someone is asked for something: an answer or credentials.
    Waiting,
    /// A task is at work, or made and not begun.
    Working,
    /// The last task that ended, not counting subtasks, failed.
    Failed,
    /// None of these.
    Idle,
}

impl ThreadStatus {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Working, Self::Failed, Self::Idle];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Failed => "failed",
            Self::Idle => "idle",
        }
    }

    /// The status of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

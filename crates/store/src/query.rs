//! What can be asked of the projections, and the answers.

mod act;
mod artifact;
mod inbox;
mod place;
mod search;
mod status;
mod task;
mod thread;
mod usage;

pub use act::{Call, Due, Overdue, Unfinished, Within};
pub use artifact::{Artifact, ArtifactVersion, WhichVersion};
pub use inbox::{InboxItem, InboxKind, InboxOrder, InboxQuery};
pub use place::{Listed, Place};
pub use search::{Found, Piece};
pub use status::ThreadStatus;
pub use task::{Placed, Task, TaskQuery, Wanted};
pub use thread::{Glance, Kin, Participant, Scalar, Summary, ThreadQuery};
pub use usage::{DayUsage, Failures, Spent, Timed, Usage, UsageBy, UsageOrder, UsageQuery};

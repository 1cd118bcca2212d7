//! The journal: what happens in a thread, in order.
//!
//! Owned here: the event vocabulary ([`kind`]), events as records of raw JSON fields, batches of
//! events that came from one source record, cursors, and the fold to a thread's state.

mod batch;
mod blank;
mod cursor;
mod event;
pub mod flow;
pub mod fold;
pub mod kind;
mod piece;
pub mod transcript;
mod urgency;
mod visibility;

pub use batch::{Batch, Entry, Unread, Why};
pub use blank::{blank, is_blank};
pub use cursor::{Cursor, CursorError};
pub use event::Event;
pub use kind::Kind;
pub use piece::Piece;
pub use urgency::Urgency;
pub use visibility::Visibility;

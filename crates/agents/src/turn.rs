//! Turns: one task of one agent, from its creation to its one end.

mod progress;

pub use progress::{Answer, Call, Next, Progress, Stage};

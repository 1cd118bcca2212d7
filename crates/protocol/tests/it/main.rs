//! What the library promises, tried on recordings of the real writers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod identity;
mod recordings;

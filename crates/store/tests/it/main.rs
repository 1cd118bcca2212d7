//! What the store promises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod append;
mod model;
mod tail;

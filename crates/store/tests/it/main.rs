//! What the store promises.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod append;
mod check;
mod crash;
mod delete;
mod events;
mod guard;
mod keys;
mod lease;
mod listing;
mod load;
mod model;
mod projection;
mod promote;
mod rebuild;
mod retain;
mod search;
mod tail;

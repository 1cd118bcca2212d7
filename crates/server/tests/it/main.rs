//! What the server promises, over real connections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod branch;
mod cut;
mod refuse;
mod resume;
mod site;
mod state;
mod transfer;

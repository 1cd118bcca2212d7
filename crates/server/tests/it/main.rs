//! What the server promises, over real connections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod auth;
mod branch;
mod cut;
mod edge;
mod lag;
mod lists;
mod matrix;
mod operations;
mod refuse;
mod resume;
mod schemas;
mod share;
mod site;
mod state;
mod tls;
mod token;
#[cfg(feature = "otel")]
mod traces;
mod transfer;

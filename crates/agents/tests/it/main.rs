//! Agents at work in real threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod artifact;
mod config;
mod http;
mod mcp;
mod model;
mod router;
mod runner;
mod stage;
mod turn;

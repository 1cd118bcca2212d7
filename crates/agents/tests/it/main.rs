//! Agents at work in real threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod artifact;
mod ask;
mod auth;
mod config;
mod document;
mod http;
mod mcp;
mod model;
mod remote;
mod router;
mod runner;
mod stage;
mod turn;

//! Agents at work in real threads.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod artifact;
mod ask;
mod auth;
mod budget;
mod config;
mod context;
mod document;
mod http;
mod mcp;
mod model;
mod remote;
mod router;
mod runner;
mod stage;
mod timeout;
mod turn;

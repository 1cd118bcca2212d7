//! What the server promises, over real connections.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod a2a;
mod ag_ui;
mod agent_api;
mod agents;
mod ai_sdk;
mod artifacts;
mod auth;
mod auths;
mod branch;
mod cancel;
mod connections;
mod cut;
mod demo;
mod edge;
mod envelope;
mod inputs;
mod invocations;
mod lag;
mod lists;
mod matrix;
mod mcp;
mod mutated;
mod nodes;
mod openai_threads;
mod operations;
mod refuse;
mod resume;
mod retain;
mod schemas;
#[path = "../../../store/tests/it/server.rs"]
mod server;
mod share;
mod site;
mod state;
mod swift;
mod tls;
mod token;
#[cfg(feature = "otel")]
mod traces;
mod transfer;
mod waiting;
mod work;

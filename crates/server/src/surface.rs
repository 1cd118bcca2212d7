//! One folder per protocol, each with its routes.

pub(crate) mod a2a;
pub(crate) mod ag_ui;
pub(crate) mod agent_api;
pub(crate) mod ai_sdk;
pub(crate) mod asked;
pub(crate) mod envelope;
pub(crate) mod looopy;
pub(crate) mod mcp;
pub(crate) mod native;
pub(crate) mod openai_threads;
pub(crate) mod operations;
pub(crate) mod ui;

//! What the library promises, tried on recordings of the real writers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod a2a;
mod ag_ui;
mod agent_api;
mod ai_sdk_messages;
mod ai_sdk_stream;
mod aitp;
mod beside;
mod byte_order_mark;
mod canonical;
mod carries;
mod documents;
mod edited;
mod envelope;
mod fold;
mod generated;
mod identity;
mod journal;
mod looopy;
mod loss;
mod losses;
mod mixed;
mod nesting;
mod openai_threads;
mod perspective;
mod pydantic_ai;
mod recordings;
mod thread_protocol;

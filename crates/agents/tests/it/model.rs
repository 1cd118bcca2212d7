//! Models, against traffic as providers document it and against a mock of their APIs.

mod anthropic;
pub(crate) mod canned;
mod chat;
mod gemini;
mod hostile;
mod mock;
mod requests;
mod responses;
mod trouble;
mod turns;

//! Models, against traffic as providers document it and against a mock of their APIs.

mod anthropic;
mod canned;
mod chat;
mod gemini;
mod hostile;
mod mock;
mod requests;
mod responses;
mod trouble;
mod turns;

//! The store in a PostgreSQL database, which any number of nodes may share.
//!
//! Invariant: a thread's row, locked, says what its head is; nothing that is kept in memory does.

mod client;
mod follow;
mod herald;
mod hints;
mod migrate;
mod node;
mod pace;
mod retain;
mod search;
mod stage;
mod tend;
mod text;
mod threads;
mod translate;
mod writer;

pub(crate) use client::Client;
pub(crate) use herald::standing;
pub(crate) use migrate::{migrate, prepared};
pub(crate) use node::Node;
pub(crate) use search::search;
pub(crate) use writer::Writer;

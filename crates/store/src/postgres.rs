//! The store in a PostgreSQL database, which any number of nodes may share.
//!
//! Invariant: a thread's row, locked, says what its head is; nothing that is kept in memory does.

pub(crate) mod check;
mod client;
pub(crate) mod directory;
mod follow;
mod herald;
mod hints;
mod migrate;
mod node;
mod pace;
pub(crate) mod places;
mod quick;
mod retain;
pub(crate) mod role;
mod round;
mod search;
mod stage;
mod tend;
mod text;
mod threads;
mod translate;
mod writer;

pub(crate) use client::Client;
pub(crate) use herald::standing;
pub(crate) use migrate::{Trouble, VERSION, is_copying, migrate, prepared, unguarded};
pub(crate) use node::Node;
pub(crate) use search::{indexed, search};
pub(crate) use text::stored;
pub(crate) use threads::add as argue;
pub(crate) use writer::Writer;

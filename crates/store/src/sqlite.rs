//! The store in one SQLite file.

mod follow;
pub(crate) mod open;
mod read;
mod recent;
mod schema;
mod writer;

pub(crate) use read::Readers;
pub(crate) use recent::Recent;
pub(crate) use writer::{Writer, WriterHandle};

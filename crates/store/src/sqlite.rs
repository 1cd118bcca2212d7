//! The store in one SQLite file.

mod catch_up;
pub(crate) mod chain;
pub(crate) mod check;
mod desk;
pub(crate) mod erase;
pub(crate) mod fold;
mod follow;
mod guard;
mod handle;
pub(crate) mod lease;
mod marks;
pub(crate) mod open;
mod project;
mod promote;
pub(crate) mod query;
mod read;
mod recent;
mod redact;
mod schema;
mod scrub;
mod search;
mod spoken;
mod sweep;
mod tasks;
mod tend;
mod text;
mod writer;

pub(crate) use handle::WriterHandle;
pub(crate) use promote::lineage;
pub(crate) use read::Readers;
pub(crate) use recent::Recent;
pub(crate) use writer::Writer;

//! The store in one SQLite file.

mod catch_up;
pub(crate) mod check;
mod desk;
mod erase;
mod fold;
mod follow;
mod follower;
mod guard;
mod lease;
mod log;
mod marks;
pub(crate) mod open;
mod promote;
mod recent;
mod redact;
mod schema;
mod scrub;
mod search;
mod stage;
pub(crate) mod tasks;
mod tend;
mod writer;

pub(crate) use desk::Desk;
pub(crate) use marks::reset_all as place_all;
pub(crate) use recent::{Known, Recent};
pub(crate) use writer::Writer;

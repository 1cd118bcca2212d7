//! What differs between two versions of something, with bounded work.

pub(crate) mod lines;
pub(crate) mod rows;
pub(crate) mod values;

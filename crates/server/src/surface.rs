//! One folder per protocol, each with its routes.

pub(crate) mod envelope;
pub(crate) mod looopy;
pub(crate) mod native;
pub(crate) mod openai_threads;
pub(crate) mod operations;

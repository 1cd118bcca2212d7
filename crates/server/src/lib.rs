//! Every protocol over HTTP, on one journal.

pub mod app;
mod auth;
mod error;
mod event;
mod extract;
mod ingest;
mod query;
mod retell;
mod routes;
mod serve;
mod state;
mod surface;
mod view;

pub use app::{App, Options};
pub use error::{Error, ErrorCode};
pub use routes::{Route, router, routes};
pub use serve::serve;

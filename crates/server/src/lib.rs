//! Every protocol over HTTP, on one journal.

pub mod app;
mod auth;
mod clock;
mod coalesce;
mod compare;
mod diff;
mod edge;
mod error;
mod event;
mod expiry;
mod extract;
mod ingest;
mod interrupt;
mod metrics;
mod openapi;
#[cfg(feature = "otel")]
mod otel;
mod plain;
mod query;
mod redact;
mod retell;
mod retention;
mod routes;
mod seldom;
mod serve;
mod stall;
mod state;
mod streams;
mod surface;
mod tls;
mod turn;
mod view;

pub use app::{A2aVersions, App, Demo, Lag, Options, StartError};
pub use auth::Scope;
pub use auth::token::{KeySet, TokenError, TokenOptions};
pub use coalesce::Coalesce;
pub use error::{Error, ErrorCode};
pub use openapi::document as openapi;
#[cfg(feature = "otel")]
pub use otel::{TraceError, TraceOptions};
pub use routes::{Route, routes};
pub use selvedge_agents::credential::Secret;
pub use serve::serve;
pub use tls::{TlsError, TlsFiles};

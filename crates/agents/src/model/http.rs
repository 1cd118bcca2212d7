//! The connections that all models share.
//!
//! Invariant: they are made as [`crate::net`] makes them, so no key follows a redirect.

use std::time::Duration;

use super::{Failure, FailureKind};
use crate::net;

/// Connections to providers; clones share them.
#[derive(Debug, Clone)]
pub struct Http(pub(super) reqwest::Client);

impl Http {
    /// Connections that are made within a time, or not at all.
    pub fn new(connect: Duration) -> Result<Self, Failure> {
        let client = net::client(connect)
            .map_err(|error| Failure::new(FailureKind::Connection, error.to_string()))?
            .build();
        client.map(Self).map_err(Failure::connection)
    }
}

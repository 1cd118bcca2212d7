//! The connections that all models share.
//!
//! Invariant: certificates are always checked, and no key follows a redirect.

use std::sync::Arc;
use std::time::Duration;

use reqwest::redirect::Policy;
use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use super::{Failure, FailureKind};

/// Connections to providers; clones share them.
#[derive(Debug, Clone)]
pub struct Http(pub(super) reqwest::Client);

impl Http {
    /// Connections that are made within a time, or not at all.
    pub fn new(connect: Duration) -> Result<Self, Failure> {
        let bad = |error: String| Failure::new(FailureKind::Connection, error);
        let tls = tls().map_err(|error| bad(error.to_string()))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .connect_timeout(connect)
            .redirect(Policy::none())
            .user_agent(concat!("selvedge/", env!("CARGO_PKG_VERSION")))
            .build();
        client.map(Self).map_err(Failure::connection)
    }
}

/// Whom the system trusts, with the server's own crypto library.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?;
    let builder = match Verifier::new(provider) {
        Ok(verifier) => builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)),
        // A system without authorities: nobody is trusted, and plain HTTP still works.
        Err(_) => builder.with_root_certificates(RootCertStore::empty()),
    };
    Ok(builder.with_no_client_auth())
}

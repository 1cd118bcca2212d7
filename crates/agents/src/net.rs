//! Connections to elsewhere.
//!
//! Invariant: certificates are always checked, and no redirect is followed, so what was meant for
//! one server never reaches another.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring::default_provider;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

/// How long it may take a tool to reach someone.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);

/// What all connections have in common; they are made within a time, or not at all.
pub(crate) fn client(connect: Duration) -> Result<reqwest::ClientBuilder, rustls::Error> {
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls()?)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect)
        .user_agent(concat!("selvedge/", env!("CARGO_PKG_VERSION"))))
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

//! Whom to trust over HTTPS: who the system trusts, and private authorities besides.
//!
//! Invariant: certificates are always checked; there is one crypto provider, the server's.

use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::Error;

/// Certificates of authorities that the system does not know.
#[derive(Debug, Clone, Default)]
pub struct Authorities(Vec<CertificateDer<'static>>);

impl Authorities {
    /// From PEM text, which has one certificate at least.
    pub fn from_pem(text: &[u8]) -> Result<Self, Error> {
        let bad = |reason: String| Error::Authorities(reason);
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
        let certificates = certificates.map_err(|error| bad(error.to_string()))?;
        if certificates.is_empty() {
            return Err(bad("there is no certificate in it".to_owned()));
        }
        let mut roots = RootCertStore::empty();
        for certificate in &certificates {
            roots.add(certificate.clone()).map_err(|error| bad(error.to_string()))?;
        }
        Ok(Self(certificates))
    }

    /// Connections that trust the system and these.
    pub(crate) fn http(&self) -> reqwest::Client {
        let builder = reqwest::Client::builder();
        match self.config() {
            Ok(config) => builder.tls_backend_preconfigured(config).build().unwrap_or_default(),
            Err(_) => reqwest::Client::default(),
        }
    }

    fn config(&self) -> Result<ClientConfig, rustls::Error> {
        let provider = Arc::new(default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()?;
        let verifier = Verifier::new_with_extra_roots(self.0.iter().cloned(), provider);
        let builder = match verifier {
            Ok(verifier) => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
            }
            // A system without authorities: nobody is trusted, and plain HTTP still works.
            Err(_) => builder.with_root_certificates(RootCertStore::empty()),
        };
        Ok(builder.with_no_client_auth())
    }
}

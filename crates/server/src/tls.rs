//! TLS, with certificates that can be replaced while the server runs.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::{self, PemObject as _};
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};

/// Where the certificate and its key are, both as PEM. Read again when they change.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate, followed by those it was issued by.
    pub cert: PathBuf,
    /// Its private key.
    pub key: PathBuf,
}

/// Why a certificate cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum TlsError {
    #[error("cannot read {path}: {cause}")]
    Read { path: String, cause: pem::Error },
    #[error("{path} has no certificate")]
    NoCertificate { path: String },
    #[error("the certificate and its key cannot be used: {0}")]
    Unusable(#[from] rustls::Error),
}

/// The certificate in use.
pub(crate) struct Tls {
    files: TlsFiles,
    now: Mutex<Loaded>,
}

struct Loaded {
    config: Arc<ServerConfig>,
    changed: Changed,
}

type Changed = [Option<SystemTime>; 2];

impl Tls {
    pub(crate) fn open(files: TlsFiles) -> Result<Self, TlsError> {
        let loaded = load(&files)?;
        Ok(Self { files, now: Mutex::new(loaded) })
    }

    /// For a new connection.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(now.config.clone())
    }

    /// Takes up files that changed, if they are sound. Blocks for the disk.
    pub(crate) fn reload(&self) {
        let known = self.now.lock().unwrap_or_else(PoisonError::into_inner).changed;
        if changed(&self.files) == known {
            return;
        }
        match load(&self.files) {
            Ok(loaded) => {
                *self.now.lock().unwrap_or_else(PoisonError::into_inner) = loaded;
                tracing::info!("the certificate was replaced");
            }
            // One of the two may be written before the other: the old ones serve until both fit.
            Err(error) => tracing::warn!(%error, "the certificate changed and is not used"),
        }
    }
}

fn load(files: &TlsFiles) -> Result<Loaded, TlsError> {
    // Before reading: what is written in between is found again.
    let changed = changed(files);
    let path = |path: &Path| path.display().to_string();
    let unread = |at: &Path, cause| TlsError::Read { path: path(at), cause };
    let certs = CertificateDer::pem_file_iter(&files.cert)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|cause| unread(&files.cert, cause))?;
    if certs.is_empty() {
        return Err(TlsError::NoCertificate { path: path(&files.cert) });
    }
    let key =
        PrivateKeyDer::from_pem_file(&files.key).map_err(|cause| unread(&files.key, cause))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certs, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Loaded { config: Arc::new(config), changed })
}

fn changed(files: &TlsFiles) -> Changed {
    [&files.cert, &files.key]
        .map(|path| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok())
}

/// Makes the one crypto provider known to those who look for it.
pub(crate) fn install() {
    // It can be there already; it is the same then.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
}

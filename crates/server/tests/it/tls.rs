//! TLS: encrypted for those who trust the certificate, which can be replaced.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use selvedge_server::{App, Options, StartError, TlsFiles};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::site::Site;

/// Makes a certificate and gives it as PEM.
fn issue(files: &TlsFiles) -> String {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(&files.cert, cert.pem()).unwrap();
    fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    cert.pem()
}

fn files(folder: &Path) -> TlsFiles {
    TlsFiles { cert: folder.join("cert.pem"), key: folder.join("key.pem") }
}

/// Asks a server whose certificate must be this one.
async fn ask(address: &str, trusted: &str) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let head = b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(head).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok(text)
}

#[tokio::test]
async fn certificates_are_replaced_while_it_serves() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let old = issue(&files);
    let options = Options { tls: Some(files.clone()), ..Options::default() };
    let (site, _) = Site::start_with(options, &[]).await;
    let address = site.url.strip_prefix("http://").unwrap();
    let text = ask(address, &old).await.unwrap();
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert!(text.contains("strict-transport-security: max-age="), "{text}");
    assert!(
        site.request(reqwest::Method::GET, "/health").send().await.is_err(),
        "not in the clear"
    );

    // A key that does not fit is not taken up; the old pair serves on.
    fs::write(&files.key, "nothing").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(1200)).await;
    assert!(ask(address, &old).await.is_ok());
    let new = issue(&files);
    while ask(address, &new).await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(ask(address, &old).await.is_err());
}

#[test]
fn a_certificate_that_cannot_be_used_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let files = files(folder.path());
    let start = || {
        let path = folder.path().join("s.db");
        let store = selvedge_store::Store::open(&path, selvedge_store::Options::default()).unwrap();
        App::new(store, Options { tls: Some(files.clone()), ..Options::default() }).map(|_| ())
    };
    assert!(matches!(start(), Err(StartError::Tls(_))), "no files");
    issue(&files);
    start().unwrap();
    fs::write(&files.cert, "").unwrap();
    let error = start().unwrap_err().to_string();
    assert!(error.ends_with("cert.pem has no certificate"), "{error}");
}

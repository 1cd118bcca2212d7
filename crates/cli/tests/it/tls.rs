//! Commands over HTTPS: only with a server that is trusted, by the system or by `--ca`.

use std::process::Command;

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::server::Server;
use crate::{Folder, Run, run, selvedge};

#[test]
fn a_server_is_trusted_by_its_authority_and_not_otherwise() {
    let folder = Folder::new("tls");
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let cert = folder.file("cert.pem", cert.pem().as_bytes());
    let key = folder.file("key.pem", signing_key.serialize_pem().as_bytes());
    let db = folder.path("s.db");
    let server = Server::start_with(&[
        "--listen",
        "127.0.0.1:0",
        "--db",
        &db,
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
    ]);
    let port = server.url.rsplit(':').next().unwrap();
    assert!(server.url.starts_with("https://"), "{}", server.url);
    let url = &format!("https://localhost:{port}");
    let append = |args: &[&str], env: &[(&str, &str)]| -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_selvedge"));
        command.args(["import", "--from", "envelope", "--url", url]).args(args);
        command.env_remove("SELVEDGE_CA").envs(env.iter().copied());
        run(&mut command, br#"{"protocol":"multiagent-1.0","role":"user","timestamp":"2026-01-01T00:00:00Z","content":{"type":"text","text":"hi"}}"#)
    };

    for trusting in [
        append(&["--thread", "a", "--ca", &cert], &[]),
        append(&["--thread", "b"], &[("SELVEDGE_CA", &cert)]),
        // Where the system keeps its own.
        append(&["--thread", "c"], &[("SSL_CERT_FILE", &cert)]),
    ] {
        assert_eq!(trusting.code, Some(0), "{}", trusting.stderr);
    }
    let followed = ["tail", "a", "--no-follow", "--url", url, "--ca", &cert];
    assert!(selvedge(&followed).stdout.contains("hi"));

    let stranger = append(&["--thread", "d"], &[]);
    assert_eq!(stranger.code, Some(2));
    assert!(stranger.stderr.contains("certificate is not trusted"), "{}", stranger.stderr);
    // It is for `localhost` only; and following it does not try for ever.
    let other = selvedge(&["tail", "a", "--url", &server.url, "--ca", &cert]);
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("not valid for name"), "{}", other.stderr);

    let nothing = folder.file("none.pem", b"nothing");
    for bad in [nothing.as_str(), key.as_str(), "no-such-file"] {
        let refused = append(&["--thread", "d", "--ca", bad], &[]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{bad}");
        assert!(refused.stderr.contains("--ca"), "{}", refused.stderr);
    }
}

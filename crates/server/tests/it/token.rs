//! Tokens: taken when the right one signed them, for us, now; and never otherwise.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use axum::Router;
use axum::routing::get;
use reqwest::Method;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use selvedge_server::{App, KeySet, Options, TokenOptions};
use selvedge_store::Store;
use serde_json::{Value, json};

use crate::site::{Frames, Site, host};

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (24 - 8 * chunk.len());
        for i in 0..=chunk.len() {
            out.push(LETTERS[(bits >> (18 - 6 * i)) as usize & 63] as char);
        }
    }
    out
}

/// Signs tokens.
enum Issuer {
    Ed(Ed25519KeyPair),
    Ec(EcdsaKeyPair),
}

impl Issuer {
    fn ed() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).unwrap())
    }

    fn ec() -> Self {
        let (random, kind) = (SystemRandom::new(), &ECDSA_P256_SHA256_FIXED_SIGNING);
        let pkcs8 = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::Ec(EcdsaKeyPair::from_pkcs8(kind, pkcs8.as_ref(), &random).unwrap())
    }

    fn jwk(&self, kid: &str) -> Value {
        match self {
            Self::Ed(key) => {
                let x = base64(key.public_key().as_ref());
                json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "alg": "EdDSA", "x": x})
            }
            Self::Ec(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = (base64(&point[1..33]), base64(&point[33..]));
                json!({"kty": "EC", "crv": "P-256", "kid": kid, "use": "sig", "x": x, "y": y})
            }
        }
    }

    fn token(&self, header: Value, claims: &Value) -> String {
        let parts = [header.to_string(), claims.to_string()];
        let message = parts.map(|part| base64(part.as_bytes())).join(".");
        let signature = match self {
            Self::Ed(key) => key.sign(message.as_bytes()).as_ref().to_vec(),
            Self::Ec(key) => {
                key.sign(&SystemRandom::new(), message.as_bytes()).unwrap().as_ref().to_vec()
            }
        };
        format!("{message}.{}", base64(&signature))
    }
}

fn seconds() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    now.as_secs() as i64
}

fn claims(with: Value) -> Value {
    let mut claims = json!({
        "iss": "https://login.example", "aud": ["selvedge", "more"], "sub": "ada",
        "tenant": "acme", "scope": "read write profile", "exp": seconds() + 300,
    });
    let members = claims.as_object_mut().unwrap();
    for (name, value) in with.as_object().unwrap() {
        match value {
            Value::Null => members.remove(name),
            value => members.insert(name.clone(), value.clone()),
        };
    }
    claims
}

fn options(jwks: KeySet) -> Options {
    let tokens = TokenOptions {
        jwks,
        issuer: "https://login.example".to_owned(),
        audience: "selvedge".to_owned(),
    };
    Options { tokens: Some(tokens), strangers: 100_000, ..Options::default() }
}

async fn site(jwks: &Path) -> Site {
    Site::start_with(options(KeySet::File(jwks.to_owned())), &[]).await.0
}

#[tokio::test]
async fn a_token_is_taken_if_and_only_if_it_is_right_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let jwks = folder.path().join("jwks.json");
    let (ed, ec, stranger) = (Issuer::ed(), Issuer::ec(), Issuer::ed());
    let shared = json!({"kty": "oct", "kid": "shared", "k": base64(b"secret")});
    let set = json!({"keys": [ed.jwk("ed"), ec.jwk("ec"), shared]});
    fs::write(&jwks, set.to_string()).unwrap();
    let site = site(&jwks).await;
    let is = |alg: &str, kid: &str| json!({"typ": "JWT", "alg": alg, "kid": kid});
    let ok = claims(json!({}));
    let ed_with = |with| ed.token(is("EdDSA", "ed"), &claims(with));
    let path = "/api/threads/none";
    for (what, token, status) in [
        ("Ed25519", ed.token(is("EdDSA", "ed"), &ok), 404),
        ("P-256", ec.token(is("ES256", "ec"), &ok), 404),
        ("audience alone", ed_with(json!({"aud": "selvedge"})), 404),
        ("scopes as a list", ed_with(json!({"scope": null, "scp": ["read"]})), 404),
        ("clocks differ", ed_with(json!({"exp": seconds() - 5})), 404),
        ("other scope", ed_with(json!({"scope": "write"})), 403),
        ("no scope", ed_with(json!({"scope": null})), 403),
        ("stranger", stranger.token(is("EdDSA", "ed"), &ok), 401),
        ("unknown key", ed.token(is("EdDSA", "zz"), &ok), 401),
        ("no key named", ed.token(json!({"alg": "EdDSA"}), &ok), 401),
        ("another's key", ed.token(is("EdDSA", "ec"), &ok), 401),
        ("another algorithm", ec.token(is("ES384", "ec"), &ok), 401),
        ("no algorithm", ed.token(is("none", "ed"), &ok), 401),
        ("a shared secret", ed.token(is("HS256", "shared"), &ok), 401),
        ("public key as secret", ed.token(is("HS256", "ed"), &ok), 401),
        ("expired", ed_with(json!({"exp": seconds() - 60})), 401),
        ("never ends", ed_with(json!({"exp": null})), 401),
        ("not yet", ed_with(json!({"nbf": seconds() + 120})), 401),
        ("other issuer", ed_with(json!({"iss": "https://evil.example"})), 401),
        ("no issuer", ed_with(json!({"iss": null})), 401),
        ("other audience", ed_with(json!({"aud": "other"})), 401),
        ("no audience", ed_with(json!({"aud": null})), 401),
        ("no tenant", ed_with(json!({"tenant": null})), 401),
        ("empty tenant", ed_with(json!({"tenant": ""})), 401),
        ("no subject", ed_with(json!({"sub": null})), 401),
    ] {
        let (got, body) = site.ask(Method::GET, path, &token).await;
        assert_eq!(got.as_u16(), status, "{what}: {body}");
        let changed = token.replacen(['a', 'b', 'c', 'd', 'e'], "z", 3);
        let (got, _) = site.ask(Method::GET, path, &changed).await;
        assert_eq!(got.as_u16(), 401, "{what}, changed");
    }
}

#[tokio::test]
async fn the_key_set_can_be_replaced_and_streams_end_with_their_token() {
    let folder = tempfile::tempdir().unwrap();
    let jwks = folder.path().join("jwks.json");
    let (old, new) = (Issuer::ed(), Issuer::ec());
    fs::write(&jwks, json!({"keys": [old.jwk("a")]}).to_string()).unwrap();
    let site = site(&jwks).await;
    let brief = claims(json!({"exp": seconds() - 24}));
    let brief = old.token(json!({"alg": "EdDSA"}), &brief);
    let request = site.request(Method::POST, "/api/threads").bearer_auth(&brief);
    assert_eq!(request.body(r#"{"id":"t"}"#).send().await.unwrap().status().as_u16(), 201);
    let request = site.request(Method::GET, "/api/threads/t/stream").bearer_auth(&brief);
    let mut stream = Frames::open(request).await;
    stream.until_caught_up().await;
    assert_eq!(stream.next().await.data()["reason"], "expired");
    stream.ends().await;

    let ok = claims(json!({}));
    let (was, is) =
        (old.token(json!({"alg": "EdDSA"}), &ok), new.token(json!({"alg": "ES256"}), &ok));
    fs::write(&jwks, "broken").unwrap();
    assert_eq!(site.ask(Method::GET, "/api/threads/t", &was).await.0.as_u16(), 200);
    fs::write(&jwks, json!({"keys": [new.jwk("b")]}).to_string()).unwrap();
    while site.ask(Method::GET, "/api/threads/t", &is).await.0.as_u16() != 200 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!(site.ask(Method::GET, "/api/threads/t", &was).await.0.as_u16(), 401);
}

#[tokio::test]
async fn a_key_set_at_an_address_is_fetched_at_the_start_and_when_a_key_is_missing() {
    let (old, new) = (Issuer::ed(), Issuer::ec());
    let keys = Arc::new(Mutex::new(json!({"keys": [old.jwk("a")]}).to_string()));
    let shown = keys.clone();
    let show = move || async move { shown.lock().unwrap().clone() };
    let url = host(Router::new().route("/jwks.json", get(show))).await;
    let at = |path: &str| options(KeySet::Url(format!("{url}{path}")));
    let site = Site::start_with(at("/jwks.json"), &[]).await.0;
    let ok = claims(json!({}));
    let was = old.token(json!({"alg": "EdDSA", "kid": "a"}), &ok);
    let is = new.token(json!({"alg": "ES256", "kid": "b"}), &ok);
    let ask =
        async |token: &str| site.ask(Method::GET, "/api/threads/none", token).await.0.as_u16();
    assert_eq!((ask(&was).await, ask(&is).await), (404, 401));
    *keys.lock().unwrap() = json!({"keys": [new.jwk("b")]}).to_string();
    while ask(&is).await == 401 {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!((ask(&was).await, ask(&is).await), (401, 404));

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let store = Store::open(&path, selvedge_store::Options::default()).unwrap();
    let app = App::new(store, at("/nothing")).unwrap();
    let error = app.prepare().await.unwrap_err().to_string();
    assert!(
        error.starts_with("cannot fetch the key set http://") && error.contains("404"),
        "{error}"
    );
}

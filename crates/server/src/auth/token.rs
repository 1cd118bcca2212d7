//! Tokens of users: JWTs, signed by someone whose public keys are in a file or at an address.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use std::{fmt, fs};

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{DecodingKey, TokenData, Validation, decode, decode_header};
use serde_json::Value;

use super::{Pass, Principal, Scope, provider};
use crate::{Error, ErrorCode};

/// Clocks may differ by so many seconds.
const LEEWAY: u64 = 30;
/// How long fetching a key set may take, and how large it may be.
const FETCH: Duration = Duration::from_secs(10);
const SET_BYTES: usize = 1 << 20;

/// Whose tokens are taken.
#[derive(Debug, Clone)]
pub struct TokenOptions {
    /// Where the public keys are, a JSON Web Key Set.
    pub jwks: KeySet,
    /// What `iss` must say.
    pub issuer: String,
    /// What `aud` must say, or name among others.
    pub audience: String,
}

/// Where a JSON Web Key Set is.
#[derive(Debug, Clone)]
pub enum KeySet {
    /// In a file, which is read again when it changes.
    File(PathBuf),
    /// At an address, which is asked again from time to time and when a key is missing.
    Url(String),
}

impl fmt::Display for KeySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Url(url) => f.write_str(url),
        }
    }
}

/// Why tokens cannot be checked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum TokenError {
    #[error("cannot read the key set {place}: {cause}")]
    Read { place: String, cause: std::io::Error },
    #[error("cannot fetch the key set {place}: {cause}")]
    Fetch { place: String, cause: String },
    #[error("{place} is not a JSON Web Key Set: {cause}")]
    NotKeys { place: String, cause: serde_json::Error },
    #[error("{place} has no public key that can be used (RSA, P-256, P-384 or Ed25519)")]
    NoKeys { place: String },
}

/// Checks tokens.
pub(crate) struct Tokens {
    options: TokenOptions,
    changed: Option<SystemTime>,
    keys: Vec<(Jwk, DecodingKey)>,
    validation: Validation,
    /// Whether a token named a key that is not there.
    missed: AtomicBool,
}

impl Tokens {
    /// Reads the key set of a file; one at an address is empty until it is fetched.
    pub(crate) fn open(options: TokenOptions) -> Result<Self, TokenError> {
        let path = match &options.jwks {
            KeySet::File(path) => path,
            KeySet::Url(_) => return Ok(Self::new(options, None, Vec::new())),
        };
        let changed = changed(path);
        let text = fs::read(path)
            .map_err(|cause| TokenError::Read { place: options.jwks.to_string(), cause })?;
        let keys = keys(&options.jwks, &text)?;
        Ok(Self::new(options, changed, keys))
    }

    fn new(
        options: TokenOptions,
        changed: Option<SystemTime>,
        keys: Vec<(Jwk, DecodingKey)>,
    ) -> Self {
        provider::install();
        // Which algorithms are taken depends on the key, later.
        let mut validation = Validation {
            algorithms: Vec::new(),
            leeway: LEEWAY,
            validate_nbf: true,
            ..Validation::default()
        };
        validation.set_issuer(&[&options.issuer]);
        validation.set_audience(&[&options.audience]);
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        Self { options, changed, keys, validation, missed: AtomicBool::new(false) }
    }

    /// The key set as it is now, if it changed and is sound.
    pub(super) fn reloaded(&self) -> Option<Self> {
        let KeySet::File(path) = &self.options.jwks else { return None };
        if changed(path) == self.changed {
            return None;
        }
        match Self::open(self.options.clone()) {
            Ok(tokens) => Some(tokens),
            Err(error) => {
                tracing::warn!(%error, "the key set changed and is not used");
                None
            }
        }
    }

    /// Where to fetch the key set, if it is at an address.
    pub(super) fn address(&self) -> Option<&str> {
        match &self.options.jwks {
            KeySet::File(_) => None,
            KeySet::Url(url) => Some(url),
        }
    }

    /// Whether a token named a key that is not there.
    pub(super) fn missed(&self) -> bool {
        self.missed.load(Ordering::Relaxed)
    }

    /// The same with the key set as it is at its address now.
    pub(super) async fn fetched(&self) -> Result<Self, TokenError> {
        let place = &self.options.jwks;
        let text = fetch(&place.to_string())
            .await
            .map_err(|cause| TokenError::Fetch { place: place.to_string(), cause })?;
        Ok(Self::new(self.options.clone(), None, keys(place, &text)?))
    }

    /// Whoever a token is for.
    pub(super) fn principal(&self, token: &str) -> Result<Principal, Error> {
        // Why a token is refused is for the log of whoever made it, not for whoever sends it.
        let claims = self.claims(token).ok_or_else(|| refuse("the token is not valid"))?;
        let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|t| !t.is_empty());
        let tenant = text("tenant").ok_or_else(|| refuse("the token has no claim `tenant`"))?;
        let subject = text("sub").ok_or_else(|| refuse("the token has no claim `sub`"))?;
        let scopes: Arc<[Scope]> = match claims.get("scope").or_else(|| claims.get("scp")) {
            Some(Value::String(list)) => list.split(' ').filter_map(Scope::named).collect(),
            Some(Value::Array(list)) => {
                list.iter().filter_map(Value::as_str).filter_map(Scope::named).collect()
            }
            _ => Arc::new([]),
        };
        let name = format!("{tenant}/{subject}");
        let mut principal = Principal::new(tenant.into(), scopes, name.into(), Pass::Token);
        principal.subject = Some(subject.into());
        let end = claims.get("exp").and_then(Value::as_f64).unwrap_or(0.0);
        principal.expires = Some((end as i64).saturating_add(LEEWAY as i64).saturating_mul(1000));
        Ok(principal)
    }

    fn claims(&self, token: &str) -> Option<Value> {
        let header = decode_header(token).ok()?;
        let key = match &header.kid {
            Some(kid) => {
                let named =
                    self.keys.iter().find(|(jwk, _)| jwk.common.key_id.as_ref() == Some(kid));
                if named.is_none() {
                    self.missed.store(true, Ordering::Relaxed);
                }
                named?
            }
            // Without a name, only where there is no choice.
            None if self.keys.len() == 1 => self.keys.first()?,
            None => return None,
        };
        let named = key.0.common.key_algorithm.map(|own| own.to_string());
        if named.is_some_and(|own| own != format!("{:?}", header.alg)) {
            return None;
        }
        let mut validation = self.validation.clone();
        let taken = provider::ALGORITHMS.iter().filter(|a| a.family() == key.1.family());
        validation.algorithms = taken.copied().collect();
        decode(token, &key.1, &validation).ok().map(|data: TokenData<Value>| data.claims)
    }
}

/// The keys of a set that can be used.
fn keys(place: &KeySet, text: &[u8]) -> Result<Vec<(Jwk, DecodingKey)>, TokenError> {
    let set: JwkSet = serde_json::from_slice(text)
        .map_err(|cause| TokenError::NotKeys { place: place.to_string(), cause })?;
    let keys: Vec<_> = set.keys.into_iter().filter_map(usable).collect();
    if keys.is_empty() {
        return Err(TokenError::NoKeys { place: place.to_string() });
    }
    Ok(keys)
}

/// What is at an address, within bounds.
async fn fetch(url: &str) -> Result<Vec<u8>, String> {
    let told = |error: reqwest::Error| {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(next) = cause {
            text.push_str(&format!(": {next}"));
            cause = next.source();
        }
        text
    };
    crate::tls::install();
    let client = reqwest::Client::builder().timeout(FETCH).build().map_err(told)?;
    let sent = client.get(url).send().await.and_then(reqwest::Response::error_for_status);
    let mut response = sent.map_err(told)?;
    let mut text = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(told)? {
        if text.len() + chunk.len() > SET_BYTES {
            return Err(format!("it is larger than {SET_BYTES} bytes"));
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

/// A public key for signatures.
fn usable(jwk: Jwk) -> Option<(Jwk, DecodingKey)> {
    let public =
        !matches!(jwk.algorithm, AlgorithmParameters::OctetKey(_) | AlgorithmParameters::Other(_));
    let signs = jwk.common.public_key_use.as_ref().is_none_or(|u| *u == PublicKeyUse::Signature);
    let key = DecodingKey::from_jwk(&jwk).ok().filter(|_| public && signs)?;
    Some((jwk, key))
}

fn changed(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

fn refuse(message: &str) -> Error {
    Error::new(ErrorCode::Unauthorized, message)
}

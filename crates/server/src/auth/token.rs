//! Tokens of users: JWTs, signed by someone whose public keys are in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{DecodingKey, TokenData, Validation, decode, decode_header};
use serde_json::Value;

use super::{Pass, Principal, Scope, provider};
use crate::{Error, ErrorCode};

/// Clocks may differ by so many seconds.
const LEEWAY: u64 = 30;

/// Whose tokens are taken.
#[derive(Debug, Clone)]
pub struct TokenOptions {
    /// The file with the public keys, a JSON Web Key Set. Read again when it changes.
    pub jwks: PathBuf,
    /// What `iss` must say.
    pub issuer: String,
    /// What `aud` must say, or name among others.
    pub audience: String,
}

/// Why tokens cannot be checked.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum TokenError {
    #[error("cannot read the key set {path}: {cause}")]
    Read { path: String, cause: std::io::Error },
    #[error("{path} is not a JSON Web Key Set: {cause}")]
    NotKeys { path: String, cause: serde_json::Error },
    #[error("{path} has no public key that can be used (RSA, P-256, P-384 or Ed25519)")]
    NoKeys { path: String },
}

/// Checks tokens.
pub(crate) struct Tokens {
    options: TokenOptions,
    changed: Option<SystemTime>,
    keys: Vec<(Jwk, DecodingKey)>,
    validation: Validation,
}

impl Tokens {
    /// Reads the key set.
    pub(crate) fn open(options: TokenOptions) -> Result<Self, TokenError> {
        provider::install();
        let path = || options.jwks.display().to_string();
        let changed = changed(&options.jwks);
        let text =
            fs::read(&options.jwks).map_err(|cause| TokenError::Read { path: path(), cause })?;
        let set: JwkSet = serde_json::from_slice(&text)
            .map_err(|cause| TokenError::NotKeys { path: path(), cause })?;
        let keys: Vec<_> = set.keys.into_iter().filter_map(usable).collect();
        if keys.is_empty() {
            return Err(TokenError::NoKeys { path: path() });
        }
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
        Ok(Self { options, changed, keys, validation })
    }

    /// The key set as it is now, if it changed and is sound.
    pub(super) fn reloaded(&self) -> Option<Self> {
        if changed(&self.options.jwks) == self.changed {
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
                self.keys.iter().find(|(jwk, _)| jwk.common.key_id.as_ref() == Some(kid))?
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

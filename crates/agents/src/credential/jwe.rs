//! Credentials on their way: compact JWE, `ECDH-ES` and `A256GCM` on P-256, with the claims in the
//! protected header.
//!
//! Invariant: nothing but these algorithms is tried, and no error says anything of what is inside.

use std::fmt;

use p256::elliptic_curve::sec1::{FromEncodedPoint as _, ToEncodedPoint as _};
use p256::{EncodedPoint, PublicKey, SecretKey};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{Context, SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use selvedge_protocol::base64::{self, Alphabet};
use serde_json::{Value, json};

use super::LIFE;

/// Bytes of a whole JWE.
const LONGEST: usize = 16 << 10;
/// Seconds that clocks may differ.
const SKEW: i64 = 60;
const ENC: &str = "A256GCM";

/// A key pair for one request.
pub struct Pair(SecretKey);

/// No random numbers, or no such key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no key could be made")]
pub struct NoKey;

/// What a JWE must be for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims<'a> {
    /// The request.
    pub auth: &'a str,
    /// The thread.
    pub context: &'a str,
    /// The agent that asked, where that is known.
    pub agent: Option<&'a str>,
}

/// Why a JWE is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages tell")]
pub enum Refused {
    #[error("the JWE is longer than {LONGEST} bytes")]
    TooLong,
    #[error("this is no compact JWE with a protected header")]
    NotJwe,
    #[error("`{0}` of the protected header is not what is taken here")]
    Header(&'static str),
    #[error("`{0}` of the protected header is not that of the request")]
    Claim(&'static str),
    #[error("the JWE is from the future, too old, or lasts longer than 15 minutes")]
    Time,
    #[error("the JWE cannot be decrypted with the key of the request")]
    Undecryptable,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair")
    }
}

impl Pair {
    /// A new pair.
    pub fn new() -> Result<Self, NoKey> {
        let mut bytes = [0; 32];
        // Of 2^32 tries, one gives no key.
        for _ in 0..8 {
            SystemRandom::new().fill(&mut bytes).map_err(|_| NoKey)?;
            if let Ok(pair) = Self::read(&bytes) {
                return Ok(pair);
            }
        }
        Err(NoKey)
    }

    /// The pair of a private key.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, NoKey> {
        SecretKey::from_slice(bytes).map(Self).map_err(|_| NoKey)
    }

    /// The private key.
    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.to_bytes().to_vec()
    }

    /// The public key, as a JWK.
    pub fn jwk(&self) -> Value {
        let point = self.0.public_key().to_encoded_point(false);
        let part = |bytes: Option<&p256::FieldBytes>| bytes.map(|bytes| encode(bytes));
        let kid = digest(&SHA256, point.as_bytes());
        let kid = kid.as_ref().get(..12).map(encode).unwrap_or_default();
        json!({
            "kty": "EC",
            "crv": "P-256",
            "x": part(point.x()),
            "y": part(point.y()),
            "kid": kid,
            "alg": "ECDH-ES",
            "use": "enc",
        })
    }

    /// What is in a JWE, if it is for this and now, in seconds since 1970.
    pub fn open(&self, jwe: &str, claims: &Claims<'_>, now: i64) -> Result<Vec<u8>, Refused> {
        if jwe.len() > LONGEST {
            return Err(Refused::TooLong);
        }
        let parts: Vec<&str> = jwe.split('.').collect();
        let [protected, "", iv, body, tag] = parts[..] else { return Err(Refused::NotJwe) };
        let header = decode(protected).and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(header @ Value::Object(_)) = header else { return Err(Refused::NotJwe) };
        let (iv, body, tag) = match (decode(iv), decode(body), decode(tag)) {
            (Some(iv), Some(body), Some(tag)) => (iv, body, tag),
            _ => return Err(Refused::NotJwe),
        };
        self.judge(&header, claims, now)?;
        let key = self.agree(&header)?;
        let nonce = <[u8; NONCE_LEN]>::try_from(iv).map_err(|_| Refused::NotJwe)?;
        if tag.len() != AES_256_GCM.tag_len() {
            return Err(Refused::NotJwe);
        }
        let mut sealed = [body, tag].concat();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let text = key.open_in_place(nonce, Aad::from(protected.as_bytes()), &mut sealed);
        Ok(text.map_err(|_| Refused::Undecryptable)?.to_vec())
    }

    /// Whether a header says what it must.
    fn judge(&self, header: &Value, claims: &Claims<'_>, now: i64) -> Result<(), Refused> {
        for (name, only) in [("alg", "ECDH-ES"), ("enc", ENC)] {
            if header.get(name).and_then(Value::as_str) != Some(only) {
                return Err(Refused::Header(name));
            }
        }
        // What must be understood is not, and what is packed may unpack to anything.
        for name in ["crit", "zip"] {
            if header.get(name).is_some() {
                return Err(Refused::Header(name));
            }
        }
        let own = self.jwk();
        let wanted = [
            ("authId", Some(claims.auth), true),
            ("contextId", Some(claims.context), true),
            ("agentId", claims.agent, false),
            ("kid", own.get("kid").and_then(Value::as_str), false),
        ];
        for (name, wanted, must) in wanted {
            match header.get(name) {
                None if !must => {}
                Some(given) if given.as_str().is_some() && given.as_str() == wanted => {}
                _ => return Err(Refused::Claim(name)),
            }
        }
        let time = |name: &str| header.get(name).and_then(Value::as_i64);
        let (Some(from), Some(until)) = (time("iat"), time("exp")) else {
            return Err(Refused::Time);
        };
        let lasts = until.saturating_sub(from);
        let most = i64::try_from(LIFE.as_secs()).unwrap_or(i64::MAX);
        let fits = from <= now.saturating_add(SKEW) && until > now && (1..=most).contains(&lasts);
        if fits { Ok(()) } else { Err(Refused::Time) }
    }

    /// The key that both sides have.
    fn agree(&self, header: &Value) -> Result<LessSafeKey, Refused> {
        let bad = Refused::Header("epk");
        let epk = header.get("epk").ok_or(bad.clone())?;
        let text = |name: &str| epk.get(name).and_then(Value::as_str);
        if text("kty") != Some("EC") || text("crv") != Some("P-256") {
            return Err(bad);
        }
        let part = |name| text(name).and_then(decode).and_then(|b| <[u8; 32]>::try_from(b).ok());
        let (Some(x), Some(y)) = (part("x"), part("y")) else { return Err(bad) };
        let point = EncodedPoint::from_affine_coordinates(&x.into(), &y.into(), false);
        // Refuses what is not on the curve.
        let peer = Option::<PublicKey>::from(PublicKey::from_encoded_point(&point)).ok_or(bad)?;
        let shared = p256::ecdh::diffie_hellman(self.0.to_nonzero_scalar(), peer.as_affine());
        let info = |name: &'static str| match header.get(name) {
            None => Ok(Vec::new()),
            Some(value) => value.as_str().and_then(decode).ok_or(Refused::Header(name)),
        };
        let (apu, apv) = (info("apu")?, info("apv")?);
        let key = derive(shared.raw_secret_bytes(), &apu, &apv);
        let key =
            UnboundKey::new(&AES_256_GCM, key.as_ref()).map_err(|_| Refused::Undecryptable)?;
        Ok(LessSafeKey::new(key))
    }
}

/// Concat KDF of RFC 7518, 4.6.2: one round is enough for 256 bits.
fn derive(shared: &[u8], apu: &[u8], apv: &[u8]) -> ring::digest::Digest {
    let mut hash = Context::new(&SHA256);
    hash.update(&1_u32.to_be_bytes());
    hash.update(shared);
    for part in [ENC.as_bytes(), apu, apv] {
        hash.update(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.update(&256_u32.to_be_bytes());
    hash.finish()
}

fn encode(bytes: &[u8]) -> String {
    base64::encode(bytes, Alphabet::UrlSafe).trim_end_matches('=').to_owned()
}

/// Base64 as JOSE has it: the other alphabet and padding would make two texts of one JWE.
fn decode(text: &str) -> Option<Vec<u8>> {
    Some(text).filter(|text| !text.contains(['+', '/', '='])).and_then(base64::decode)
}

/// Encrypts as a user's client does.
pub fn encrypt(text: &[u8], to: &Value, header: Value) -> Option<String> {
    let part = |name: &str| {
        let text = to.get(name).and_then(Value::as_str)?;
        <[u8; 32]>::try_from(decode(text)?).ok()
    };
    let point =
        EncodedPoint::from_affine_coordinates(&part("x")?.into(), &part("y")?.into(), false);
    let peer = Option::<PublicKey>::from(PublicKey::from_encoded_point(&point))?;
    let own = Pair::new().ok()?;
    let shared = p256::ecdh::diffie_hellman(own.0.to_nonzero_scalar(), peer.as_affine());
    let key = derive(shared.raw_secret_bytes(), &[], &[]);
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).ok()?);
    let jwk = own.jwk();
    let mut header = header;
    header["epk"] = json!({"kty": "EC", "crv": "P-256", "x": jwk["x"], "y": jwk["y"]});
    for (name, usual) in [("alg", "ECDH-ES"), ("enc", ENC)] {
        if header.get(name).is_none() {
            header[name] = json!(usual);
        }
    }
    let protected = encode(header.to_string().as_bytes());
    let mut nonce = [0; NONCE_LEN];
    SystemRandom::new().fill(&mut nonce).ok()?;
    let mut body = text.to_vec();
    let aad = Aad::from(protected.as_bytes());
    let tag =
        key.seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), aad, &mut body).ok()?;
    Some(format!("{protected}..{}.{}.{}", encode(&nonce), encode(&body), encode(tag.as_ref())))
}

#[cfg(test)]
#[path = "jwe_tests.rs"]
mod tests;

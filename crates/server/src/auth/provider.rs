//! Signatures of tokens, checked by the library that TLS uses too.
//!
//! Only public keys: a secret that both sides share would let every reader of the key set make
//! tokens.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{self as with, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// The algorithms that are taken.
pub(super) const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
    Algorithm::ES256,
    Algorithm::ES384,
    Algorithm::EdDSA,
];

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    // For making keys, which is not done here.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes sure that signatures are checked here.
pub(super) fn install() {
    // It can be there already; it is the same then.
    let _ = PROVIDER.install_default();
}

fn signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if !ALGORITHMS.contains(algorithm) || key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    Ok(Box::new(Check { algorithm: *algorithm, key: key.clone() }))
}

struct Check {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtVerifier for Check {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Check {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let valid = match (self.key.kind(), rsa(self.algorithm), curve(self.algorithm)) {
            (DecodingKeyKind::RsaModulusExponent { n, e }, Some(parameters), _) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (DecodingKeyKind::SecretOrDer(point), _, Some(curve)) => {
                UnparsedPublicKey::new(curve, point).verify(message, signature)
            }
            _ => return Err(Error::new()),
        };
        valid.map_err(|_| Error::new())
    }
}

fn rsa(algorithm: Algorithm) -> Option<&'static RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &with::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &with::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &with::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &with::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &with::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &with::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn curve(algorithm: Algorithm) -> Option<&'static dyn with::VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => &with::ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &with::ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &with::ED25519,
        _ => return None,
    })
}

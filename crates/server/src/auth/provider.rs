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

#[cfg(test)]
mod tests {
    use jsonwebtoken::crypto::verify;

    use super::*;

    // Made with OpenSSL; the private key is gone.
    const MODULUS: &str = "\
        1NZLZCP_ZHBAKYs2VYl2tWeKRnTObvAJwH4DV9asMOSE0pGbLcmB8sTEcKtJnz2DLr4v3Q5zkvNmKhj54foCAi2pXf\
        QJX-d85ZUkQEAlg7Uu6kYJfGEO9aurzWREnBgHNNe5DwTaB3lmOyxT4yWmTGpWNSjqbGCET-\
        3mmWf82aP4bNDq6_Y57KCtXFoyLj60-\
        sRjLpaEjiFxUoWJ2AgjVVZ8jLRBMkaxLt6XA0DJyXe66mmZ4gum0QmfLdbJruNWTS1Oa2W3qU_5ENmfuZXQRKRnM3g\
        -B2F1sUPDO-MKREl2onGzFcoKkzC0nsNGqdZoftvEC5mW0UJPWB8mgHW3Uw";
    const RS256: &str = "\
        ubcuhl65pVOO6SDMPw58d2-js8M57kJDmIBSRA1riJIvRCisc013_c7Zfqv1GhBIiRGnsTFroS0OIFvOUxsm6-\
        HdeZ5oPEui-tA7FOtuVTFxRZDXlae4qLWkPITVZkK-2fgH8SKtY1mQNXrwPtaic1I2BeHqyLBZfphQzA7vyER4cbH-\
        0b2biy2-\
        rapEpWY6hol9l9knValTFMzH06nmwtSuajML4qwXtlgEUNQNzWYAgXi5EGicUUdGUpSpEHE9hERwMDby0dOuTyRFHK\
        0PrIpn6edtL9Co0yrS7xqF14YtlMnOzrL5W822t9K9kUv_NafC8AunaPmDvT45wL9Q7A";
    const PS384: &str = "\
        bN86iOS-AQ5Y1erjVH1tSwTqMQEPX-\
        cHgcP98OEbxpudfm7VnFs1GHsq93f6ilgiqsBYJ_HxcHUyDdW4aj7p6AAWaGi-sGZXlsMmVBTfFrNjQEa7LMjQvvMF\
        CLwI3Jccy9F8LMcoYH35aYz5WJYvd2lpW64tkMDB_DD32CXu7EaL4bn1j4_74w5EiHb7svD7E3JRCIwCoooYxSncoG\
        zgBYklxUcOULzu6pK2N6bvRz60JY7xULjKhq-qcpXyyDc0GrmiQO8o8gpkxxPQLqPhDQFeS6BTAcEwO2gm0w51TiDx\
        b1XeYSqa8ZLFTe5dpZF7PEeRJBt4HQs7IJWO6qOq2w";

    #[test]
    fn signatures_by_rsa_are_told_apart() {
        install();
        let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
        let valid = |text: &[u8], signature: &str, algorithm| {
            verify(signature, text, &key, algorithm).unwrap_or(false)
        };
        assert!(valid(b"e30.e30", RS256, Algorithm::RS256));
        assert!(valid(b"e30.e30", PS384, Algorithm::PS384));
        assert!(!valid(b"e30.e31", RS256, Algorithm::RS256));
        assert!(!valid(b"e30.e30", RS256, Algorithm::RS512));
        assert!(!valid(b"e30.e30", PS384, Algorithm::RS384));
        assert!(!valid(b"e30.e30", RS256, Algorithm::ES256));
        assert!(!valid(b"e30.e30", RS256, Algorithm::HS256));
    }
}

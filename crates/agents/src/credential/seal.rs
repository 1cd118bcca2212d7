//! Sealing what is kept: AES-256-GCM with a key that is not in the store's file.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{Context, SHA256};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Bytes of a secret: fewer can be guessed, more are no secret.
const SECRET: std::ops::RangeInclusive<usize> = 32..=4096;
/// What a derived key is for, so that the same secret can serve others.
const PURPOSE: &[u8] = b"selvedge vault 1\0";

/// Seals and opens. What was sealed for one place opens for no other.
pub(super) struct Seal(LessSafeKey);

/// It is not what was sealed, or not with this key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Broken;

impl Seal {
    pub(super) fn new(secret: &[u8]) -> Result<Self, Broken> {
        let mut hash = Context::new(&SHA256);
        hash.update(PURPOSE);
        hash.update(secret);
        let key = UnboundKey::new(&AES_256_GCM, hash.finish().as_ref()).map_err(|_| Broken)?;
        Ok(Self(LessSafeKey::new(key)))
    }

    pub(super) fn seal(&self, place: &str, text: &[u8]) -> Result<Vec<u8>, Broken> {
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(|_| Broken)?;
        let mut body = text.to_vec();
        let aad = Aad::from(place.as_bytes());
        let once = Nonce::assume_unique_for_key(nonce);
        self.0.seal_in_place_append_tag(once, aad, &mut body).map_err(|_| Broken)?;
        Ok([&nonce[..], &body].concat())
    }

    pub(super) fn open(&self, place: &str, sealed: &[u8]) -> Result<Vec<u8>, Broken> {
        let (nonce, body) = sealed.split_at_checked(NONCE_LEN).ok_or(Broken)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Broken)?;
        let mut body = body.to_vec();
        let text = self.0.open_in_place(nonce, Aad::from(place.as_bytes()), &mut body);
        Ok(text.map_err(|_| Broken)?.to_vec())
    }
}

/// A secret from a file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(*SECRET.end() as u64 + 1).read_to_end(&mut bytes)?;
    let bytes = bytes.trim_ascii().to_vec();
    if !SECRET.contains(&bytes.len()) {
        let (least, most) = (SECRET.start(), SECRET.end());
        let message = format!("a secret has {least} to {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    Ok(bytes)
}

/// The secret beside a store's file; made if it is not there, for its owner alone.
pub(super) fn beside(store: &Path) -> io::Result<Vec<u8>> {
    let mut name = store.as_os_str().to_owned();
    name.push(".secret");
    let path = PathBuf::from(name);
    match read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        known => return known,
    }
    let mut random = [0; 32];
    SystemRandom::new().fill(&mut random).map_err(|_| io::Error::other("no random numbers"))?;
    let text: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    // Whole or not at all: whoever finds it reads all of it.
    let own = path.with_extension(format!("secret.{}", std::process::id()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&own)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    // Another process may have been faster; then its secret counts.
    let linked = fs::hard_link(&own, &path);
    fs::remove_file(&own)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => read(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_opens_in_its_place_and_with_its_key_only() {
        let seal = Seal::new(&[1; 32]).unwrap();
        let sealed = seal.seal("a", b"text").unwrap();
        assert_eq!(seal.open("a", &sealed).unwrap(), b"text");
        assert_eq!(seal.open("b", &sealed), Err(Broken));
        assert_eq!(Seal::new(&[2; 32]).unwrap().open("a", &sealed), Err(Broken));
        let mut bent = sealed.clone();
        bent[15] ^= 1;
        assert_eq!(seal.open("a", &bent), Err(Broken));
        assert_eq!(seal.open("a", &sealed[..5]), Err(Broken));
        assert_ne!(seal.seal("a", b"text").unwrap(), sealed);
    }

    #[test]
    fn the_secret_beside_a_store_is_made_once_and_for_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("s.db");
        let first = beside(&store).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(beside(&store).unwrap(), first);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(folder.path().join("s.db.secret")).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600);
        }
        fs::write(folder.path().join("short"), "x").unwrap();
        assert!(read(&folder.path().join("short")).is_err());
    }
}

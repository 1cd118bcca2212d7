//! The hash chain: `link(n) = H(link(n-1), body(n))`, where `body(n)` is the hash of an entry's line
//! and time.
//!
//! A link is over hashes, so an entry whose content was taken out or folded keeps the chain valid:
//! the hash of what was there stays, beside the hash of what stands there instead.

use bytes::Bytes;

use crate::Batch;

/// A hash of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Bytes of one.
    pub(crate) const BYTES: usize = 32;

    /// As hexadecimal digits.
    pub fn hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }

    /// The hash of those digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }

    /// Hashes one after the other; none if that is not what it is.
    pub(crate) fn list(bytes: &[u8]) -> Option<Vec<Self>> {
        let (hashes, rest) = bytes.as_chunks::<{ Self::BYTES }>();
        rest.is_empty().then(|| hashes.iter().map(|hash| Self(*hash)).collect())
    }
}

/// Whether appends are chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HashChain {
    /// They are not.
    #[default]
    Off,
    /// They are, from the first append on that finds it so.
    On,
}

/// The hash of an entry: when it was committed, its event, and its source.
pub fn body(at: i64, event: &[u8], source: Option<&[u8]>) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&at.to_le_bytes()).update(event);
    if let Some(source) = source {
        hasher.update(b"\t").update(source);
    }
    Digest(*hasher.finalize().as_bytes())
}

/// The link of an entry behind another.
pub fn link(before: Digest, body: Digest) -> Digest {
    let mut both = [0; 2 * Digest::BYTES];
    let (left, right) = both.split_at_mut(Digest::BYTES);
    left.copy_from_slice(&before.0);
    right.copy_from_slice(&body.0);
    Digest(*blake3::hash(&both).as_bytes())
}

/// What the first link of a journal follows: which journal it is, and where the chain begins.
pub(crate) fn beginning(epoch: u64, after: u64) -> Digest {
    let mut hasher = blake3::Hasher::new_derive_key("selvedge 2026-11 hash chain of a journal");
    hasher.update(&epoch.to_le_bytes()).update(&after.to_le_bytes());
    Digest(*hasher.finalize().as_bytes())
}

/// The hashes of a row's lines.
pub(crate) fn bodies(batch: &Batch) -> Vec<Digest> {
    let lines = batch.lines();
    lines.map(|(_, (event, source))| of_line(batch.at, event, source.as_ref())).collect()
}

/// The hash of a line.
pub(crate) fn of_line(at: i64, event: &Bytes, source: Option<&Bytes>) -> Digest {
    body(at, event, source.map(|source| &source[..]))
}

/// The last link of a row.
pub(crate) fn last(before: Digest, bodies: &[Digest]) -> Digest {
    bodies.iter().fold(before, |before, body| link(before, *body))
}

/// An entry with its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chained {
    /// The entry.
    pub entry: crate::Entry,
    /// What its link follows, and its link; none where nothing was chained.
    pub links: Option<(Digest, Digest)>,
    /// The hashes of what was there, where something else stands there now.
    pub were: Vec<Digest>,
}

//! Ids made from content, so that the same source always gives the same ids.

use sha2::{Digest as _, Sha256};

/// A UUID (version 8) made from text.
pub fn from_text(text: &str) -> String {
    use std::fmt::Write as _;
    let digest = Sha256::digest(text.as_bytes());
    let mut out = String::with_capacity(36);
    for (i, byte) in digest.iter().take(16).enumerate() {
        let byte = match i {
            6 => byte & 0x0f | 0x80,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        let _ = write!(out, "{byte:02x}");
    }
    out
}

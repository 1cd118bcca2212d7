//! Keys of providers.
//!
//! Invariant: a key never prints itself, and is no part of any message.

use std::fmt;
use std::sync::Arc;

use reqwest::header::HeaderValue;

/// The key of an account with a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Arc<str>);

/// A text that is no key: empty, or not of visible ASCII characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a key is visible ASCII text")]
pub struct BadKey;

impl Key {
    /// A key from a file or a variable; white space around it is not part of it.
    pub fn new(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadKey);
        }
        Ok(Self(text.into()))
    }

    /// The value of a header, after what stands before the key there. It is marked as a secret.
    pub(crate) fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key.
    pub(crate) fn struck_from(&self, text: &str) -> String {
        text.replace(&*self.0, "…")
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_prints_itself() {
        let key = Key::new(" sk-123\n").unwrap();
        assert_eq!(format!("{key:?}"), "Key(…)");
        assert_eq!(format!("{:?}", key.header("Bearer ").unwrap()), "Sensitive");
        assert_eq!(key.header("Bearer ").unwrap(), "Bearer sk-123");
        assert_eq!(key.struck_from("wrong key sk-123!"), "wrong key …!");
        for bad in ["", " ", "a b", "a\nb", "ключ"] {
            assert_eq!(Key::new(bad), Err(BadKey), "{bad:?}");
        }
    }
}

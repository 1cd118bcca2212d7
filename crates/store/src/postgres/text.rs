//! Text as PostgreSQL can keep it: any but with a NUL.
//!
//! Invariant: what is told is what was stored, whatever it was, and other texts stay others.

use std::borrow::Cow;

/// Stands before what stands for itself or for a NUL.
const MARK: char = '\u{1}';
const NUL: char = '\u{2}';

/// The text as it is stored.
pub(crate) fn stored(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte < 2) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\0' => out.extend([MARK, NUL]),
            MARK => out.extend([MARK, MARK]),
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The text that was stored so.
pub(super) fn told(text: &str) -> Cow<'_, str> {
    if !text.contains(MARK) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        out.push(match c {
            MARK if chars.next() == Some(NUL) => '\0',
            c => c,
        });
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::{stored, told};

    #[test]
    fn any_text_comes_back_and_none_has_a_nul() {
        for text in ["", "plain", "\0", "\u{1}", "\u{1}\u{2}", "\0\u{1}\0\u{2}", "a\0b\u{1}", "ü\0"]
        {
            let kept = stored(text);
            assert!(!kept.contains('\0'), "{text:?}");
            assert_eq!(told(&kept), text);
        }
        assert_ne!(stored("\0"), stored("\u{1}\u{2}"));
    }
}

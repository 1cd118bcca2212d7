//! The inside of a JSON string literal, worked on without decoding it.
//!
//! A *body* is the text between the quotes. Bodies can be joined by plain concatenation: a
//! surrogate half at the end of one delta and its other half at the start of the next become one
//! character when the whole is read.

use std::borrow::Cow;

/// One UTF-16 code unit's worth of a body: its value and its byte range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unit {
    /// Scalar value, or a surrogate half written as an escape.
    pub code: u32,
    /// Byte offset of its spelling.
    pub start: usize,
    /// Byte offset past its spelling.
    pub end: usize,
}

impl Unit {
    /// UTF-16 code units this takes.
    pub fn width(self) -> usize {
        if self.code >= 0x10000 { 2 } else { 1 }
    }
}

/// Walks a body character by character. Escaped surrogate pairs come as two units.
pub fn units(body: &str) -> impl Iterator<Item = Unit> + '_ {
    let bytes = body.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        let first = *bytes.get(at)?;
        let code;
        if first == b'\\' {
            (code, at) = match bytes.get(at + 1) {
                Some(b'u') => {
                    let hex = body.get(at + 2..at + 6)?;
                    (u32::from_str_radix(hex, 16).ok()?, at + 6)
                }
                Some(b'n') => (10, at + 2),
                Some(b'r') => (13, at + 2),
                Some(b't') => (9, at + 2),
                Some(b'b') => (8, at + 2),
                Some(b'f') => (12, at + 2),
                Some(&c) => (u32::from(c), at + 2),
                None => return None,
            };
        } else if first < 0x80 {
            code = u32::from(first);
            at += 1;
        } else {
            let c = body.get(at..)?.chars().next()?;
            code = u32::from(c);
            at += c.len_utf8();
        }
        Some(Unit { code, start, end: at })
    })
}

/// Decodes a body. A lone surrogate becomes U+FFFD.
pub fn decode(body: &str) -> Cow<'_, str> {
    let bytes = body.as_bytes();
    let Some(first) = memchr::memchr(b'\\', bytes) else { return Cow::Borrowed(body) };
    let mut out = String::with_capacity(body.len());
    let mut from = 0;
    let mut at = first;
    loop {
        out.push_str(body.get(from..at).unwrap_or(""));
        let (code, next) = match bytes.get(at + 1) {
            Some(b'u') => {
                let high = hex(body, at + 2).unwrap_or(0xD800);
                match hex(body, at + 8).filter(|_| bytes.get(at + 6..at + 8) == Some(b"\\u")) {
                    Some(low)
                        if (0xD800..0xDC00).contains(&high) && (0xDC00..0xE000).contains(&low) =>
                    {
                        (0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), at + 12)
                    }
                    _ => (high, at + 6),
                }
            }
            Some(b'n') => (10, at + 2),
            Some(b'r') => (13, at + 2),
            Some(b't') => (9, at + 2),
            Some(b'b') => (8, at + 2),
            Some(b'f') => (12, at + 2),
            Some(&c) => (u32::from(c), at + 2),
            None => break,
        };
        out.push(char::from_u32(code).unwrap_or('\u{FFFD}'));
        from = next;
        // Escapes come in flocks: the next is mostly near.
        let rest = bytes.get(from..).unwrap_or(&[]);
        let near = rest.iter().take(16).position(|b| *b == b'\\');
        let hit = near
            .or_else(|| memchr::memchr(b'\\', rest.get(16..).unwrap_or(&[])).map(|hit| hit + 16));
        match hit {
            Some(hit) => at = from + hit,
            None => {
                out.push_str(body.get(from..).unwrap_or(""));
                break;
            }
        }
    }
    Cow::Owned(out)
}

fn hex(body: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(body.get(at..at + 4)?, 16).ok()
}

/// Whether a body holds a surrogate half that has no partner.
pub fn has_lone_surrogate(body: &str) -> bool {
    if memchr::memchr(b'\\', body.as_bytes()).is_none() {
        return false;
    }
    let mut high = false;
    for unit in units(body) {
        let low = (0xDC00..0xE000).contains(&unit.code);
        if high != low {
            return true;
        }
        high = (0xD800..0xDC00).contains(&unit.code);
    }
    high
}

/// Length in UTF-16 code units.
pub fn utf16_len(body: &str) -> usize {
    if body.is_ascii() && memchr::memchr(b'\\', body.as_bytes()).is_none() {
        return body.len();
    }
    units(body).map(Unit::width).sum()
}

/// Whether the body is spelled as `JSON.stringify` and serde spell it: nothing escaped that need
/// not be, lower-case hex.
pub fn is_minimal(body: &str) -> bool {
    let bytes = body.as_bytes();
    let mut from = 0;
    while let Some(hit) = memchr::memchr(b'\\', bytes.get(from..).unwrap_or(&[])) {
        let at = from + hit;
        from = match bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') => at + 2,
            Some(b'u') => {
                let Some(hex) = body.get(at + 2..at + 6) else { return false };
                let Ok(code) = u32::from_str_radix(hex, 16) else { return false };
                let control = code < 0x20 && !matches!(code, 8 | 9 | 10 | 12 | 13);
                let lower = !hex.bytes().any(|b| b.is_ascii_uppercase());
                if !lower || !(control || (0xD800..0xE000).contains(&code)) {
                    return false;
                }
                // An escaped pair would be written as one character.
                if (0xD800..0xDC00).contains(&code)
                    && let Some(next) = body.get(at + 6..at + 12)
                    && let Some(hex) = next.strip_prefix("\\u")
                    && let Ok(low) = u32::from_str_radix(hex, 16)
                    && (0xDC00..0xE000).contains(&low)
                {
                    return false;
                }
                at + 6
            }
            _ => return false,
        };
    }
    true
}

/// Rewrites a body in the minimal spelling; surrogate halves that meet become one character.
pub fn minimal(body: &str) -> Cow<'_, str> {
    if is_minimal(body) {
        return Cow::Borrowed(body);
    }
    let mut out = String::with_capacity(body.len());
    let mut high: Option<u32> = None;
    for unit in units(body) {
        if let Some(h) = high.take() {
            if (0xDC00..0xE000).contains(&unit.code) {
                let joined = 0x10000 + ((h - 0xD800) << 10) + (unit.code - 0xDC00);
                push_code(joined, &mut out);
                continue;
            }
            push_code(h, &mut out);
        }
        if (0xD800..0xDC00).contains(&unit.code) {
            high = Some(unit.code);
        } else {
            push_code(unit.code, &mut out);
        }
    }
    if let Some(h) = high {
        push_code(h, &mut out);
    }
    Cow::Owned(out)
}

/// Rewrites a body with everything outside printable ASCII escaped, as Python's `json` does.
pub fn ascii(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    for unit in units(body) {
        if (0x20..0x7f).contains(&unit.code) || matches!(unit.code, 8 | 9 | 10 | 12 | 13) {
            push_code(unit.code, &mut out);
        } else if unit.code >= 0x10000 {
            let c = unit.code - 0x10000;
            push_hex(0xD800 + (c >> 10), &mut out);
            push_hex(0xDC00 + (c & 0x3FF), &mut out);
        } else {
            push_hex(unit.code, &mut out);
        }
    }
    out
}

/// Appends one code in the minimal spelling.
pub fn push_code(code: u32, out: &mut String) {
    match code {
        0x22 => out.push_str("\\\""),
        0x5c => out.push_str("\\\\"),
        8 => out.push_str("\\b"),
        9 => out.push_str("\\t"),
        10 => out.push_str("\\n"),
        12 => out.push_str("\\f"),
        13 => out.push_str("\\r"),
        _ if code < 0x20 => push_hex(code, out),
        _ => match char::from_u32(code) {
            Some(c) => out.push(c),
            None => push_hex(code, out),
        },
    }
}

fn push_hex(code: u32, out: &mut String) {
    use std::fmt::Write as _;
    let _ = write!(out, "\\u{code:04x}");
}

/// Cuts a body at positions counted in UTF-16 code units, left to right.
///
/// A cut through a character beyond the basic plane gives its two halves as escapes, which is how
/// the writers that split there spell them.
#[derive(Debug, Clone)]
pub struct Cutter<'a> {
    body: &'a str,
    at: usize,
    /// The low half of a character cut in two.
    low: Option<u32>,
}

/// Where a [`Cutter`] stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CutState {
    at: usize,
    low: Option<u32>,
}

impl<'a> Cutter<'a> {
    /// Starts at the beginning of `body`.
    pub fn new(body: &'a str) -> Self {
        Self { body, at: 0, low: None }
    }

    /// Goes on where another cutter of the same body stood.
    pub fn resume(body: &'a str, state: CutState) -> Self {
        Self { body, at: state.at, low: state.low }
    }

    /// Where the cutter stands.
    pub fn state(&self) -> CutState {
        CutState { at: self.at, low: self.low }
    }

    /// Takes the next `len` code units, fewer at the end.
    pub fn take(&mut self, len: usize, out: &mut String) {
        let mut left = len;
        if left > 0
            && let Some(low) = self.low.take()
        {
            push_hex(low, out);
            left -= 1;
        }
        let rest = self.body.get(self.at..).unwrap_or("");
        // Plain ASCII needs no walk.
        let fast = rest.get(..left).filter(|s| s.is_ascii() && !s.contains('\\'));
        if let Some(piece) = fast {
            out.push_str(piece);
            self.at += left;
            return;
        }
        let from = self.at;
        let mut to = from;
        for unit in units(rest) {
            if left < unit.width() {
                if left == 1 {
                    let c = unit.code - 0x10000;
                    out.push_str(self.body.get(from..to).unwrap_or(""));
                    push_hex(0xD800 + (c >> 10), out);
                    self.low = Some(0xDC00 + (c & 0x3FF));
                    self.at = from + (to - from) + (unit.end - unit.start);
                    return;
                }
                break;
            }
            left -= unit.width();
            to = from + unit.end;
            if left == 0 {
                break;
            }
        }
        out.push_str(self.body.get(from..to).unwrap_or(""));
        self.at = to;
    }

    /// Takes everything that is left.
    pub fn rest(&mut self, out: &mut String) {
        if let Some(low) = self.low.take() {
            push_hex(low, out);
        }
        out.push_str(self.body.get(self.at..).unwrap_or(""));
        self.at = self.body.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_halves_become_one_character() {
        let joined = ["\\ud83d", "\\ude00 é"].concat();
        assert_eq!(decode(&joined), "😀 é");
        assert_eq!(minimal(&joined), "😀 é");
        assert!(!has_lone_surrogate(&joined));
        assert!(has_lone_surrogate("\\ud83d"));
    }

    #[test]
    fn cuts_reproduce_deltas() {
        let pieces = ["a\\n", "\\ud83d", "\\ude00 é", "", "👩‍👧x"];
        let whole = minimal(&pieces.concat()).into_owned();
        let mut cutter = Cutter::new(&whole);
        for piece in pieces {
            let mut out = String::new();
            cutter.take(utf16_len(piece), &mut out);
            assert_eq!(out, piece);
        }
    }

    #[test]
    fn spellings() {
        assert!(is_minimal("a\\n\\u0000é\\ud83d"));
        assert!(!is_minimal("\\u00e9"));
        assert!(!is_minimal("\\/"));
        assert_eq!(ascii("é😀\\n\u{7f}"), "\\u00e9\\ud83d\\ude00\\n\\u007f");
        assert_eq!(minimal("\\u00e9\\/\\u000A"), "é/\\n");
    }
}

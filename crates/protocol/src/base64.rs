//! Base64 in both alphabets.
//!
//! Our own code because readers meet both alphabets, with and without padding, in one document.

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Which characters stand for 62 and 63.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`.
    Standard,
    /// `-` and `_`.
    UrlSafe,
}

/// Reads base64 of either alphabet, padded or not; `None` if it is something else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=').as_bytes();
    if text.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let mut bits = 0u32;
    let mut count = 0;
    for byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

/// Writes padded base64.
pub fn encode(bytes: &[u8], alphabet: Alphabet) -> String {
    let table = match alphabet {
        Alphabet::Standard => STANDARD,
        Alphabet::UrlSafe => URL_SAFE,
    };
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group =
            chunk.iter().fold(0u32, |g, b| g << 8 | u32::from(*b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            if i > chunk.len() {
                out.push('=');
            } else {
                let index = group >> (18 - 6 * i) & 63;
                out.push(table.get(index as usize).map_or('=', |b| char::from(*b)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_read_and_written() {
        for (bytes, standard, url_safe) in [
            (&b""[..], "", ""),
            (b"\xff\xfe\xfd", "//79", "__79"),
            (b"\xfb", "+w==", "-w=="),
            (b"ab", "YWI=", "YWI="),
        ] {
            assert_eq!(encode(bytes, Alphabet::Standard), standard);
            assert_eq!(encode(bytes, Alphabet::UrlSafe), url_safe);
            assert_eq!(decode(standard).as_deref(), Some(bytes));
            assert_eq!(decode(url_safe.trim_end_matches('=')).as_deref(), Some(bytes));
        }
        assert_eq!(decode("a b"), None);
        assert_eq!(decode("abcde"), None);
    }
}

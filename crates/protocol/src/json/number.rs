//! Number text: the canonical spelling of RFC 8785 and whether a token already is it.

/// The RFC 8785 (ECMAScript) spelling of a number token.
pub fn canonical_number(token: &str) -> String {
    let value: f64 = token.parse().unwrap_or(0.0);
    let mut buffer = ryu_js::Buffer::new();
    if value.is_finite() { buffer.format_finite(value).to_owned() } else { token.to_owned() }
}

/// Whether every JSON writer would spell the number this way again.
pub fn is_canonical_number(token: &str) -> bool {
    let digits = token.strip_prefix('-').unwrap_or(token);
    if !digits.is_empty() && digits.len() <= 15 && digits.bytes().all(|b| b.is_ascii_digit()) {
        return token != "-0";
    }
    canonical_number(token) == token
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_spellings_that_do_not_survive() {
        for token in ["949.0", "-0.0", "-0", "1e100", "1E5", "9223372036854775808"] {
            assert!(!is_canonical_number(token), "{token}");
        }
        for token in ["0", "-7", "0.5", "1e+100", "123456789012345"] {
            assert!(is_canonical_number(token), "{token}");
        }
    }
}

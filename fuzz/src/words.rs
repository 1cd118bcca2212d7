//! Any bytes as the small things that stand in headers, queries and fields.

use selvedge_protocol::journal::Cursor;
use selvedge_protocol::{base64, ident, time};

/// Panics if a promise is broken.
pub(crate) fn check(bytes: &[u8]) {
    for alphabet in [base64::Alphabet::Standard, base64::Alphabet::UrlSafe] {
        let text = base64::encode(bytes, alphabet);
        assert_eq!(base64::decode(&text).as_deref(), Some(bytes), "{text}");
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Some(decoded) = base64::decode(text) {
        assert!(decoded.len() <= text.len());
    }
    if let Some(millis) = time::to_millis(text)
        && let Some(written) = time::from_millis(millis)
    {
        assert_eq!(time::to_millis(&written), Some(millis), "{text}: {written}");
    }
    if let Ok(number) = text.parse::<i64>() {
        for written in [time::from_millis(number), time::from_seconds(number)] {
            assert!(written.is_none_or(|written| time::to_millis(&written).is_some()), "{text}");
        }
    }
    assert!(!ident::from_text(text).is_empty());
    if let Ok(cursor) = text.parse::<Cursor>() {
        assert_eq!(cursor.to_string().parse::<Cursor>().as_ref(), Ok(&cursor), "{text}");
    }
}

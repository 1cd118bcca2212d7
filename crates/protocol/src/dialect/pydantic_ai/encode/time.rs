//! Times as the package writes them: microseconds or none, `Z` for UTC, other offsets kept.

use std::fmt::Write as _;

use crate::json::Raw;

/// Written where nothing is known: the time a part must have.
const UNKNOWN: &str = "\"1970-01-01T00:00:00Z\"";

/// Writes a time.
pub(super) fn push(time: Option<&Raw<'_>>, out: &mut String) {
    match time.and_then(normal) {
        Some(text) => {
            let _ = write!(out, "\"{text}\"");
        }
        None => out.push_str(UNKNOWN),
    }
}

/// Writes a time, or `null`.
pub(super) fn push_or_null(time: Option<&Raw<'_>>, out: &mut String) {
    match time.and_then(normal) {
        Some(text) => {
            let _ = write!(out, "\"{text}\"");
        }
        None => out.push_str("null"),
    }
}

/// Whether a value is a time.
pub(super) fn is_time(time: &Raw<'_>) -> bool {
    let number = time.str().and_then(|text| text.trim().parse::<f64>().ok());
    normal(time).is_some() || number.is_some_and(|n| unix(n).is_some())
}

/// The time as the package writes it; `None` if it is none it can read.
fn normal(time: &Raw<'_>) -> Option<String> {
    match time.str() {
        Some(text) => iso(text.trim()),
        None => unix(time.f64()?),
    }
}

/// Digits of a fixed width at a place.
fn number(text: &str, at: usize, width: usize) -> Option<u32> {
    let digits = text.get(at..at + width)?;
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn iso(text: &str) -> Option<String> {
    let byte = |at: usize| text.as_bytes().get(at).copied();
    let (year, month, day) = (number(text, 0, 4)?, number(text, 5, 2)?, number(text, 8, 2)?);
    if byte(4) != Some(b'-') || byte(7) != Some(b'-') || year == 0 {
        return None;
    }
    if !(1..=12).contains(&month) || !(1..=days(year, month)).contains(&day) {
        return None;
    }
    let date = text.get(..10)?;
    if text.len() == 10 {
        return Some(format!("{date}T00:00:00"));
    }
    if !matches!(byte(10), Some(b'T' | b't' | b' ' | b'_')) || byte(13) != Some(b':') {
        return None;
    }
    let (hour, minute) = (number(text, 11, 2)?, number(text, 14, 2)?);
    let (second, mut at) = match byte(16) {
        Some(b':') => (number(text, 17, 2)?, 19),
        _ => (0, 16),
    };
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let mut micros = 0;
    if at == 19 && matches!(byte(at), Some(b'.' | b',')) {
        let digits = text.get(at + 1..)?;
        let len = digits.bytes().take_while(u8::is_ascii_digit).count();
        if len == 0 {
            return None;
        }
        let kept = digits.get(..len.min(6))?;
        micros = kept.parse::<u32>().ok()? * 10u32.pow(6 - kept.len() as u32);
        at += 1 + len;
    }
    let offset = offset(text.get(at..)?)?;
    let mut out = format!("{date}T{hour:02}:{minute:02}:{second:02}");
    if micros > 0 {
        let _ = write!(out, ".{micros:06}");
    }
    out.push_str(&offset);
    Some(out)
}

fn offset(text: &str) -> Option<String> {
    let sign = match text.bytes().next() {
        None => return Some(String::new()),
        Some(b'Z' | b'z') if text.len() == 1 => return Some("Z".to_owned()),
        Some(sign @ (b'+' | b'-')) => char::from(sign),
        _ => return None,
    };
    let hours = number(text, 1, 2)?;
    let minutes = match (text.len(), text.as_bytes().get(3)) {
        (6, Some(b':')) => number(text, 4, 2)?,
        (5, _) => number(text, 3, 2)?,
        _ => return None,
    };
    match (hours, minutes) {
        (0, 0) => Some("Z".to_owned()),
        (0..=23, 0..=59) => Some(format!("{sign}{hours:02}:{minutes:02}")),
        _ => None,
    }
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => {
            29
        }
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Unix time, in seconds or, if it is too large for that, milliseconds.
fn unix(value: f64) -> Option<String> {
    let seconds = if value.abs() >= 2e10 { value / 1000.0 } else { value };
    if !(-6e10..2.5e11).contains(&seconds) {
        return None;
    }
    iso(&crate::time::from_millis((seconds * 1000.0).round() as i64)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_spelled_as_the_package_spells_them() {
        for (given, written) in [
            ("\"2025-01-15T10:00:00.123Z\"", Some("2025-01-15T10:00:00.123000Z")),
            ("\"2025-01-15T10:00:00.1234567Z\"", Some("2025-01-15T10:00:00.123456Z")),
            ("\"2025-01-15T10:00:00.000+00:00\"", Some("2025-01-15T10:00:00Z")),
            ("\"2025-01-15T10:00:00+0530\"", Some("2025-01-15T10:00:00+05:30")),
            ("\"2025-01-15 10:00\"", Some("2025-01-15T10:00:00")),
            ("\"2025-01-15\"", Some("2025-01-15T00:00:00")),
            ("\"2024-02-29T00:00:00Z\"", Some("2024-02-29T00:00:00Z")),
            ("\"2025-02-29T00:00:00Z\"", None),
            ("\"2025-01-15T24:00:00Z\"", None),
            ("\"yesterday\"", None),
            ("1700000000", Some("2023-11-14T22:13:20Z")),
            ("1700000000123", Some("2023-11-14T22:13:20.123000Z")),
            ("0", Some("1970-01-01T00:00:00Z")),
            ("1e300", None),
        ] {
            assert_eq!(normal(&Raw::Ref(given)).as_deref(), written, "{given}");
        }
    }
}

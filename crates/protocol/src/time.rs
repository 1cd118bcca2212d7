//! Between the clock readings of protocols: RFC 3339 text and Unix seconds.
//!
//! Text that came in is always kept as it is; these conversions serve the protocols that spell
//! time the other way.

const DAY: i64 = 86_400;

/// Unix seconds as RFC 3339 text in UTC; `None` outside the years 0 to 9999.
pub fn from_unix(seconds: i64) -> Option<String> {
    let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = civil(days)?;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

/// Unix seconds of an RFC 3339 (or ISO 8601) date and time. A fraction is cut off; text without
/// an offset is taken as UTC.
pub fn to_unix(text: &str) -> Option<i64> {
    let text = text.trim();
    let year = digits(text, 0, 4)?;
    let month = digits(text, 5, 2)?;
    let day = digits(text, 8, 2)?;
    let hour = digits(text, 11, 2)?;
    let minute = digits(text, 14, 2)?;
    let bytes = text.as_bytes();
    if bytes.get(4) != Some(&b'-') || bytes.get(7) != Some(&b'-') || bytes.get(13) != Some(&b':') {
        return None;
    }
    if !matches!(bytes.get(10), Some(b'T' | b't' | b' ')) {
        return None;
    }
    let (second, mut at) =
        if bytes.get(16) == Some(&b':') { (digits(text, 17, 2)?, 19) } else { (0, 16) };
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 {
        return None;
    }
    if second > 60 {
        return None;
    }
    if matches!(bytes.get(at), Some(b'.' | b',')) {
        at += 1;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
    }
    let offset = match bytes.get(at) {
        None => 0,
        Some(b'Z' | b'z') if at + 1 == bytes.len() => 0,
        Some(sign @ (b'+' | b'-')) => {
            let hours = digits(text, at + 1, 2)?;
            let colon = usize::from(bytes.get(at + 3) == Some(&b':'));
            let minutes = if at + 3 == bytes.len() { 0 } else { digits(text, at + 3 + colon, 2)? };
            let offset = hours * 3600 + minutes * 60;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    Some(days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset)
}

fn digits(text: &str, at: usize, len: usize) -> Option<i64> {
    let part = text.get(at..at + len)?;
    part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?
}

/// Days since 1970-01-01 of a date in the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil(days: i64) -> Option<(i64, i64, i64)> {
    let shifted = days.checked_add(719_468)?;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    (0..=9999).contains(&year).then_some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_become_text_and_text_seconds() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_708_950_000, "2024-02-26T12:20:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (-1, "1969-12-31T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(from_unix(seconds).as_deref(), Some(text));
            assert_eq!(to_unix(text), Some(seconds));
        }
        assert_eq!(from_unix(i64::MAX), None);
        assert_eq!(from_unix(i64::MIN), None);
    }

    #[test]
    fn offsets_and_fractions_are_understood() {
        for text in [
            "2024-02-26T13:20:00.123456+01:00",
            "2024-02-26T12:20:00",
            "2024-02-26 12:20:00.5Z",
            "2024-02-26T10:20-0200",
            "2024-02-26T13:20:00+01",
        ] {
            assert_eq!(to_unix(text), Some(1_708_950_000), "{text}");
        }
        for text in ["", "now", "2024-02-26", "2024-13-01T00:00:00Z", "2024-02-26T12:20:00Zx"] {
            assert_eq!(to_unix(text), None, "{text}");
        }
    }
}

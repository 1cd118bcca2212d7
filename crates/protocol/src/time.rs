//! Unix times to RFC 3339 text and back, for the protocols that count instead of spelling.
//!
//! The received spelling of a time is never replaced; this is for crossing from one to the other.

const DAY: i64 = 86_400;
/// Year 9999, where RFC 3339 ends.
const LAST: i64 = 253_402_300_799;

/// Seconds since 1970 as `2026-11-15T19:29:12Z`; `None` beyond what RFC 3339 can say.
pub fn from_seconds(seconds: i64) -> Option<String> {
    let mut out = civil(seconds)?;
    out.push('Z');
    Some(out)
}

/// Milliseconds since 1970 as `2026-11-15T19:29:12.007Z`.
pub fn from_millis(millis: i64) -> Option<String> {
    let mut out = civil(millis.div_euclid(1000))?;
    out.push('.');
    digits(&mut out, millis.rem_euclid(1000), 3);
    out.push('Z');
    Some(out)
}

/// Milliseconds since 1970 that an RFC 3339 text means; `None` if it is none. A text without a
/// zone counts as UTC, and finer digits are cut off.
pub fn to_millis(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let bytes = text.as_bytes();
    let separated = bytes.get(4) == Some(&b'-')
        && bytes.get(7) == Some(&b'-')
        && matches!(bytes.get(10), Some(b'T' | b't' | b' '))
        && bytes.get(13) == Some(&b':')
        && bytes.get(16) == Some(&b':');
    if !separated {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let in_range = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut millis = 0;
    if let Some(fraction) = rest.strip_prefix('.') {
        let len = fraction.bytes().take_while(u8::is_ascii_digit).count();
        let digits: String = fraction.get(..len)?.chars().chain("000".chars()).take(3).collect();
        millis = digits.parse().ok()?;
        rest = fraction.get(len..)?;
    }
    let offset = match rest {
        "" | "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let at = text.len() - rest.len();
            let (hours, minutes) = (number(at + 1..at + 3)?, number(at + 4..at + 6)?);
            let spelled = rest.starts_with(['+', '-']) && rest.len() == 6;
            if !spelled || bytes.get(at + 3) != Some(&b':') || hours > 23 || minutes > 59 {
                return None;
            }
            sign * (hours * 3600 + minutes * 60)
        }
    };
    let seconds = days(year, month, day) * DAY + hour * 3600 + minute * 60 + second - offset;
    Some(seconds * 1000 + millis)
}

/// Days since 1970 of a date (Hinnant's algorithm).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// `2026-11-15T19:29:12`.
fn civil(seconds: i64) -> Option<String> {
    if !(0..=LAST).contains(&seconds) {
        return None;
    }
    let z = seconds.div_euclid(DAY) + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + i64::from(month <= 2);
    let time = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    let mut out = String::with_capacity("2026-11-15T19:29:12.007Z".len());
    digits(&mut out, year, 4);
    for (mark, number) in [('-', month), ('-', day), ('T', hour), (':', minute), (':', second)] {
        out.push(mark);
        digits(&mut out, number, 2);
    }
    Some(out)
}

/// The last digits of a number, without what formatting costs: every event has a time.
fn digits(out: &mut String, number: i64, count: u32) {
    for place in (0..count).rev() {
        let digit = number / 10_i64.pow(place) % 10;
        out.push(char::from(b'0' + digit as u8));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_spellings_agree() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_794_770_952_007, "2026-11-15T19:29:12.007Z"),
            (951_782_400_999, "2000-02-29T00:00:00.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(from_millis(millis).as_deref(), Some(text));
            assert_eq!(to_millis(text), Some(millis));
        }
        assert_eq!(from_seconds(1_794_770_952).as_deref(), Some("2026-11-15T19:29:12Z"));
        assert_eq!(to_millis("2026-11-15T20:29:12.0071234+01:00"), Some(1_794_770_952_007));
        assert_eq!(to_millis("2026-11-15 19:29:12"), Some(1_794_770_952_000));
        for wrong in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "2026-11-15T19:29:12+x",
            "é".repeat(20).as_str(),
        ] {
            assert_eq!(to_millis(wrong), None, "{wrong}");
        }
        assert_eq!(from_millis(i64::MAX), None);
        assert_eq!(from_seconds(-1), None);
    }

    #[test]
    fn a_zone_is_a_sign_hours_and_minutes() {
        let of = |zone: &str| to_millis(&format!("1970-01-01T00:00:00{zone}"));
        assert_eq!(of("+01:30"), Some(-5_400_000));
        assert_eq!(of("-23:59"), Some(86_340_000));
        for bad in ["#01:00", "+1:00", "+24:00", "+01:60", "+01:00x", "-9223372036854775807:00"] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}

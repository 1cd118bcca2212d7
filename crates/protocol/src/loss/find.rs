//! Finding dyes in an output.

use super::dye::{DIGIT, Dye, FIRST, MORE, NUMBERS, TIMES, gathered};
use crate::json::text;
use crate::{base64, time};

/// What an output shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trace {
    /// A dye.
    Dye(Dye),
    /// So many dyed numbers, summed; the sum of their scattered dyes.
    Sum(u64, u64),
}

/// Passes on the dyes in an output.
pub(super) fn find(output: &str, each: &mut dyn FnMut(Trace)) {
    plain(output, each);
    // Some writers escape everything outside ASCII, inside strings inside strings too.
    if output.contains("\\ud") || output.contains("\\uD") {
        let mut text = output.replace("\\\"", "\"");
        while text.contains("\\\\u") {
            text = text.replace("\\\\u", "\\u");
        }
        plain(&text::decode(&text), each);
    }
}

fn plain(output: &str, each: &mut dyn FnMut(Trace)) {
    let bytes = output.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let rest = || output.get(at..).unwrap_or("");
        match byte {
            // The first byte of the characters from FIRST on, and what it is in base64.
            0xF4 => {
                read(rest()).into_iter().for_each(|dye| each(Trace::Dye(dye)));
                at += 4;
            }
            b'9' if bytes.get(at + 1) == Some(&b'I') => {
                in_base64(rest()).into_iter().for_each(|dye| each(Trace::Dye(dye)));
                at += 1;
            }
            b'0'..=b'9' => {
                let digits = bytes.iter().skip(at).take_while(|b| b.is_ascii_digit()).count();
                let joined = at > 0 && bytes.get(at - 1).is_some_and(u8::is_ascii_alphanumeric);
                if !joined {
                    number(rest(), digits).into_iter().for_each(&mut *each);
                }
                // The last digit may begin base64.
                at += digits.saturating_sub(1).max(1);
            }
            _ => at += 1,
        }
    }
}

fn read(text: &str) -> Option<Dye> {
    let mut dye = 0;
    let mut chars = text.chars();
    for from in [FIRST, MORE, MORE, MORE] {
        let digit = (chars.next()? as u32).checked_sub(from).filter(|d| *d <= DIGIT)?;
        dye = dye << 15 | Dye::from(digit);
    }
    Some(dye)
}

fn in_base64(text: &str) -> Option<Dye> {
    let bytes = base64::decode(text.get(..24)?)?;
    read(std::str::from_utf8(&bytes).ok()?)
}

/// The dye of a number or time that a text begins with.
fn number(text: &str, digits: usize) -> Option<Trace> {
    let since = |seconds: i64| {
        let dye = Dye::try_from(seconds - TIMES).ok().filter(|dye| *dye > 0)?;
        Some(Trace::Dye(dye))
    };
    match digits {
        4 => since(time::to_millis(&format!("{}Z", text.get(..19)?))? / 1000),
        11 | 12 => since(text.get(..digits)?.parse().ok()?),
        14..=16 => {
            let number: u64 = text.get(..digits)?.parse().ok()?;
            match number / NUMBERS {
                0 => since(i64::try_from(number / 1000).ok()?),
                1 => Some(Trace::Dye(gathered(number % NUMBERS))),
                many => Some(Trace::Sum(many, number % NUMBERS)),
            }
        }
        _ => None,
    }
}

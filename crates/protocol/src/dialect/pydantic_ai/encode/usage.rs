//! A model call's usage, whatever words the source has for it.

use std::fmt::Write as _;

use super::Version;
use super::value::push_float;
use crate::json::{Node, Raw};

/// A count, and the names it goes by, the package's own first.
type Count = (&'static str, &'static [&'static str]);

const TWO: &[Count] = &[
    ("input_tokens", INPUT),
    ("cache_write_tokens", CACHE_WRITE),
    ("cache_write_1h_tokens", &[]),
    ("cache_read_tokens", CACHE_READ),
    ("output_tokens", OUTPUT),
    ("output_reasoning_tokens", REASONING),
    ("input_audio_tokens", &["inputAudioTokens"]),
    ("cache_audio_read_tokens", &[]),
    ("output_audio_tokens", &["outputAudioTokens"]),
];
const ONE: &[Count] = &[
    ("input_tokens", INPUT),
    ("cache_write_tokens", CACHE_WRITE),
    ("cache_read_tokens", CACHE_READ),
    ("output_tokens", OUTPUT),
    ("input_audio_tokens", &["inputAudioTokens"]),
    ("cache_audio_read_tokens", &[]),
    ("output_audio_tokens", &["outputAudioTokens"]),
];
const INPUT: &[&str] = &["prompt_tokens", "inputTokens", "promptTokens", "request_tokens"];
const OUTPUT: &[&str] =
    &["completion_tokens", "outputTokens", "completionTokens", "response_tokens"];
const CACHE_READ: &[&str] = &["cached_tokens", "cached_input_tokens", "cachedInputTokens"];
const CACHE_WRITE: &[&str] = &["cacheWriteTokens", "cache_creation_input_tokens"];
const REASONING: &[&str] = &["reasoning_tokens", "reasoningTokens"];
/// Sums, which the package computes itself.
const SUMS: &[&str] = &["total_tokens", "totalTokens"];

/// Writes usage; zeros where nothing is known.
pub(super) fn push(usage: Option<&Raw<'_>>, version: Version, out: &mut String) {
    let doc = usage.and_then(Raw::doc);
    let root = doc.as_ref().map(|doc| doc.root());
    let counts = match version {
        Version::One => ONE,
        Version::Two => TWO,
    };
    for (i, (name, others)) in counts.iter().enumerate() {
        let names = std::iter::once(name).chain(others.iter());
        let count = root.and_then(|root| names.filter_map(|n| count(root.get(n)?)).next());
        let _ = write!(out, "{}\"{name}\":{}", if i > 0 { "," } else { "{" }, count.unwrap_or(0));
    }
    if version == Version::Two {
        out.push_str(",\"audio_seconds\":");
        let seconds = root.and_then(|root| root.get("audio_seconds")?.f64());
        push_float(seconds.unwrap_or(0.0), out);
    }
    out.push_str(",\"details\":{");
    details(root, counts, out);
    out.push('}');
    if version == Version::Two {
        out.push_str(",\"cost\":");
        match root.and_then(|root| root.get("cost")).and_then(cost) {
            Some(cost) => {
                let _ = write!(out, "\"{cost}\"");
            }
            None => out.push_str("null"),
        }
    }
    out.push('}');
}

fn count(node: Node<'_, '_>) -> Option<i64> {
    node.i64()
        .or_else(|| node.f64().filter(|f| f.fract() == 0.0 && f.abs() < 9e15).map(|f| f as i64))
}

/// Counts that have no field of their own, and the source's own details.
fn details(root: Option<Node<'_, '_>>, counts: &[Count], out: &mut String) {
    let Some(root) = root else { return };
    let known = |key: &str| {
        SUMS.contains(&key)
            || matches!(key, "audio_seconds" | "cost" | "details" | "unmeasured_requests")
            || counts.iter().any(|(name, others)| *name == key || others.contains(&key))
    };
    let own = root.get("details");
    let mut names: Vec<String> = Vec::new();
    let nested = own.into_iter().flat_map(Node::members);
    for (nested, (key, value)) in
        nested.map(|m| (true, m)).chain(root.members().map(|m| (false, m)))
    {
        let Some(name) = key.str() else { continue };
        let (false, Some(count)) = (!nested && known(&name), count(value)) else { continue };
        if names.iter().any(|n| *n == name) {
            continue;
        }
        out.push_str(if names.is_empty() { "\"" } else { ",\"" });
        crate::json::push_escaped(&name, out);
        let _ = write!(out, "\":{count}");
        names.push(name.into_owned());
    }
}

/// A price in plain decimal form, which is how the package writes it again.
fn cost(node: Node<'_, '_>) -> Option<String> {
    let text = node.str().map_or_else(|| node.raw().to_owned(), |s| s.into_owned());
    let digits = text.strip_prefix('-').unwrap_or(&text);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let canonical = whole == "0" || !whole.starts_with('0');
    // Python writes very small prices with an exponent.
    let zeros = fraction.bytes().take_while(|b| *b == b'0').count();
    let small = whole == "0" && zeros > 5 && digits.contains('.');
    (plain(whole) && plain(fraction) && canonical && !small).then_some(text)
}

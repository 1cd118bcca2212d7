//! Printing JSON text in a given style, and telling which spellings survive other writers.

use super::tape::find_special;
use super::{Node, NodeKind, is_canonical_number, text};

/// How a JSON value is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Style {
    /// `{"a":1,"b":"é"}`: `JSON.stringify`, serde, pydantic.
    Compact,
    /// `{"a": 1, "b": "é"}`: Python's `json.dumps(…, ensure_ascii=False)`.
    Spaced,
    /// `{"a": 1, "b": "\u00e9"}`: Python's `json.dumps`.
    SpacedAscii,
    /// `{"a":1,"b":"\u00e9"}`: Python's `json.dumps` with tight separators.
    CompactAscii,
}

impl Style {
    /// Every style, in the order they are tried.
    pub const ALL: [Style; 4] =
        [Style::Compact, Style::Spaced, Style::SpacedAscii, Style::CompactAscii];

    /// The style's name in a stored residue.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compact => "compact",
            Self::Spaced => "spaced",
            Self::SpacedAscii => "spaced-ascii",
            Self::CompactAscii => "compact-ascii",
        }
    }

    /// The style of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    fn ascii(self) -> bool {
        matches!(self, Self::SpacedAscii | Self::CompactAscii)
    }

    fn spaced(self) -> bool {
        matches!(self, Self::Spaced | Self::SpacedAscii)
    }
}

/// Prints a value in a style. Number tokens and key order stay as they are.
pub fn print(node: Node<'_, '_>, style: Style, out: &mut String) {
    match node.kind() {
        NodeKind::Object => {
            out.push('{');
            for (i, (key, value)) in node.members().enumerate() {
                if i > 0 {
                    out.push_str(if style.spaced() { ", " } else { "," });
                }
                print(key, style, out);
                out.push_str(if style.spaced() { ": " } else { ":" });
                print(value, style, out);
            }
            out.push('}');
        }
        NodeKind::Array => {
            out.push('[');
            for (i, child) in node.children().enumerate() {
                if i > 0 {
                    out.push_str(if style.spaced() { ", " } else { "," });
                }
                print(child, style, out);
            }
            out.push(']');
        }
        NodeKind::Plain | NodeKind::Escaped => {
            out.push('"');
            if style.ascii() {
                out.push_str(&text::ascii(node.body()));
            } else {
                out.push_str(&text::minimal(node.body()));
            }
            out.push('"');
        }
        _ => out.push_str(node.raw()),
    }
}

/// A value in the compact style.
pub fn compact(node: Node<'_, '_>) -> String {
    let mut out = String::with_capacity(node.raw().len());
    print(node, Style::Compact, &mut out);
    out
}

/// Whether the text of a value is what any JSON writer would print for it again in compact form:
/// minimal escapes, canonical numbers, no white space, no repeated or integer-like keys.
pub fn is_stable(node: Node<'_, '_>) -> bool {
    let mut printed = String::with_capacity(node.raw().len());
    print(node, Style::Compact, &mut printed);
    printed == node.raw() && survives(node)
}

/// Whether the value means the same to every reader: numbers fit a double, keys are unique and
/// not integers (JavaScript would move those to the front).
fn survives(node: Node<'_, '_>) -> bool {
    match node.kind() {
        NodeKind::Number => is_canonical_number(node.raw()),
        NodeKind::Escaped => !text::has_lone_surrogate(node.body()),
        NodeKind::Array => node.children().all(survives),
        NodeKind::Object => {
            let mut keys: Vec<&str> = Vec::new();
            for (key, value) in node.members() {
                let body = key.body();
                let integer = !body.is_empty() && body.bytes().all(|b| b.is_ascii_digit());
                if integer || !survives(value) {
                    return false;
                }
                keys.push(body);
            }
            keys.sort_unstable();
            keys.windows(2).all(|w| w[0] != w[1])
        }
        _ => true,
    }
}

/// Appends `text` escaped in the minimal spelling, without quotes.
pub fn push_escaped(text: &str, out: &mut String) {
    escaped(text, |piece| out.push_str(piece));
}

/// Passes on `text`, escaped in the minimal spelling, piece by piece.
#[inline]
pub fn escaped(text: &str, mut each: impl FnMut(&str)) {
    let bytes = text.as_bytes();
    let mut from = 0;
    loop {
        let at = find_special(bytes, from);
        if at > from {
            each(text.get(from..at).unwrap_or(""));
        }
        match bytes.get(at) {
            Some(b) => each(escape(*b)),
            None => return,
        }
        from = at + 1;
    }
}

/// Whether `body` is `text` escaped in the minimal spelling.
pub fn is_escaped(text: &str, body: &str) -> bool {
    let mut rest = Some(body.as_bytes());
    escaped(text, |piece| {
        rest = rest.and_then(|rest| rest.strip_prefix(piece.as_bytes()));
    });
    rest.is_some_and(<[u8]>::is_empty)
}

/// The minimal spelling of a character that cannot stand in a string by itself.
fn escape(byte: u8) -> &'static str {
    const CONTROL: [&str; 32] = [
        "\\u0000", "\\u0001", "\\u0002", "\\u0003", "\\u0004", "\\u0005", "\\u0006", "\\u0007",
        "\\b", "\\t", "\\n", "\\u000b", "\\f", "\\r", "\\u000e", "\\u000f", "\\u0010", "\\u0011",
        "\\u0012", "\\u0013", "\\u0014", "\\u0015", "\\u0016", "\\u0017", "\\u0018", "\\u0019",
        "\\u001a", "\\u001b", "\\u001c", "\\u001d", "\\u001e", "\\u001f",
    ];
    match byte {
        b'"' => "\\\"",
        b'\\' => "\\\\",
        _ => CONTROL.get(usize::from(byte)).copied().unwrap_or(""),
    }
}

/// A JSON string literal for `text`.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    push_escaped(text, &mut out);
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn styles_match_their_writers() {
        let doc = Doc::parse("{\"b\":[1.0,\"é\"],\"a\":null}").unwrap();
        let all: Vec<String> = Style::ALL
            .iter()
            .map(|s| {
                let mut out = String::new();
                print(doc.root(), *s, &mut out);
                out
            })
            .collect();
        assert_eq!(
            all,
            [
                "{\"b\":[1.0,\"é\"],\"a\":null}",
                "{\"b\": [1.0, \"é\"], \"a\": null}",
                "{\"b\": [1.0, \"\\u00e9\"], \"a\": null}",
                "{\"b\":[1.0,\"\\u00e9\"],\"a\":null}",
            ]
        );
    }

    #[test]
    fn stability() {
        for (text, stable) in [
            ("{\"a\":1}", true),
            ("{\"a\": 1}", false),
            ("{\"a\":1.0}", false),
            ("{\"a\":1,\"a\":2}", false),
            ("{\"2\":1}", false),
            ("\"\\u00e9\"", false),
            ("\"\\ud83d\"", false),
            ("[null,true,\"x\\n\"]", true),
        ] {
            let doc = Doc::parse(text).unwrap();
            assert_eq!(is_stable(doc.root()), stable, "{text}");
        }
    }
}

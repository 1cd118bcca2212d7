//! Writing JSON objects member by member, and JSON values that are not complete yet.

use crate::json::{Doc, INNER_DEPTH, Node, push_escaped};

/// Adds members to an object that is being written.
pub(in crate::dialect) struct Object<'o> {
    out: &'o mut String,
    first: bool,
}

impl<'o> Object<'o> {
    /// Opens an object.
    pub(in crate::dialect) fn new(out: &'o mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    /// Adds a member with JSON text as its value.
    pub(in crate::dialect) fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        self.key(name);
        self.out.push_str(value);
        self
    }

    /// Adds a member if there is a value.
    pub(in crate::dialect) fn some(
        &mut self,
        name: &str,
        value: Option<impl AsRef<str>>,
    ) -> &mut Self {
        if let Some(value) = value {
            self.raw(name, value.as_ref());
        }
        self
    }

    /// Adds a string member, given its body.
    pub(in crate::dialect) fn body(&mut self, name: &str, body: &str) -> &mut Self {
        self.key(name);
        self.out.push('"');
        self.out.push_str(&crate::json::text::minimal(body));
        self.out.push('"');
        self
    }

    fn key(&mut self, name: &str) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    /// Closes the object.
    pub(in crate::dialect) fn end(&mut self) {
        self.out.push('}');
    }
}

/// What a JSON value that breaks off says so far, closed so that it is JSON; `None` if it is
/// broken in another way. A member without its value, and a number without digits, are left out.
pub(in crate::dialect) fn close_partial(text: &str) -> Option<String> {
    if Doc::parse_within(text, INNER_DEPTH).is_ok() {
        return Some(text.to_owned());
    }
    // Byte offset just past the last point where the text, closed, is a value; what it lacks there.
    let mut open: Vec<u8> = Vec::new();
    let mut good: Option<(usize, &'static str)> = None;
    let bytes = text.as_bytes();
    let mut at = 0;
    // Whether a string that comes next is a key.
    let mut key = false;
    while let Some(&b) = bytes.get(at) {
        match b {
            b'{' | b'[' => {
                open.push(if b == b'{' { b'}' } else { b']' });
                key = b == b'{';
                at += 1;
                good = Some((at, ""));
            }
            b'}' | b']' => {
                open.pop();
                at += 1;
                good = Some((at, ""));
            }
            b',' => {
                key = open.last() == Some(&b'}');
                at += 1;
            }
            b':' => {
                key = false;
                at += 1;
            }
            b'"' => {
                let from = at + 1;
                let (end, closed) = string_end(bytes, from);
                if !key {
                    good = Some((end, if closed { "" } else { "\"" }));
                }
                at = end + usize::from(closed);
                if !key && closed {
                    good = Some((at, ""));
                }
                if !closed {
                    break;
                }
                key = false;
            }
            b' ' | b'\n' | b'\r' | b'\t' => at += 1,
            _ => {
                let rest = text.get(at..)?;
                let len = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
                let word = rest.get(..len)?;
                let whole = at + len < text.len();
                if let Some(tail) = completed(word) {
                    good = Some((at + len, tail));
                } else if whole || !word.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
                    return None;
                } else {
                    let mut digits = word;
                    while !digits.is_empty() && Doc::parse(digits).is_err() {
                        digits = digits.get(..digits.len() - 1)?;
                    }
                    if !digits.is_empty() {
                        good = Some((at + digits.len(), ""));
                    }
                }
                at += len;
            }
        }
    }
    let (upto, tail) = good?;
    let mut out = text.get(..upto)?.to_owned();
    let open = still_open(&out);
    out.push_str(tail);
    out.extend(open.iter().rev().map(|b| char::from(*b)));
    Doc::parse_within(&out, INNER_DEPTH).is_ok().then_some(out)
}

/// The closing brackets that are missing, outermost first.
fn still_open(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut open = Vec::new();
    let mut at = 0;
    while let Some(&b) = bytes.get(at) {
        match b {
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                open.pop();
            }
            b'"' => at = string_end(bytes, at + 1).0,
            _ => {}
        }
        at += 1;
    }
    open
}

/// Where a string's content ends, and whether its quote is there. An escape that breaks off is
/// not part of it.
fn string_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    while let Some(&b) = bytes.get(at) {
        match b {
            b'"' => return (at, true),
            b'\\' => {
                let width = if bytes.get(at + 1) == Some(&b'u') { 6 } else { 2 };
                if at + width > bytes.len() {
                    return (at, false);
                }
                at += width;
            }
            _ => at += 1,
        }
    }
    (at, false)
}

/// What is missing of `true`, `false` or `null`; empty for a whole value.
fn completed(word: &str) -> Option<&'static str> {
    for literal in ["true", "false", "null"] {
        if !word.is_empty() && literal.starts_with(word) {
            return literal.get(word.len()..);
        }
    }
    Doc::parse(word).is_ok().then_some("")
}

/// `base` with the members of `more` over it, objects merged member by member.
pub(in crate::dialect) fn merge(base: &str, more: &str) -> String {
    let mut out = String::new();
    match (Doc::parse(base), Doc::parse(more)) {
        (Ok(base), Ok(more)) => merge_into(base.root(), more.root(), &mut out),
        _ => out.push_str(more),
    }
    out
}

fn merge_into(base: Node<'_, '_>, more: Node<'_, '_>, out: &mut String) {
    if !base.is_object() || !more.is_object() {
        out.push_str(more.raw());
        return;
    }
    out.push('{');
    let mut first = true;
    let mut key = |name: Node<'_, '_>, out: &mut String| {
        if !std::mem::take(&mut first) {
            out.push(',');
        }
        out.push('"');
        push_escaped(&name.str().unwrap_or_default(), out);
        out.push_str("\":");
    };
    for (name, value) in base.members() {
        key(name, out);
        match name.str().and_then(|n| more.get(&n)) {
            Some(over) => merge_into(value, over, out),
            None => out.push_str(value.raw()),
        }
    }
    for (name, value) in more.members() {
        if name.str().is_some_and(|n| base.get(&n).is_none()) {
            key(name, out);
            out.push_str(value.raw());
        }
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partial_values_close_as_the_peer_closes_them() {
        for (partial, closed) in [
            ("{\"a\": [1, 2", Some("{\"a\": [1, 2]}")),
            ("{\"a\":\"x", Some("{\"a\":\"x\"}")),
            ("{\"a\":\"x\\", Some("{\"a\":\"x\"}")),
            ("{\"a\":1,\"b", Some("{\"a\":1}")),
            ("{\"a\":1,\"b\":", Some("{\"a\":1}")),
            ("{\"a\":t", Some("{\"a\":true}")),
            ("[1.", Some("[1]")),
            ("{\"a\": not", None),
            ("{", Some("{}")),
            ("[-", Some("[]")),
            ("{\"a\":1e", Some("{\"a\":1}")),
            ("[1,2,{\"b\":nul", Some("[1,2,{\"b\":null}]")),
            ("\"abc", Some("\"abc\"")),
            ("", None),
        ] {
            assert_eq!(close_partial(partial).as_deref(), closed, "{partial}");
        }
    }
}

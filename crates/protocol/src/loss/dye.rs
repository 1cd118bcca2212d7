//! Dyes: marks inside values by which they are known again in an output.
//!
//! A text gets a few characters of Unicode's private planes at its end, a number becomes one of a
//! range that nobody uses, a time becomes one after the year 3000. Encoders pass all of these on
//! as they would pass on the values, whatever they do with them on the way.
//!
//! Values are dyed one by one. Ids are dyed by what they say, so that the same id stays the same
//! everywhere: an id that an output names once is not lost, however often the source repeats it.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher as _};

use crate::json::{Doc, Node, NodeKind, push_escaped, text};
use crate::time;

/// A mark. Those of ids have the highest bit of [`BITS`] set.
pub(super) type Dye = u64;

/// A dyed value and its dyes, each with the JSON pointer of its place in the value.
#[derive(Debug, Default, Clone)]
pub(super) struct Dyed {
    pub(super) text: String,
    pub(super) leaves: Vec<(String, Dye)>,
}

/// How a value is dyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// By itself.
    Each,
    /// By what it says.
    Id,
    /// With one dye, whatever it says: for what a source says more than once, in other pieces.
    As(Dye),
    /// By itself, but without what tells sorts of parts apart.
    Parts,
    /// By itself, but without flags, which encoders read.
    Metadata,
}

/// Bits of a dye: fifteen in each of its four characters.
const BITS: u32 = 60;
const ID: Dye = 1 << (BITS - 1);
/// The first character of a dye is here, the other three at [`MORE`].
const FIRST: u32 = 0x10_0000;
const MORE: u32 = 0xF_0000;
const DIGIT: u32 = 0x7FFF;
/// 3000-01-01.
const TIMES: i64 = 32_503_680_000;
/// Fifteen digits, exact in a double.
const NUMBERS: u64 = 810_000_000_000_000;

/// The dye of an id.
pub(super) fn of_id(parts: &[&str]) -> Dye {
    let mut hasher = DefaultHasher::new();
    for part in parts {
        hasher.write(part.as_bytes());
        hasher.write_u8(0);
    }
    hasher.finish() & (ID - 1) | ID
}

/// An id, dyed.
pub(super) fn id(id: &str) -> String {
    let mut out = id.to_owned();
    push(of_id(&[id]), &mut out);
    out
}

/// Whether it is the dye of an id.
pub(super) fn is_id(dye: Dye) -> bool {
    dye & ID != 0
}

/// Whether a member of that name holds an id.
pub(super) fn is_id_key(name: &str) -> bool {
    ["id", "Id", "ID", "Ids", "_ids"].iter().any(|end| name.ends_with(end))
        || matches!(name, "author" | "actor" | "toolName" | "tool_name")
}

/// Makes dyes.
#[derive(Debug, Default)]
pub(super) struct Dyes {
    next: Dye,
}

impl Dyes {
    /// A dye that was not there before.
    fn fresh(&mut self) -> Dye {
        self.next += 1;
        self.next
    }

    /// Dyes a value.
    pub(super) fn value(&mut self, node: Node<'_, '_>, how: How) -> Dyed {
        let mut dyed = Dyed::default();
        self.node(node, "", how, &mut dyed);
        dyed
    }

    fn node(&mut self, node: Node<'_, '_>, pointer: &str, how: How, to: &mut Dyed) {
        match node.kind() {
            NodeKind::Object => {
                to.text.push('{');
                for (i, (key, value)) in node.members().enumerate() {
                    if i > 0 {
                        to.text.push(',');
                    }
                    to.text.push_str(key.raw());
                    to.text.push(':');
                    let sort = how == How::Parts && (key.is("type") || key.is("kind"));
                    let flag = how == How::Metadata && value.kind() == NodeKind::Bool;
                    if sort || flag {
                        to.text.push_str(value.raw());
                        continue;
                    }
                    let name = key.str().unwrap_or_default();
                    let token = name.replace('~', "~0").replace('/', "~1");
                    let how = match how {
                        How::As(_) => how,
                        _ if value.is_string() && is_id_key(&name) => How::Id,
                        _ => how,
                    };
                    self.node(value, &format!("{pointer}/{token}"), how, to);
                }
                to.text.push('}');
            }
            NodeKind::Array => {
                to.text.push('[');
                for (i, value) in node.children().enumerate() {
                    if i > 0 {
                        to.text.push(',');
                    }
                    self.node(value, &format!("{pointer}/{i}"), how, to);
                }
                to.text.push(']');
            }
            NodeKind::Null => to.text.push_str("null"),
            NodeKind::Plain | NodeKind::Escaped => self.string(node, pointer, how, to),
            NodeKind::Number if !matches!(how, How::Id | How::As(_)) => {
                let dye = self.fresh();
                to.text.push_str(&(NUMBERS + dye).to_string());
                to.leaves.push((pointer.to_owned(), dye));
            }
            // No encoder reads these, so any value does.
            NodeKind::Number | NodeKind::Bool => {
                let dye = match how {
                    How::As(dye) => dye,
                    _ => self.fresh(),
                };
                to.text.push('"');
                push(dye, &mut to.text);
                to.text.push('"');
                to.leaves.push((pointer.to_owned(), dye));
            }
        }
    }

    fn string(&mut self, node: Node<'_, '_>, pointer: &str, how: How, to: &mut Dyed) {
        let body = node.body();
        if body.is_empty() {
            to.text.push_str("\"\"");
            return;
        }
        let dye = match how {
            How::Id => of_id(&[&text::decode(body)]),
            How::As(dye) => dye,
            _ => self.fresh(),
        };
        to.text.push('"');
        let time = time::to_millis(body).and_then(|_| TIMES.checked_add_unsigned(dye));
        let time = time.filter(|_| !is_id(dye)).and_then(time::from_seconds);
        if let Some(time) = time {
            to.text.push_str(&time);
        } else if let Some(inner) = self.inner(body, how) {
            push_escaped(&inner.text, &mut to.text);
            to.leaves.extend(inner.leaves.into_iter().map(|(_, dye)| (pointer.to_owned(), dye)));
        } else {
            to.text.push_str(body);
            push(dye, &mut to.text);
        }
        to.text.push('"');
        to.leaves.push((pointer.to_owned(), dye));
    }

    /// What is in a string that holds a value of its own.
    fn inner(&mut self, body: &str, how: How) -> Option<Dyed> {
        let text = text::decode(body);
        if !text.starts_with(['{', '[']) {
            return None;
        }
        let doc = Doc::parse(&text).ok()?;
        Some(self.value(doc.root(), how))
    }
}

fn push(dye: Dye, out: &mut String) {
    let digits = [45, 30, 15, 0].map(|shift| (dye >> shift) as u32 & DIGIT);
    for (i, digit) in digits.into_iter().enumerate() {
        let from = if i == 0 { FIRST } else { MORE };
        out.extend(char::from_u32(from + digit));
    }
}

/// Finds the dyes in an output.
pub(super) fn find(output: &str, found: &mut HashSet<Dye>) {
    find_in(output, found);
    // Some writers escape everything outside ASCII.
    if output.contains("\\ud") || output.contains("\\uD") {
        let mut plain = output.to_owned();
        while plain.contains("\\\\u") {
            plain = plain.replace("\\\\u", "\\u");
        }
        find_in(&text::decode(&plain.replace("\\\"", "\"")), found);
    }
}

fn find_in(output: &str, found: &mut HashSet<Dye>) {
    let bytes = output.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            0xF4 => {
                let rest = output.get(at..).unwrap_or("");
                found.extend(read(rest));
                at += 4;
            }
            b'0'..=b'9' => {
                let more = bytes.iter().skip(at).take_while(|b| b.is_ascii_digit()).count();
                let joined = at > 0 && bytes.get(at - 1).is_some_and(u8::is_ascii_alphanumeric);
                let rest = output.get(at..).unwrap_or("");
                if !joined {
                    found.extend(number(rest, more));
                }
                at += more;
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

/// The dye of a number or time that a text begins with.
fn number(text: &str, digits: usize) -> Option<Dye> {
    let since = |seconds: i64| Dye::try_from(seconds - TIMES).ok().filter(|dye| *dye > 0);
    match digits {
        4 => since(time::to_millis(&format!("{}Z", text.get(..19)?))? / 1000),
        11 | 12 => since(text.get(..digits)?.parse().ok()?),
        14 | 15 => {
            let number: u64 = text.get(..digits)?.parse().ok()?;
            number
                .checked_sub(NUMBERS)
                .or_else(|| since(i64::try_from(number / 1000).ok()?))
        }
        _ => None,
    }
}

//! Dyes: marks inside values by which they are known again in an output.
//!
//! A text gets a few characters of Unicode's private planes at its end, a number becomes one of a
//! range that nobody uses, a time becomes one after the year 3000, bytes become others. Encoders
//! pass all of these on as they would pass on the values, whatever they do with them on the way.
//!
//! Values are dyed one by one. Ids are dyed by what they say, so that the same id stays the same
//! everywhere: an id that an output names once is not lost, however often the source repeats it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

use crate::base64::{self, Alphabet};
use crate::json::{Doc, Node, NodeKind, push_escaped, text};
use crate::time;

/// A mark. Those of ids have the highest of its sixty bits set.
pub(super) type Dye = u64;

/// A dyed value.
#[derive(Debug, Default)]
pub(super) struct Dyed {
    /// The value.
    pub(super) text: String,
    /// What is dyed in it.
    pub(super) leaves: Vec<DyedLeaf>,
}

/// A dyed string, number or flag.
#[derive(Debug)]
pub(super) struct DyedLeaf {
    /// JSON pointer of its place in the value.
    pub(super) pointer: String,
    pub(super) dye: Dye,
    /// What it was before.
    pub(super) raw: String,
}

/// How a value is dyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// Each leaf by itself.
    Each,
    /// The same, without what tells sorts of parts apart.
    Parts,
    /// The same, without the words that encoders read.
    Metadata,
    /// Each leaf by what it says.
    Id,
    /// All with one dye: for what a source says more than once, whole and in pieces.
    As(Dye),
    /// A text that may be said again, whole or as a piece of a whole: the dye comes before it.
    Text(Dye),
    /// A piece of such a text, but not its first.
    More(Dye),
    /// Nothing of it may stay as it was: bytes, as text or in base64.
    Bytes(Spelled),
    /// Like the values of the record that it repeats; what is not one of them stays as it is.
    Repeated,
}

/// How bytes are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelled {
    Text,
    Base64,
}

/// The dye of what stays as it is, because encoders go by it.
pub(super) const WORD: Dye = 0;

/// The highest of fifteen bits in each of four characters.
const ID: Dye = 1 << 59;
/// The first character of a dye is here, the other three at [`MORE`].
pub(super) const FIRST: u32 = 0x10_0000;
pub(super) const MORE: u32 = 0xF_0000;
pub(super) const DIGIT: u32 = 0x7FFF;
/// 3000-01-01.
pub(super) const TIMES: i64 = 32_503_680_000;
/// Fifteen digits; ten of them can be summed and are still exact in a double.
pub(super) const NUMBERS: u64 = 810_000_000_000_000;

/// The dye of an id, or of anything else that is known by a name.
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
    /// Dyes of the record at hand, by what they stand for.
    known: HashMap<String, Vec<(String, Dye)>>,
    /// Names of tools.
    names: Vec<String>,
}

/// So many names of tools are looked for in texts.
const NAMES: usize = 64;

impl Dyes {
    /// A new record: nothing repeats a value of the one before.
    pub(super) fn record(&mut self) {
        self.known.clear();
    }

    /// Dyes a value.
    pub(super) fn value(&mut self, node: Node<'_, '_>, how: How) -> Dyed {
        let mut dyed = Dyed::default();
        self.node(node, "", how, &mut dyed);
        dyed
    }

    /// What is dyed in a value may be repeated elsewhere in the record.
    pub(super) fn remember(&mut self, dyed: &Dyed) {
        for leaf in dyed.leaves.iter().filter(|leaf| leaf.dye != WORD) {
            let dyes = self.known.entry(leaf.raw.clone()).or_default();
            dyes.push((leaf.pointer.clone(), leaf.dye));
        }
    }

    fn node(&mut self, node: Node<'_, '_>, pointer: &str, how: How, to: &mut Dyed) {
        match node.kind() {
            NodeKind::Object => {
                to.text.push('{');
                for (i, (key, value)) in node.members().enumerate() {
                    if i > 0 {
                        to.text.push(',');
                    }
                    // Names of a form's fields are ids: an answer names them too.
                    let named = match how {
                        How::Id => pointer.ends_with("/properties") || pointer.ends_with("/fields"),
                        How::Repeated => self.known.contains_key(key.raw()),
                        _ => false,
                    };
                    if named {
                        to.text.push('"');
                        to.text.push_str(&id(key.body()));
                        to.text.push_str("\":");
                    } else {
                        to.text.push_str(key.raw());
                        to.text.push(':');
                    }
                    if how == How::Id && key.is("type") {
                        to.text.push_str(value.raw());
                        continue;
                    }
                    if how == How::Parts && (key.is("type") || key.is("kind")) {
                        to.text.push_str(value.raw());
                        continue;
                    }
                    let name = key.str().unwrap_or_default();
                    let token = name.replace('~', "~0").replace('/', "~1");
                    let flag = how == How::Id && value.kind() == NodeKind::Bool;
                    if flag || how == How::Metadata && is_read(key, value) {
                        to.text.push_str(value.raw());
                        let (pointer, raw) = (format!("{pointer}/{token}"), value.raw().to_owned());
                        to.leaves.push(DyedLeaf { pointer, dye: WORD, raw });
                        continue;
                    }
                    let how = match how {
                        How::As(_) => how,
                        _ if (value.is_string() || value.is_array()) && is_id_key(&name) => How::Id,
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
            _ if node.is_string() && node.body().is_empty() => to.text.push_str("\"\""),
            _ => self.leaf(node, pointer, how, to),
        }
    }

    fn leaf(&mut self, node: Node<'_, '_>, pointer: &str, how: How, to: &mut Dyed) {
        let dye = match how {
            How::Id if node.is_string() => of_id(&[&text::decode(node.body())]),
            How::As(dye) | How::Text(dye) | How::More(dye) => dye,
            How::Repeated if holds_json(node) => 0,
            How::Repeated => match self.repeated(node.raw(), pointer) {
                Some(dye) => dye,
                None => return self.mention(node, pointer, to),
            },
            _ => {
                self.next += 1;
                self.next
            }
        };
        let mut add = |dye| {
            let (pointer, raw) = (pointer.to_owned(), node.raw().to_owned());
            to.leaves.push(DyedLeaf { pointer, dye, raw });
        };
        if node.kind() == NodeKind::Number && !is_id(dye) {
            add(dye);
            return to.text.push_str(&(NUMBERS + scattered(dye)).to_string());
        }
        let body = if node.is_string() { node.body() } else { "" };
        if let Some(inner) = self.inner(node, how) {
            inner.leaves.iter().for_each(|leaf| add(leaf.dye));
            to.text.push('"');
            push_escaped(&inner.text, &mut to.text);
            return to.text.push('"');
        }
        add(dye);
        to.text.push('"');
        match how {
            How::Bytes(spelled) => push_bytes(dye, spelled, &mut to.text),
            How::Text(_) => {
                push(dye, &mut to.text);
                to.text.push_str(body);
            }
            How::More(_) => to.text.push_str(body),
            _ if is_id(dye) => {
                to.text.push_str(body);
                push(dye, &mut to.text);
            }
            _ if time::to_millis(body).is_some() => {
                let time = TIMES.checked_add_unsigned(dye).and_then(time::from_seconds);
                to.text.push_str(&time.unwrap_or_default());
            }
            _ => match base64_at(body) {
                Some(at) => {
                    to.text.push_str(body.get(..at).unwrap_or(""));
                    push_bytes(dye, Spelled::Base64, &mut to.text);
                }
                None => {
                    to.text.push_str(body);
                    push(dye, &mut to.text);
                }
            },
        }
        to.text.push('"');
    }

    /// A text that may be made of others: it gets the dyes of the ids that it names.
    fn mention(&self, node: Node<'_, '_>, pointer: &str, to: &mut Dyed) {
        let Some(body) = node.raw().strip_suffix('"').filter(|_| node.is_string()) else {
            return to.text.push_str(node.raw());
        };
        to.text.push_str(body);
        for name in self.names.iter().filter(|name| body.contains(name.as_str())) {
            let dye = of_id(&[name]);
            push(dye, &mut to.text);
            let (pointer, raw) = (pointer.to_owned(), node.raw().to_owned());
            to.leaves.push(DyedLeaf { pointer, dye, raw });
        }
        to.text.push('"');
    }

    /// A tool's name, which texts may mention.
    pub(super) fn name(&mut self, name: &str) {
        if name.len() > 2 && self.names.len() < NAMES && !self.names.iter().any(|n| n == name) {
            self.names.push(name.to_owned());
        }
    }

    /// The dye of a value of the record that is the same, best one in the same place.
    fn repeated(&self, raw: &str, pointer: &str) -> Option<Dye> {
        let dyes = self.known.get(raw)?;
        let alike = |other: &str| {
            let tokens = pointer.rsplit('/').zip(other.rsplit('/'));
            tokens.take_while(|(a, b)| a == b).count()
        };
        dyes.iter().rev().max_by_key(|(other, _)| alike(other)).map(|(_, dye)| *dye)
    }

    /// The dyes of all values of the record that are the same.
    pub(super) fn same(&self, raw: &str) -> impl Iterator<Item = Dye> {
        self.known.get(raw).into_iter().flatten().map(|(_, dye)| *dye)
    }

    /// What is in a string that holds a value of its own.
    fn inner(&mut self, node: Node<'_, '_>, how: How) -> Option<Dyed> {
        let whole = matches!(how, How::Bytes(_) | How::Id | How::Text(_) | How::More(_));
        if whole || !holds_json(node) {
            return None;
        }
        let text = node.str()?;
        let doc = Doc::parse(&text).ok()?;
        Some(self.value(doc.root(), how))
    }
}

/// Whether a member of an event's metadata says something that encoders go by.
fn is_read(key: Node<'_, '_>, value: Node<'_, '_>) -> bool {
    let flags = ["dynamic", "invalid", "isAutomatic", "transient", "multiple"];
    let reasons = ["rejected", "timeout", "max_completion_tokens", "max_prompt_tokens"];
    flags.iter().any(|flag| key.is(flag)) || key.is("reason") && reasons.iter().any(|r| value.is(r))
}

/// Whether a string holds an object or a list.
fn holds_json(node: Node<'_, '_>) -> bool {
    let text = if node.is_string() { node.str().unwrap_or_default() } else { "".into() };
    text.starts_with(['{', '[']) && Doc::parse(&text).is_ok()
}

/// Where base64 begins in a text that is such, or a data URI of such.
fn base64_at(body: &str) -> Option<usize> {
    if body.starts_with("data:") {
        return body.find(";base64,").map(|at| at + 8);
    }
    let has = |what: fn(&u8) -> bool| body.as_bytes().iter().any(what);
    let bytes = body.len().is_multiple_of(4)
        && has(u8::is_ascii_uppercase)
        && (body.ends_with('=') || has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit));
    (bytes && base64::decode(body).is_some()).then_some(0)
}

/// Spreads dyes over forty bits, so that no two sums of some are the same by chance.
pub(super) fn scattered(dye: Dye) -> u64 {
    dye.wrapping_mul(SCATTER) & FORTY
}

/// The other way.
pub(super) fn gathered(number: u64) -> Dye {
    number.wrapping_mul(GATHER) & FORTY
}

const FORTY: u64 = (1 << 40) - 1;
const SCATTER: u64 = 0x9E_3779_B97F;
/// The product with [`SCATTER`] is 1, in forty bits.
const GATHER: u64 = {
    // Newton's iteration doubles the bits that are right.
    let mut inverse = SCATTER;
    let mut i = 0;
    while i < 6 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(SCATTER.wrapping_mul(inverse)));
        i += 1;
    }
    inverse & FORTY
};

fn push(dye: Dye, out: &mut String) {
    let digits = [45, 30, 15, 0].map(|shift| (dye >> shift) as u32 & DIGIT);
    for (i, digit) in digits.into_iter().enumerate() {
        let from = if i == 0 { FIRST } else { MORE };
        out.extend(char::from_u32(from + digit));
    }
}

/// Bytes that begin at a new group of base64 wherever they follow others of the sort.
fn push_bytes(dye: Dye, spelled: Spelled, out: &mut String) {
    let mut text = String::new();
    push(dye, &mut text);
    text.push_str("  ");
    match spelled {
        Spelled::Text => out.push_str(&text),
        Spelled::Base64 => out.push_str(&base64::encode(text.as_bytes(), Alphabet::Standard)),
    }
}

//! The parser and the tape it builds.

use std::fmt;

use wide::u8x16;

/// Containers nested deeper than this are refused.
pub const MAX_DEPTH: usize = 256;

/// A record of a source that is nested deeper than this is kept but not read, so that what it says
/// still fits into a line of a journal.
pub const SOURCE_DEPTH: usize = 200;

/// A line of a journal that is nested deeper than this is kept but not read, so that its event
/// still fits into a document that carries it.
pub const LINE_DEPTH: usize = 220;

/// JSON text inside a string that is nested deeper than this stays a string, so that its value
/// fits into the records of every dialect.
pub const INNER_DEPTH: usize = 128;

/// Parsed JSON: one flat tape of spans over the source.
#[derive(Debug, Clone)]
pub struct Doc<'a> {
    src: &'a str,
    tape: Vec<Span>,
}

/// Memory for a document, kept from one to the next.
#[derive(Debug, Default)]
pub struct Space(Vec<Span>);

#[derive(Debug, Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
    /// Index of the node after this one's subtree.
    next: u32,
    kind: NodeKind,
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number, spelled as in the source.
    Number,
    /// A string without escapes.
    Plain,
    /// A string with at least one escape.
    Escaped,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// Why text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {at}")]
pub struct SyntaxError {
    /// Byte offset into the source.
    pub at: usize,
    /// What is wrong there.
    pub kind: SyntaxKind,
}

/// What is wrong with the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyntaxKind {
    /// The text ends inside a value.
    UnexpectedEnd,
    /// A byte that cannot stand here.
    UnexpectedByte,
    /// Text after the value.
    TrailingText,
    /// A raw control character inside a string.
    ControlInString,
    /// An escape JSON does not have.
    BadEscape,
    /// A number JSON does not allow.
    BadNumber,
    /// Nesting beyond [`MAX_DEPTH`] or the limit asked for.
    TooDeep,
    /// More than 4 GiB of text.
    TooLarge,
    /// Bytes that are not UTF-8.
    NotUtf8,
}

impl fmt::Display for SyntaxKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnexpectedEnd => "unexpected end of JSON",
            Self::UnexpectedByte => "unexpected character",
            Self::TrailingText => "text after the JSON value",
            Self::ControlInString => "control character inside a string",
            Self::BadEscape => "invalid escape",
            Self::BadNumber => "invalid number",
            Self::TooDeep => "nested too deeply",
            Self::TooLarge => "document too large",
            Self::NotUtf8 => "invalid UTF-8",
        })
    }
}

impl<'a> Doc<'a> {
    /// Parses exactly one value, white space around it allowed.
    pub fn parse(src: &'a str) -> Result<Self, SyntaxError> {
        Self::parse_within(src, MAX_DEPTH)
    }

    /// Like [`Doc::parse`], with a limit of its own to the nesting.
    pub fn parse_within(src: &'a str, depth: usize) -> Result<Self, SyntaxError> {
        let mut doc = Doc { src, tape: Vec::with_capacity(spans(src.len())) };
        doc.whole(src, depth)?;
        Ok(doc)
    }

    /// Parses bytes, checking that they are UTF-8.
    pub fn parse_bytes(src: &'a [u8]) -> Result<Self, SyntaxError> {
        match super::from_utf8(src) {
            Ok(text) => Self::parse(text),
            Err(e) => Err(SyntaxError { at: e.valid_up_to(), kind: SyntaxKind::NotUtf8 }),
        }
    }

    /// Parses the value at the start of `src` and says where it ends; what follows is not read.
    pub fn parse_prefix(src: &'a str) -> Result<(Self, usize), SyntaxError> {
        let mut doc = Doc { src, tape: Vec::new() };
        let end = doc.run(src, MAX_DEPTH)?;
        Ok((doc, end))
    }

    /// Like [`Doc::parse_prefix`], in the allocation of an earlier document and for a record of a
    /// source ([`SOURCE_DEPTH`]).
    pub fn parse_prefix_in(space: Space, src: &'a str) -> (Self, Result<usize, SyntaxError>) {
        let mut doc = Doc { src, tape: space.0 };
        let end = doc.run(src, SOURCE_DEPTH);
        (doc, end)
    }

    /// The document's allocation, for the next one.
    pub fn into_space(self) -> Space {
        Space(self.tape)
    }

    /// Parses `src` into this document, keeping its allocation.
    pub fn reparse(&mut self, src: &'a str) -> Result<(), SyntaxError> {
        self.whole(src, MAX_DEPTH)
    }

    fn whole(&mut self, src: &'a str, depth: usize) -> Result<(), SyntaxError> {
        let end = self.run(src, depth)?;
        let bytes = src.as_bytes();
        let rest = skip_space(bytes, end);
        if rest < bytes.len() {
            return Err(SyntaxError { at: rest, kind: SyntaxKind::TrailingText });
        }
        Ok(())
    }

    fn run(&mut self, src: &'a str, depth: usize) -> Result<usize, SyntaxError> {
        self.src = src;
        self.tape.clear();
        if src.len() >= u32::MAX as usize {
            return Err(SyntaxError { at: 0, kind: SyntaxKind::TooLarge });
        }
        let (src, tape) = (src.as_bytes(), &mut self.tape);
        Parser { src, at: 0, depth, tape, top: NOTHING }.run()
    }

    /// The top value.
    pub fn root(&self) -> Node<'_, 'a> {
        Node { doc: self, ix: 0 }
    }

    /// The text the document was parsed from.
    pub fn source(&self) -> &'a str {
        self.src
    }
}

/// How many spans a text of that length has, more or less. The fields of events are short.
fn spans(bytes: usize) -> usize {
    bytes / 24 + (bytes / 16).min(32) + 4
}

struct Parser<'s, 't> {
    src: &'s [u8],
    at: usize,
    /// How much deeper containers may be nested.
    depth: usize,
    tape: &'t mut Vec<Span>,
    /// The innermost open container; its `next` is the one around it until it is closed.
    top: u32,
}

/// No container.
const NOTHING: u32 = u32::MAX;

impl Parser<'_, '_> {
    fn fail<T>(&self, kind: SyntaxKind) -> Result<T, SyntaxError> {
        Err(SyntaxError { at: self.at.min(self.src.len()), kind })
    }

    fn unexpected<T>(&self) -> Result<T, SyntaxError> {
        self.fail(if self.at >= self.src.len() {
            SyntaxKind::UnexpectedEnd
        } else {
            SyntaxKind::UnexpectedByte
        })
    }

    #[inline]
    fn peek(&self) -> u8 {
        self.src.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    fn space(&mut self) {
        self.at = skip_space(self.src, self.at);
    }

    #[inline]
    fn push(&mut self, start: usize, kind: NodeKind) {
        let next = self.tape.len() as u32 + 1;
        self.tape.push(Span { start: start as u32, end: self.at as u32, next, kind });
    }

    fn run(&mut self) -> Result<usize, SyntaxError> {
        self.space();
        'value: loop {
            let start = self.at;
            match self.peek() {
                b'"' => {
                    let kind = self.string()?;
                    self.push(start, kind);
                }
                b'{' => {
                    self.enter(NodeKind::Object)?;
                    self.space();
                    if self.peek() == b'}' {
                        self.close();
                    } else {
                        self.key()?;
                        continue 'value;
                    }
                }
                b'[' => {
                    self.enter(NodeKind::Array)?;
                    self.space();
                    if self.peek() == b']' {
                        self.close();
                    } else {
                        continue 'value;
                    }
                }
                b't' => self.word(b"true", NodeKind::Bool)?,
                b'f' => self.word(b"false", NodeKind::Bool)?,
                b'n' => self.word(b"null", NodeKind::Null)?,
                b'-' | b'0'..=b'9' => {
                    self.number()?;
                    self.push(start, NodeKind::Number);
                }
                _ => return self.unexpected(),
            }
            // After a value: close containers or go on to the next value.
            loop {
                let Some(top) = self.tape.get(self.top as usize) else { return Ok(self.at) };
                let object = top.kind == NodeKind::Object;
                self.space();
                match self.peek() {
                    b',' => {
                        self.at += 1;
                        self.space();
                        if object {
                            self.key()?;
                        }
                        continue 'value;
                    }
                    b'}' if object => self.close(),
                    b']' if !object => self.close(),
                    _ => return self.unexpected(),
                }
            }
        }
    }

    fn enter(&mut self, kind: NodeKind) -> Result<(), SyntaxError> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return self.fail(SyntaxKind::TooDeep);
        };
        self.depth = depth;
        let (start, around) = (self.at as u32, self.top);
        self.top = self.tape.len() as u32;
        self.at += 1;
        self.tape.push(Span { start, end: start, next: around, kind });
        Ok(())
    }

    #[inline]
    fn close(&mut self) {
        self.at += 1;
        let next = self.tape.len() as u32;
        if let Some(span) = self.tape.get_mut(self.top as usize) {
            span.end = self.at as u32;
            self.top = std::mem::replace(&mut span.next, next);
            self.depth += 1;
        }
    }

    #[inline]
    fn key(&mut self) -> Result<(), SyntaxError> {
        if self.peek() != b'"' {
            return self.unexpected();
        }
        let start = self.at;
        let kind = self.string()?;
        self.push(start, kind);
        self.space();
        if self.peek() != b':' {
            return self.unexpected();
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    fn word(&mut self, word: &[u8], kind: NodeKind) -> Result<(), SyntaxError> {
        let start = self.at;
        if self.src.get(start..start + word.len()) == Some(word) {
            self.at += word.len();
            self.push(start, kind);
            Ok(())
        } else {
            self.unexpected()
        }
    }

    #[inline]
    fn string(&mut self) -> Result<NodeKind, SyntaxError> {
        let mut kind = NodeKind::Plain;
        let mut i = self.at + 1;
        loop {
            i = find_special(self.src, i);
            match self.src.get(i) {
                None => {
                    self.at = i;
                    return self.fail(SyntaxKind::UnexpectedEnd);
                }
                Some(b'"') => {
                    self.at = i + 1;
                    return Ok(kind);
                }
                Some(b'\\') => {
                    kind = NodeKind::Escaped;
                    let width = match self.src.get(i + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u')
                            if self
                                .src
                                .get(i + 2..i + 6)
                                .is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)) =>
                        {
                            6
                        }
                        None => {
                            self.at = i + 1;
                            return self.fail(SyntaxKind::UnexpectedEnd);
                        }
                        _ => {
                            self.at = i;
                            return self.fail(SyntaxKind::BadEscape);
                        }
                    };
                    i += width;
                }
                Some(_) => {
                    self.at = i;
                    return self.fail(SyntaxKind::ControlInString);
                }
            }
        }
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at == start { self.fail(SyntaxKind::BadNumber) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        if self.peek() == b'0' {
            self.at += 1;
            if self.peek().is_ascii_digit() {
                return self.fail(SyntaxKind::BadNumber);
            }
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }
}

#[inline]
fn skip_space(src: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = src.get(at) {
        at += 1;
    }
    at
}

/// The first quote, backslash or control character at or after `at`.
#[inline(always)]
pub(super) fn find_special(src: &[u8], mut at: usize) -> usize {
    // Keys and short texts end soon.
    while let Some(block) = src.get(at..).and_then(|rest| rest.first_chunk()) {
        let hit = special_in(block);
        if hit != 0 {
            return at + hit.trailing_zeros() as usize;
        }
        at += BLOCK;
    }
    find_last(src, at)
}

/// The same, where less than a block is left.
#[inline(always)]
fn find_last(src: &[u8], at: usize) -> usize {
    match src.last_chunk() {
        // The last block begins before `at`: those bytes do not count.
        Some(block) => {
            let passed = (at + BLOCK).saturating_sub(src.len()).min(BLOCK);
            let hit = special_in(block) >> passed;
            if hit == 0 { src.len() } else { at + hit.trailing_zeros() as usize }
        }
        None => find_byte(src, at),
    }
}

fn find_byte(src: &[u8], at: usize) -> usize {
    let rest = src.get(at..).unwrap_or(&[]);
    let hit = rest.iter().position(|b| *b == b'"' || *b == b'\\' || *b < 0x20);
    at + hit.unwrap_or(rest.len())
}

/// How many bytes are looked at together.
const BLOCK: usize = 16;

/// A bit per special byte, the first byte's lowest.
#[inline(always)]
fn special_in(block: &[u8; BLOCK]) -> u32 {
    let block = u8x16::new(*block);
    let quote = block.simd_eq(u8x16::splat(b'"'));
    let slash = block.simd_eq(u8x16::splat(b'\\'));
    let control = block.min(u8x16::splat(0x1f)).simd_eq(block);
    (quote | slash | control).to_bitmask()
}

/// Whether two texts are equal; made for short ones, which most names and separators are.
#[inline]
pub(crate) fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let word = |s: &[u8], at: usize| -> Option<u64> {
        s.get(at..at + 8).and_then(|c| <[u8; 8]>::try_from(c).ok()).map(u64::from_le_bytes)
    };
    let len = a.len();
    if len != b.len() {
        return false;
    }
    match len {
        8..=16 => word(a, 0) == word(b, 0) && word(a, len - 8) == word(b, len - 8),
        17..=24 => {
            word(a, 0) == word(b, 0)
                && word(a, 8) == word(b, 8)
                && word(a, len - 8) == word(b, len - 8)
        }
        0..8 => a.iter().zip(b).all(|(a, b)| a == b),
        _ => a == b,
    }
}

/// A value inside a [`Doc`].
#[derive(Clone, Copy)]
pub struct Node<'d, 'a> {
    doc: &'d Doc<'a>,
    ix: u32,
}

impl fmt::Debug for Node<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.raw())
    }
}

impl<'d, 'a> Node<'d, 'a> {
    #[inline]
    fn span(self) -> Span {
        self.doc.tape[self.ix as usize]
    }

    /// What kind of value this is.
    #[inline]
    pub fn kind(self) -> NodeKind {
        self.span().kind
    }

    /// Position of the node on the tape; ascending in source order.
    #[inline]
    pub fn index(self) -> u32 {
        self.ix
    }

    /// Another node of the same document, by its position on the tape.
    #[inline]
    pub(crate) fn other(self, ix: u32) -> Self {
        Self { doc: self.doc, ix }
    }

    /// Index just past the node's subtree.
    #[inline]
    pub fn end_index(self) -> u32 {
        self.span().next
    }

    /// Byte offset of the value in the source.
    #[inline]
    pub fn start(self) -> usize {
        self.span().start as usize
    }

    /// Byte offset just past the value.
    #[inline]
    pub fn end(self) -> usize {
        self.span().end as usize
    }

    /// The value exactly as it stands in the source.
    #[inline]
    pub fn raw(self) -> &'a str {
        let s = self.span();
        self.doc.src.get(s.start as usize..s.end as usize).unwrap_or("")
    }

    /// Whether this is `null`.
    pub fn is_null(self) -> bool {
        self.kind() == NodeKind::Null
    }

    /// Whether this is a string.
    #[inline]
    pub fn is_string(self) -> bool {
        matches!(self.kind(), NodeKind::Plain | NodeKind::Escaped)
    }

    /// Whether this is an object.
    pub fn is_object(self) -> bool {
        self.kind() == NodeKind::Object
    }

    /// Whether this is an array.
    pub fn is_array(self) -> bool {
        self.kind() == NodeKind::Array
    }

    /// The string decoded; `None` when this is not a string. Lone surrogates become U+FFFD.
    pub fn str(self) -> Option<std::borrow::Cow<'a, str>> {
        match self.kind() {
            NodeKind::Plain => Some(std::borrow::Cow::Borrowed(self.body())),
            NodeKind::Escaped => Some(super::text::decode(self.body())),
            _ => None,
        }
    }

    /// The text between the quotes, escapes as written; the raw text of anything else.
    #[inline]
    pub fn body(self) -> &'a str {
        let s = self.span();
        match s.kind {
            NodeKind::Plain | NodeKind::Escaped => {
                self.doc.src.get(s.start as usize + 1..s.end as usize - 1).unwrap_or("")
            }
            _ => self.raw(),
        }
    }

    /// Whether this is a string equal to `text`.
    #[inline(always)]
    pub fn is(self, text: &str) -> bool {
        match self.kind() {
            NodeKind::Plain => same_bytes(self.body().as_bytes(), text.as_bytes()),
            NodeKind::Escaped => super::text::decode(self.body()) == text,
            _ => false,
        }
    }

    /// The boolean, if it is one.
    pub fn bool(self) -> Option<bool> {
        (self.kind() == NodeKind::Bool).then(|| self.raw() == "true")
    }

    /// The number as a float, if it is one.
    pub fn f64(self) -> Option<f64> {
        if self.kind() == NodeKind::Number { self.raw().parse().ok() } else { None }
    }

    /// The number as an integer, if it is a whole number in range.
    pub fn i64(self) -> Option<i64> {
        if self.kind() == NodeKind::Number { self.raw().parse().ok() } else { None }
    }

    /// The member named `key`; the last one when the key is repeated, as most readers do.
    pub fn get(self, key: &str) -> Option<Node<'d, 'a>> {
        let mut found = None;
        for (k, v) in self.members() {
            if k.may_be(key.len()) && k.is(key) {
                found = Some(v);
            }
        }
        found
    }

    /// Like [`Node::get`], with `null` counted as absent.
    pub fn some(self, key: &str) -> Option<Node<'d, 'a>> {
        self.get(key).filter(|n| !n.is_null())
    }

    /// The members of these names, in one pass; fastest where they come in the order given.
    pub fn select<const N: usize>(self, keys: [&str; N]) -> [Option<Node<'d, 'a>>; N] {
        let mut found = [None; N];
        let lengths = keys.iter().fold(0u64, |all, key| all | 1 << (key.len() & 63));
        let mut next = 0;
        for (key, value) in self.members() {
            let at = if key.kind() == NodeKind::Plain {
                let name = key.body().as_bytes();
                if lengths >> (name.len() & 63) & 1 == 0 {
                    continue;
                }
                let after = keys.iter().enumerate().skip(next);
                let hit = |(_, key): &(usize, &&str)| same_bytes(key.as_bytes(), name);
                after.chain(keys.iter().enumerate().take(next)).find(hit).map(|(at, _)| at)
            } else {
                keys.iter().position(|name| key.is(name))
            };
            if let Some(at) = at
                && let Some(slot) = found.get_mut(at)
            {
                *slot = Some(value);
                next = at + 1;
            }
        }
        found
    }

    /// Whether a string can have this many bytes decoded.
    #[inline]
    fn may_be(self, len: usize) -> bool {
        let span = self.span();
        span.kind == NodeKind::Escaped || (span.end - span.start) as usize == len + 2
    }

    /// The value at an RFC 6901 pointer below this node.
    pub fn pointer(self, pointer: &str) -> Option<Node<'d, 'a>> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut node = self;
        for token in pointer.strip_prefix('/')?.split('/') {
            node = if node.is_array() {
                node.children().nth(token.parse().ok()?)?
            } else if token.contains('~') {
                node.get(&token.replace("~1", "/").replace("~0", "~"))?
            } else {
                node.get(token)?
            };
        }
        Some(node)
    }

    /// The members of an object, in source order, repeats included; empty for anything else.
    #[inline]
    pub fn members(self) -> Members<'d, 'a> {
        let s = self.span();
        let end = if s.kind == NodeKind::Object { s.next } else { self.ix + 1 };
        Members { doc: self.doc, at: self.ix + 1, end }
    }

    /// The elements of an array; empty for anything else.
    #[inline]
    pub fn children(self) -> Children<'d, 'a> {
        let s = self.span();
        let end = if s.kind == NodeKind::Array { s.next } else { self.ix + 1 };
        Children { doc: self.doc, at: self.ix + 1, end }
    }
}

/// Iterator over an object's members.
#[derive(Clone)]
pub struct Members<'d, 'a> {
    doc: &'d Doc<'a>,
    at: u32,
    end: u32,
}

impl<'d, 'a> Iterator for Members<'d, 'a> {
    type Item = (Node<'d, 'a>, Node<'d, 'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let key = Node { doc: self.doc, ix: self.at };
        let value = Node { doc: self.doc, ix: self.at + 1 };
        self.at = value.span().next;
        Some((key, value))
    }
}

/// Iterator over an array's elements.
#[derive(Clone)]
pub struct Children<'d, 'a> {
    doc: &'d Doc<'a>,
    at: u32,
    end: u32,
}

impl<'d, 'a> Iterator for Children<'d, 'a> {
    type Item = Node<'d, 'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let node = Node { doc: self.doc, ix: self.at };
        self.at = node.span().next;
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_cover_values_as_written() {
        let doc = Doc::parse(r#" {"a": [1.0, -0.0, 1e100], "a":"\ud83d", "b":{}} "#).unwrap();
        let root = doc.root();
        assert_eq!(root.get("a").unwrap().raw(), r#""\ud83d""#);
        let first = root.members().next().unwrap().1;
        let nums: Vec<_> = first.children().map(Node::raw).collect();
        assert_eq!(nums, ["1.0", "-0.0", "1e100"]);
        assert_eq!(root.members().count(), 3);
        assert_eq!(first.pointer("/2").unwrap().raw(), "1e100");
    }

    #[test]
    fn refuses_what_is_not_json() {
        for (text, kind) in [
            ("", SyntaxKind::UnexpectedEnd),
            ("{", SyntaxKind::UnexpectedEnd),
            ("[1,]", SyntaxKind::UnexpectedByte),
            ("[1 2]", SyntaxKind::UnexpectedByte),
            ("\"a\u{1}\"", SyntaxKind::ControlInString),
            ("\"\\x\"", SyntaxKind::BadEscape),
            ("\"abc", SyntaxKind::UnexpectedEnd),
            ("01", SyntaxKind::BadNumber),
            ("-", SyntaxKind::BadNumber),
            ("1.", SyntaxKind::BadNumber),
            ("{} x", SyntaxKind::TrailingText),
            ("{\"a\":1}}", SyntaxKind::TrailingText),
            ("nul", SyntaxKind::UnexpectedByte),
        ] {
            assert_eq!(Doc::parse(text).err().map(|e| e.kind), Some(kind), "{text}");
        }
    }

    #[test]
    fn finds_the_first_special_byte_wherever_it_is() {
        for byte in 0..=u8::MAX {
            for at in 0..36 {
                let mut text = [b'a'; 40];
                text[at] = byte;
                for text in [&text[..], &text[..36], &text[25..]] {
                    for from in 0..=text.len() {
                        assert_eq!(find_special(text, from), find_byte(text, from), "{byte}");
                    }
                }
            }
        }
    }

    #[test]
    fn refuses_depth_bombs() {
        let ok = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(Doc::parse(&ok).is_ok());
        let bomb = "[".repeat(10_000_000);
        assert_eq!(Doc::parse(&bomb).unwrap_err().kind, SyntaxKind::TooDeep);
    }
}

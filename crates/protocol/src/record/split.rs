//! Cutting sources into records, whole or as they arrive.

use super::{BYTE_ORDER_MARK, Framing, Record, Role};
use crate::json::{Doc, Space};

/// Cuts a whole source into records. [`Framing::Document`] gives it as one record.
pub fn split<'a>(framing: Framing, source: &'a str, mut each: impl FnMut(Record<'a>)) {
    let mut feeder = Feeder::new(framing);
    feeder.cut(source, Ending::Final, &mut |record, _| each(record));
}

/// Like [`split`], and passes on what had to be parsed to find a record's end.
pub fn split_parsed<'a>(
    framing: Framing,
    source: &'a str,
    mut each: impl FnMut(Record<'a>, Option<&Doc<'a>>),
) {
    let mut feeder = Feeder::new(framing);
    feeder.space = Some(Space::default());
    feeder.cut(source, Ending::Final, &mut each);
}

/// Takes a record, and its value where finding its end took parsing it.
type Each<'e, 'a> = &'e mut dyn FnMut(Record<'a>, Option<&Doc<'a>>);

/// Cuts a source into records as its bytes arrive. Holds at most one record.
#[derive(Debug)]
pub struct Feeder {
    framing: Framing,
    shape: Option<Layout>,
    items: usize,
    done: bool,
    /// Where array elements are parsed; `None` to look for their ends only.
    space: Option<Space>,
}

/// How the source at hand is laid out, which may differ from its dialect's usual framing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Array,
    Lines,
    Sse,
    Whole,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    More,
    Final,
}

impl Feeder {
    /// A feeder for one source.
    pub fn new(framing: Framing) -> Self {
        Self { framing, shape: None, items: 0, done: false, space: None }
    }

    /// Cuts what is complete in `text` and returns how many bytes that was; the caller keeps the
    /// rest and calls again with more after it.
    pub fn feed<'a>(&mut self, text: &'a str, mut each: impl FnMut(Record<'a>)) -> usize {
        self.cut(text, Ending::More, &mut |record, _| each(record))
    }

    /// Like [`Feeder::feed`], and passes on what had to be parsed to find a record's end.
    pub fn feed_parsed<'a>(
        &mut self,
        text: &'a str,
        mut each: impl FnMut(Record<'a>, Option<&Doc<'a>>),
    ) -> usize {
        self.space.get_or_insert_default();
        self.cut(text, Ending::More, &mut each)
    }

    /// Cuts the rest of the source.
    pub fn end<'a>(&mut self, text: &'a str, mut each: impl FnMut(Record<'a>)) {
        self.cut(text, Ending::Final, &mut |record, _| each(record));
    }

    fn cut<'a>(&mut self, text: &'a str, ending: Ending, each: Each<'_, 'a>) -> usize {
        let layout = match self.shape {
            Some(layout) => layout,
            None => match layout(self.framing, text, ending) {
                Some(layout) => *self.shape.insert(layout),
                None => return 0,
            },
        };
        match layout {
            Layout::Whole if ending == Ending::More => 0,
            Layout::Whole if self.framing == Framing::Document => {
                self.item(text, 0, self.mark(text), text.len(), each);
                text.len()
            }
            Layout::Whole => {
                let start = text.len() - begin(text).len();
                let end = text.trim_end().len().max(start);
                if start < end {
                    self.item(text, 0, start, end, each);
                    self.tail(text, end, each);
                } else {
                    self.tail(text, 0, each);
                }
                text.len()
            }
            Layout::Lines => self.lines(text, ending, each),
            Layout::Sse => self.sse(text, ending, each),
            Layout::Array => self.array(text, ending, each),
        }
    }

    /// The length of the byte order mark that a source begins with: it is glue.
    fn mark(&self, text: &str) -> usize {
        if self.items == 0 && text.starts_with(BYTE_ORDER_MARK) {
            BYTE_ORDER_MARK.len_utf8()
        } else {
            0
        }
    }

    fn item<'a>(
        &mut self,
        text: &'a str,
        from: usize,
        start: usize,
        end: usize,
        each: Each<'_, 'a>,
    ) {
        each(self.next(text, from, start, end), None);
    }

    fn next<'a>(&mut self, text: &'a str, from: usize, start: usize, end: usize) -> Record<'a> {
        self.items += 1;
        Record {
            glue: text.get(from..start).unwrap_or(""),
            usual_glue: self.framing.glue(self.items - 1),
            body: text.get(start..end).unwrap_or(""),
            role: Role::Item,
            index: self.items - 1,
        }
    }

    /// Parses the array element at `start` and passes it on; says where it ends. `None` if it is
    /// not whole and sound, or nothing is to be parsed.
    fn element<'a>(
        &mut self,
        text: &'a str,
        from: usize,
        start: usize,
        ending: Ending,
        each: Each<'_, 'a>,
    ) -> Option<usize> {
        let space = self.space.take()?;
        let (doc, end) = Doc::parse_prefix_in(space, text.get(start..).unwrap_or(""));
        let end = end.ok().map(|len| start + len);
        let end = end.filter(|end| *end < text.len() || ending == Ending::Final);
        if let Some(end) = end {
            each(self.next(text, from, start, end), Some(&doc));
        }
        self.space = Some(doc.into_space());
        end
    }

    fn tail<'a>(&mut self, text: &'a str, from: usize, each: Each<'_, 'a>) {
        let rest = text.get(from..).unwrap_or("");
        if rest != self.framing.end(self.items) {
            let record = Record {
                glue: rest,
                usual_glue: self.framing.end(self.items),
                body: "",
                role: Role::Tail,
                index: self.items,
            };
            each(record, None);
        }
    }

    fn lines<'a>(&mut self, text: &'a str, ending: Ending, each: Each<'_, 'a>) -> usize {
        let bytes = text.as_bytes();
        let mut from = 0;
        loop {
            let start = from + self.mark(text);
            let blank = bytes.get(start..).unwrap_or(&[]).iter();
            let start = start + blank.take_while(|b| b.is_ascii_whitespace()).count();
            let rest = bytes.get(start..).unwrap_or(&[]);
            let end = match memchr::memchr(b'\n', rest) {
                Some(len) => start + len,
                None if ending == Ending::Final => bytes.len(),
                None => return from,
            };
            let end = end - usize::from(end > start && bytes.get(end - 1) == Some(&b'\r'));
            if start >= end {
                if ending == Ending::Final {
                    self.tail(text, from, each);
                }
                return from;
            }
            self.item(text, from, start, end, each);
            from = end;
        }
    }

    fn sse<'a>(&mut self, text: &'a str, ending: Ending, each: Each<'_, 'a>) -> usize {
        let bytes = text.as_bytes();
        let mut from = 0;
        loop {
            // An event ends after its blank line; line ends are LF, CRLF or CR.
            let start = from + self.mark(text);
            match event_end(bytes, start, ending) {
                Some(end) => {
                    self.item(text, from, start, end, each);
                    from = end;
                }
                None => {
                    if ending == Ending::Final {
                        if start < bytes.len() {
                            self.item(text, from, start, bytes.len(), each);
                        } else {
                            self.tail(text, from, each);
                        }
                        return bytes.len();
                    }
                    return from;
                }
            }
        }
    }

    fn array<'a>(&mut self, text: &'a str, ending: Ending, each: Each<'_, 'a>) -> usize {
        let bytes = text.as_bytes();
        let mut from = 0;
        while !self.done {
            let mut start = from + self.mark(text);
            loop {
                match bytes.get(start) {
                    Some(b',' | b' ' | b'\n' | b'\r' | b'\t') => start += 1,
                    Some(b'[') if self.items == 0 => {
                        // The bracket that opens the array, once.
                        if text.get(from..start).is_some_and(|glue| !glue.contains('[')) {
                            start += 1;
                        } else {
                            break;
                        }
                    }
                    _ => break,
                }
            }
            match bytes.get(start) {
                None if ending == Ending::More => return from,
                None | Some(b']') => break,
                Some(_) if let Some(end) = self.element(text, from, start, ending, each) => {
                    from = end;
                }
                Some(_) => match value_end(bytes, start) {
                    Some(end) if end < bytes.len() || ending == Ending::Final => {
                        self.item(text, from, start, end, each);
                        from = end;
                    }
                    _ if ending == Ending::More => return from,
                    _ => break,
                },
            }
        }
        if ending == Ending::More {
            self.done = true;
            return from;
        }
        self.tail(text, from, each);
        bytes.len()
    }
}

/// A text without the byte order mark and the white space before its first character.
fn begin(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim_start()
}

/// How a source is laid out, judged by how it begins; `None` if more is needed.
fn layout(framing: Framing, text: &str, ending: Ending) -> Option<Layout> {
    if framing == Framing::Document {
        return Some(Layout::Whole);
    }
    let begin = begin(text);
    let first = match begin.bytes().next() {
        Some(first) => first,
        None if ending == Ending::Final => return Some(Layout::Whole),
        None => return None,
    };
    match (framing, first) {
        (Framing::Array | Framing::Lines, b'[') => Some(Layout::Array),
        (Framing::Sse, b'[') => Some(Layout::Array),
        (Framing::Sse, first) if first != b'{' => Some(Layout::Sse),
        (_, b'{') => {
            // One value over several lines, or one value a line?
            let start = text.len() - begin.len();
            match value_end(text.as_bytes(), start) {
                Some(end) => {
                    let rest = text.get(end..).unwrap_or("").trim_start();
                    let one_line = !text.get(start..end).is_some_and(|v| v.contains('\n'));
                    if rest.is_empty() && ending == Ending::More {
                        None
                    } else if one_line && (framing == Framing::Lines || !rest.is_empty()) {
                        Some(Layout::Lines)
                    } else {
                        Some(Layout::Whole)
                    }
                }
                None if ending == Ending::More => None,
                None => Some(Layout::Lines),
            }
        }
        _ => Some(Layout::Lines),
    }
}

/// The end of the JSON value that starts at `start`, judged by brackets and quotes alone.
fn value_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut depth = 0usize;
    let mut at = start;
    loop {
        match bytes.get(at)? {
            b'"' => {
                at += 1;
                loop {
                    at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
                    if bytes.get(at) == Some(&b'"') {
                        break;
                    }
                    at += 2;
                }
                at += 1;
            }
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return Some(at),
            _ => at += 1,
        }
        if depth == 0 && bytes.get(at - 1).is_some_and(|b| matches!(b, b'"' | b'}' | b']')) {
            return Some(at);
        }
        if depth == 0 && at == bytes.len() {
            return Some(at);
        }
        if depth == 0 && matches!(bytes.get(at), Some(b']' | b'}')) {
            return Some(at);
        }
    }
}

/// The byte after the blank line that ends the SSE event starting at `from`.
fn event_end(bytes: &[u8], from: usize, ending: Ending) -> Option<usize> {
    let mut at = from;
    let mut blank = true;
    let mut seen = false;
    loop {
        let rest = bytes.get(at..)?;
        let len = memchr::memchr2(b'\n', b'\r', rest)?;
        let crlf = rest.get(len) == Some(&b'\r');
        if crlf && rest.get(len + 1).is_none() && ending == Ending::More {
            return None;
        }
        let next = at + len + 1 + usize::from(crlf && rest.get(len + 1) == Some(&b'\n'));
        blank &= len == 0;
        seen |= len > 0;
        if len == 0 && (seen || blank) {
            return Some(next);
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Writer;

    fn rejoined(framing: Framing, source: &str) -> (usize, String) {
        let mut writer = Writer::new(framing);
        let mut out = Vec::new();
        let mut items = 0;
        split(framing, source, |r| {
            items += usize::from(r.role == Role::Item);
            writer.record(r.role, r.stored_glue().as_deref(), r.body, &mut out);
        });
        writer.finish(&mut out);
        (items, String::from_utf8(out).unwrap())
    }

    #[test]
    fn records_put_back_are_the_source() {
        for (framing, source, items) in [
            (Framing::Array, "[]", 0),
            (Framing::Array, "[{\"a\":1},{\"b\":\"]\"}]", 2),
            (Framing::Array, "[\n  {\"a\": 1},\n  2\n]\n", 2),
            (Framing::Array, "{\"a\":[1]}", 1),
            (Framing::Array, "{\"a\":\n[1]}\n", 1),
            (Framing::Array, "[[1],[2]]", 2),
            (Framing::Array, "[{\"a\":1},{\"b\"", 1),
            (Framing::Lines, "{\"a\":1}\n{\"b\":2}\n", 2),
            (Framing::Lines, "{\"a\":1}\r\n\n{\"b\":2}", 2),
            (Framing::Lines, "[{},{}]", 2),
            (Framing::Lines, "", 0),
            (Framing::Lines, "{\n}", 1),
            (Framing::Sse, "data: 1\n\nevent: x\ndata: 2\n\n", 2),
            (Framing::Sse, "data: 1\r\n\r\n: hi\r\n\r\ndata: 2", 3),
            (Framing::Sse, "{\"a\":1}\n{}\n", 2),
            (Framing::Sse, "\n\ndata: 1\n\n\n", 4),
            (Framing::Document, " {\"a\":1}\n", 1),
            (Framing::Document, "\u{feff}{\"a\":1}", 1),
            (Framing::Array, "\u{feff}[{\"a\":1}]", 1),
            (Framing::Array, "\u{feff} {\"a\":1}", 1),
            (Framing::Lines, "\u{feff}{}\n{}\n", 2),
            (Framing::Lines, "\u{feff}", 0),
            (Framing::Sse, "\u{feff}data: 1\n\ndata: 2\n\n", 2),
            (Framing::Sse, "\u{feff}", 0),
        ] {
            assert_eq!(rejoined(framing, source), (items, source.to_owned()), "{source:?}");
        }
    }

    #[test]
    fn feeding_byte_by_byte_gives_the_same_records() {
        for (framing, source) in [
            (Framing::Array, "[{\"a\":1},{\"b\":\"]\\\"\"} , 3]\n"),
            (Framing::Lines, "{\"a\":1}\n{\"b\":2}\n"),
            (Framing::Lines, "\u{feff}{\"a\":1}\n{\"b\":2}\n"),
            (Framing::Array, "\u{feff}[{\"a\":1},{\"b\":2}]"),
            (Framing::Sse, "\u{feff}data: 1\n\ndata: 2\n\n"),
            (Framing::Sse, "data: 1\r\n\r\nevent: x\ndata: 2\n\ndata: [DONE]\n\n"),
        ] {
            let mut whole = Vec::new();
            split(framing, source, |r| whole.push((r.glue.to_owned(), r.body.to_owned())));
            let mut feeder = Feeder::new(framing);
            let mut pending = String::new();
            let mut parts = Vec::new();
            for c in source.chars() {
                pending.push(c);
                let used =
                    feeder.feed(&pending, |r| parts.push((r.glue.to_owned(), r.body.to_owned())));
                pending.drain(..used);
            }
            feeder.end(&pending, |r| parts.push((r.glue.to_owned(), r.body.to_owned())));
            assert_eq!(parts, whole, "{source:?}");
        }
    }
}

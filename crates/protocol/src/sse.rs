//! Server-sent events: one event in, its fields out; fields in, one event out; bytes as they
//! arrive in, events out.
//!
//! Our own code because the crates at hand panic on a byte order mark or read line ends wrongly.

mod cutter;

pub use cutter::{Cutter, Frame, TooLong};

use std::borrow::Cow;

/// The data of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data<'a> {
    /// There is none: a comment, an id alone, or something else altogether.
    None,
    /// One data line, at a byte offset in the event.
    Line {
        /// Where the data begins.
        offset: usize,
        /// The data.
        text: &'a str,
    },
    /// Several data lines, joined by line feeds.
    Joined(String),
}

/// A field of an event: its name, its value, and where the value begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The field's name; empty for a comment.
    pub name: &'a str,
    /// The field's value, one leading space removed.
    pub value: &'a str,
    /// Byte offset of the value in the event.
    pub offset: usize,
}

/// The fields of an event, in order. Line ends are LF, CRLF or CR; a byte order mark is passed.
pub fn fields(event: &str) -> impl Iterator<Item = Field<'_>> {
    let mut at = if event.starts_with('\u{feff}') { 3 } else { 0 };
    std::iter::from_fn(move || {
        loop {
            let rest = event.get(at..).filter(|r| !r.is_empty())?;
            let len = rest.find(['\n', '\r']).unwrap_or(rest.len());
            let line = rest.get(..len)?;
            let start = at;
            at += len + 1 + usize::from(rest.get(len..).is_some_and(|r| r.starts_with("\r\n")));
            if line.is_empty() {
                continue;
            }
            let (name, value) = match line.split_once(':') {
                Some((name, value)) => (name, value),
                None => (line, ""),
            };
            let trimmed = value.strip_prefix(' ').unwrap_or(value);
            let offset = start + line.len() - trimmed.len();
            return Some(Field { name, value: trimmed, offset });
        }
    })
}

/// The data of an event.
pub fn data(event: &str) -> Data<'_> {
    // Nearly every event is one line of data.
    if let Some(rest) = event.strip_prefix("data: ")
        && let Some(end) = memchr::memchr2(b'\n', b'\r', rest.as_bytes())
        && rest.as_bytes().iter().skip(end).all(|b| matches!(b, b'\n' | b'\r'))
    {
        return Data::Line { offset: 6, text: rest.get(..end).unwrap_or("") };
    }
    let mut found = Data::None;
    for field in fields(event).filter(|f| f.name == "data") {
        found = match found {
            Data::None => Data::Line { offset: field.offset, text: field.value },
            Data::Line { text, .. } => Data::Joined(format!("{text}\n{}", field.value)),
            Data::Joined(text) => Data::Joined(format!("{text}\n{}", field.value)),
        };
    }
    found
}

/// What stands before, between and after an event's lines of data, if it is the same between all
/// of them.
pub fn around(event: &str) -> Option<(&str, &str, &str)> {
    let mut data = fields(event).filter(|f| f.name == "data");
    let first = data.next()?;
    let mut end = first.offset + first.value.len();
    let mut between = None;
    for line in data {
        let gap = event.get(end..line.offset)?;
        if *between.get_or_insert(gap) != gap {
            return None;
        }
        end = line.offset + line.value.len();
    }
    Some((event.get(..first.offset)?, between?, event.get(end..)?))
}

/// The lines of a stream that lost its blank lines: every one is data and a JSON object by itself,
/// which the lines of one event never are. `None` for anything else.
pub fn unseparated(event: &str) -> Option<impl Iterator<Item = &str>> {
    if !event.contains("\ndata:") {
        return None;
    }
    for line in event.lines().filter(|line| !line.trim().is_empty()) {
        let data = line.strip_prefix("data:")?.trim_start();
        if !data.starts_with('{') || crate::json::Doc::parse(data).is_err() {
            return None;
        }
    }
    Some(event.split_inclusive('\n'))
}

/// Whether a text has at least one line that events have.
pub fn is_event(event: &str) -> bool {
    fields(event).any(|f| matches!(f.name, "" | "data" | "event" | "id" | "retry"))
}

/// The value of an event's first field of that name.
pub fn field<'a>(event: &'a str, name: &str) -> Option<Cow<'a, str>> {
    fields(event).find(|f| f.name == name).map(|f| Cow::Borrowed(f.value))
}

/// Writes an event with one line of data.
pub fn write(event: Option<&str>, id: Option<&str>, data: &str) -> String {
    let mut out = String::with_capacity(data.len() + 32);
    for (name, value) in [("id", id), ("event", event)] {
        if let Some(value) = value {
            out.push_str(name);
            out.push_str(": ");
            out.push_str(value);
            out.push('\n');
        }
    }
    out.push_str("data: ");
    out.push_str(data);
    out.push_str("\n\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fields_with_any_line_end() {
        let event = "\u{feff}event: x\r\nid:7\rdata: {\"a\":1}\n: note\n\n";
        let all: Vec<_> = fields(event).map(|f| (f.name, f.value)).collect();
        assert_eq!(all, [("event", "x"), ("id", "7"), ("data", "{\"a\":1}"), ("", "note")]);
        let Data::Line { offset, text } = data(event) else { panic!() };
        assert_eq!(&event[offset..offset + text.len()], text);
        assert_eq!(data("data: a\ndata: b\n\n"), Data::Joined("a\nb".into()));
        assert_eq!(data(": ping\n\n"), Data::None);
        let lines = |event| unseparated(event).map(Iterator::count);
        assert_eq!(lines("data: {}\ndata: {\"a\":1}\n"), Some(2));
        assert_eq!(lines("data: {\ndata: }\n\n"), None);
        assert_eq!(lines("data: {}\n\n"), None);
    }
}

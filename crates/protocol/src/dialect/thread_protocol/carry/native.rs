//! Events that came from no wire, as records of the journal: the event, or the entry it stands in
//! where that says more than that it comes next.

use std::fmt::Write as _;

use crate::journal::{Batch, Entry, Event};
use crate::json::{Node, Raw, compact};

/// Appends an entry as a line of a journal. What stands before the line is not part of it: a line
/// with anything unusual there is kept as it is.
pub(crate) fn write_entry(entry: &Entry<'_>, event: &Event<'_>, out: &mut String) {
    let _ = write!(out, "{{\"seq\":{}", entry.seq);
    if let Some(at) = &entry.at {
        let _ = write!(out, ",\"at\":{at}");
    }
    out.push_str(",\"event\":");
    event.write(out);
    out.push('}');
}

/// What a record says; none if it is no event.
pub(crate) fn read_native<'a>(record: Node<'_, 'a>) -> Option<Batch<'a>> {
    // Every event has a kind, and no entry does.
    if record.get("kind").is_some() {
        return Some(Batch::native(vec![event(record)?]));
    }
    let entry = Entry {
        seq: one_line(record.get("seq")?),
        at: record.get("at").map(one_line),
        context: None,
        glue: None,
    };
    Some(Batch { entries: vec![entry], ..Batch::native(vec![event(record.get("event")?)?]) })
}

fn event<'a>(node: Node<'_, 'a>) -> Option<Event<'a>> {
    let mut event = Event::parse(node)?;
    event.single_line();
    Some(event)
}

/// A value as it is spelled, unless that takes several lines: it becomes part of one.
fn one_line<'a>(node: Node<'_, 'a>) -> Raw<'a> {
    match memchr::memchr2(b'\n', b'\r', node.raw().as_bytes()) {
        Some(_) => Raw::owned(compact(node)),
        None => Raw::from(node),
    }
}

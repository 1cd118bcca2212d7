//! Validating a source against its dialect.
//!
//! Owned here: the driver that cuts a source and reports what is not JSON, and checks that
//! dialects share, driven by tables of fields ([`crate::journal::kind::Field`]).
//!
//! Invariant: hostile input gives diagnostics, never a panic, and memory stays in proportion to
//! the source.

use crate::diagnostic::Report;
use crate::dialect::Dialect;
use crate::journal::kind::{Field, Need, Type};
use crate::json::{Doc, Node, NodeKind};
use crate::record::{BYTE_ORDER_MARK, Framing, Role, split};
use crate::sse;

/// A dialect's checks, over one source.
pub trait Validator {
    /// Hears the server-sent event that the next value comes in; empty for a bare value.
    fn head(&mut self, _event: &str) {}

    /// Checks a record's value. `pointer` is the record's own.
    fn value(&mut self, pointer: &str, value: Node<'_, '_>, report: &mut Report);

    /// Checks a server-sent event that is not a JSON value, such as `[DONE]` or a comment.
    fn event(&mut self, pointer: &str, event: &str, report: &mut Report) {
        if let sse::Data::Line { text, .. } = sse::data(event)
            && text.trim() != "[DONE]"
        {
            report.error("json-syntax", pointer, None, "the event's data is not JSON");
        }
    }

    /// The source has ended.
    fn finish(&mut self, _report: &mut Report) {}
}

/// Checks a source.
pub fn validate(dialect: &Dialect, source: &[u8], report: &mut Report) {
    let text = match crate::json::from_utf8(source) {
        Ok(text) => text,
        Err(e) => {
            let at = e.valid_up_to();
            report.error("utf8", "", Some(at..at + 1), format!("invalid UTF-8 at byte {at}"));
            return;
        }
    };
    let begin = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text).trim();
    if begin.is_empty() {
        report.error("empty", "", None, "the source is empty");
        return;
    }
    let mut validator = (dialect.validator)();
    let depth = dialect.depth(text);
    let array = dialect.framing != Framing::Document && begin.starts_with('[');
    // Server-sent events may begin with one.
    let json = dialect.framing != Framing::Sse || begin.starts_with(['{', '[']);
    if json && text.starts_with(BYTE_ORDER_MARK) {
        let message = "a byte order mark, which JSON does not have";
        report.warning("byte-order-mark", "", Some(0..BYTE_ORDER_MARK.len_utf8()), message);
    }
    if array && !text.trim_end().ends_with(']') {
        let end = text.trim_end().len();
        report.error("json-syntax", "", Some(end..end), "the array is not closed");
    }
    split(dialect.framing, text, |record| {
        let from = offset_in(text, record.body);
        report.set_offset(from);
        let pointer = match dialect.framing {
            Framing::Document => String::new(),
            _ => format!("/{}", record.index),
        };
        if record.role == Role::Tail {
            if !record.ends_well() {
                report.set_offset(offset_in(text, record.glue));
                let message = "the source ends inside a value";
                report.error("json-syntax", &pointer, Some(0..record.glue.len()), message);
            }
            return;
        }
        if dialect.framing == Framing::Sse && !record.body.starts_with(['{', '[']) && !array {
            truncated(&pointer, record.body, report);
            foreign(&pointer, record.body, report);
        }
        let parsed = if record.body.trim_start().starts_with(['{', '['])
            || dialect.framing != Framing::Sse
            || array
        {
            validator.head("");
            Doc::parse_within(record.body, depth).map(|doc| (0, doc))
        } else {
            validator.head(record.body);
            match sse::data(record.body) {
                sse::Data::Line { offset, text }
                    if text.starts_with(['{', '[', '"']) && text != "[DONE]" =>
                {
                    Doc::parse_within(text, depth).map(|doc| (offset, doc)).map_err(|mut e| {
                        e.at += offset;
                        e
                    })
                }
                sse::Data::Joined(_) if sse::unseparated(record.body).is_some() => {
                    let message = "events without a blank line between them";
                    report.warning("sse-separator", &pointer, None, message);
                    for line in sse::unseparated(record.body).into_iter().flatten() {
                        if let sse::Data::Line { text, .. } = sse::data(line)
                            && let Ok(doc) = Doc::parse_within(text, depth)
                        {
                            validator.value(&pointer, doc.root(), report);
                        }
                    }
                    return;
                }
                sse::Data::Joined(text) => {
                    match Doc::parse_within(&text, depth) {
                        Ok(doc) => validator.value(&pointer, doc.root(), report),
                        Err(e) => report.error("json-syntax", &pointer, None, e.to_string()),
                    }
                    return;
                }
                _ => {
                    validator.event(&pointer, record.body, report);
                    return;
                }
            }
        };
        match parsed {
            Ok((offset, doc)) => {
                report.set_offset(from + offset);
                validator.value(&pointer, doc.root(), report);
            }
            Err(e) => {
                let message = format!("not JSON: {}", e.kind);
                report.error("json-syntax", &pointer, Some(e.at..e.at + 1), message);
            }
        }
    });
    report.set_offset(0);
    validator.finish(report);
}

/// Checks that an event is complete. Readers drop one without its blank line, though some writers
/// leave out the last.
fn truncated(pointer: &str, event: &str, report: &mut Report) {
    let span = Some(0..event.len());
    if !event.ends_with(['\n', '\r']) {
        let message = "the stream ends inside an event: its blank line is missing";
        report.error("sse-truncated", pointer, span, message);
    } else if !["\n\n", "\r\r", "\n\r\n"].iter().any(|end| event.ends_with(end))
        && event.contains(|c| c != '\n' && c != '\r')
    {
        let message = "the stream ends without the blank line that completes its last event";
        report.warning("sse-truncated", pointer, span, message);
    }
}

/// Checks that an event has at least one field that events have. The head of a response that was
/// saved with it passes.
fn foreign(pointer: &str, event: &str, report: &mut Report) {
    // A recording may begin with the response's own head.
    if sse::fields(event).next().is_some() && !event.starts_with("HTTP/") && !sse::is_event(event) {
        if pointer == "/0" && event.starts_with("HTTP/") {
            let message = "the head of an HTTP response before the stream";
            report.warning("sse-http-head", pointer, Some(0..event.len()), message);
            return;
        }
        let message = "not a server-sent event: it has no data, event, id, retry or comment line";
        report.error("sse-field", pointer, Some(0..event.len()), message);
    }
}

/// Where a part of the text begins; 0 for one that is not a part of it.
fn offset_in(text: &str, part: &str) -> usize {
    let at = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
    at.filter(|at| *at <= text.len()).unwrap_or(0)
}

/// The span of a node, for a diagnostic.
pub fn span(node: Node<'_, '_>) -> Option<std::ops::Range<usize>> {
    Some(node.start()..node.end())
}

/// Checks that an object has the fields of a table, with their types. Unknown fields are fine.
pub fn fields(pointer: &str, object: Node<'_, '_>, table: &[Field], report: &mut Report) {
    if !object.is_object() {
        report.error("wrong-type", pointer, span(object), "expected an object");
        return;
    }
    for field in table {
        match object.get(field.name) {
            None if field.need == Need::Must => {
                let message = format!("`{}` is missing", field.name);
                report.error("missing-field", pointer, span(object), message);
            }
            Some(value) if value.is_null() && field.need == Need::May => {}
            // As a rule. Where it is need not be put into words then.
            Some(value) if fits(value, field.ty) => {}
            Some(value) => {
                check_type(&format!("{pointer}/{}", field.name), value, field.ty, report);
            }
            None => {}
        }
    }
}

/// Whether a value is of a type.
fn fits(value: Node<'_, '_>, ty: Type) -> bool {
    match ty {
        Type::Any => true,
        Type::Text => value.is_string(),
        Type::Number => value.kind() == NodeKind::Number,
        Type::Integer => {
            value.i64().is_some() || value.f64().is_some_and(|number| number.fract() == 0.0)
        }
        Type::Bool => value.kind() == NodeKind::Bool,
        Type::Object => value.is_object(),
        Type::Array => value.is_array(),
        // A string that has no text is let pass: it is no other value.
        Type::OneOf(values) => {
            value.is_string() && value.str().is_none_or(|text| values.contains(&text.as_ref()))
        }
    }
}

/// Checks one value's type.
pub fn check_type(pointer: &str, value: Node<'_, '_>, ty: Type, report: &mut Report) {
    if fits(value, ty) {
        return;
    }
    let expected = match ty {
        Type::OneOf(values) if value.is_string() => {
            let text = value.str().unwrap_or_default();
            let message = format!("`{}` is not one of {}", brief(&text), values.join(", "));
            report.error("unknown-value", pointer, span(value), message);
            return;
        }
        Type::Any => return,
        Type::Text | Type::OneOf(_) => "a string",
        Type::Number => "a number",
        Type::Integer => "a whole number",
        Type::Bool => "a boolean",
        Type::Object => "an object",
        Type::Array => "an array",
    };
    let message = format!("expected {expected}, found `{}`", brief(value.raw()));
    report.error("wrong-type", pointer, span(value), message);
}

/// The beginning of a value, for messages.
pub fn brief(text: &str) -> String {
    let mut out: String = text.chars().take(40).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

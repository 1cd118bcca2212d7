//! The words of an event: what a person would read.

use crate::db::{self, Connection};
use selvedge_protocol::journal::{Kind, Visibility};
use selvedge_protocol::json::Node;

use super::spoken;

/// Bytes of one event's words that are kept for search.
const SEARCHED: usize = 64 << 10;
/// Bytes of a tool's result that are kept: the rest is data more than words.
const RESULT: usize = 4 << 10;

/// Whose event, and which: text that was streamed is in the events before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) thread: i64,
    pub(crate) seq: u64,
}

/// What someone said with an event: a finished text that participants may see.
pub(crate) fn said(
    conn: &Connection,
    place: Place,
    event: Node<'_, '_>,
    kind: Kind,
) -> db::Result<Option<String>> {
    if !is_shown(event, kind) {
        return Ok(None);
    }
    let said = match kind {
        // What a task said is found where it said it.
        Kind::Message if event.get("answers").is_some() => None,
        Kind::Message | Kind::ContentComplete => event.get("content").map(|content| {
            let mut out = String::new();
            parts(content, &mut out);
            out
        }),
        Kind::PartFinished => spoken::part(conn, place.thread, place.seq, event)?,
        _ => None,
    };
    Ok(said.filter(|text| !text.trim().is_empty()))
}

/// What can be found of an event.
pub(crate) fn found(
    conn: &Connection,
    place: Place,
    event: Node<'_, '_>,
    kind: Kind,
) -> db::Result<Option<String>> {
    let mut out = String::new();
    match kind {
        Kind::Message | Kind::ContentComplete | Kind::PartFinished => {
            let said = said(conn, place, event, kind)?;
            return Ok(said.map(|said| cut(said, SEARCHED)));
        }
        _ if !is_shown(event, kind) => return Ok(None),
        Kind::ToolComplete => {
            for field in ["result", "error"] {
                if let Some(value) = event.get(field) {
                    strings(value, RESULT, &mut out);
                }
            }
            out = cut(out, RESULT);
        }
        Kind::ThreadCreated | Kind::ThreadUpdated => {
            if let Some(title) = event.get("title") {
                push(title, &mut out);
            }
        }
        _ => {}
    }
    Ok(Some(out).filter(|text| !text.trim().is_empty()))
}

/// Whether a kind may have something that can be found.
pub(crate) fn may_be_found(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Message
            | Kind::ContentComplete
            | Kind::PartFinished
            | Kind::ToolComplete
            | Kind::ThreadCreated
            | Kind::ThreadUpdated
    )
}

fn is_shown(event: Node<'_, '_>, kind: Kind) -> bool {
    Visibility::of(event, kind.name()) <= Visibility::Participants
}

/// The first so many characters of a text, on one line.
pub(crate) fn beginning(text: &str, chars: usize) -> String {
    let mut out = String::new();
    let mut left = chars;
    for word in text.split_whitespace() {
        if !out.is_empty() && left > 0 {
            out.push(' ');
            left -= 1;
        }
        out.extend(word.chars().take(left));
        left = left.saturating_sub(word.chars().count());
        if left == 0 {
            break;
        }
    }
    out
}

/// The text of a message's content: itself, or the texts of its parts.
fn parts(content: Node<'_, '_>, out: &mut String) {
    if content.is_array() {
        for part in content.children() {
            parts(part, out);
        }
    } else if content.is_object() {
        // Of the shapes in use, text is under one of these; files and data are under others.
        for field in ["text", "content", "value"] {
            if let Some(text) = content.get(field) {
                parts(text, out);
                return;
            }
        }
    } else {
        push(content, out);
    }
}

/// All strings of a value, up to about so many bytes.
fn strings(value: Node<'_, '_>, room: usize, out: &mut String) {
    let members = value.members().map(|(_, value)| value);
    for child in value.children().chain(members) {
        if out.len() >= room {
            return;
        }
        strings(child, room, out);
    }
    push(value, out);
}

fn push(value: Node<'_, '_>, out: &mut String) {
    if let Some(text) = value.str() {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    }
}

fn cut(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
    }
    text
}

//! Text that was streamed and never told whole: it is finished when its part is.

use crate::db::{self, Connection, params};
use selvedge_protocol::journal::{Kind, Visibility};
use selvedge_protocol::json::{Doc, Node};

/// Events that are looked through for the pieces of a part, and bytes that are gathered.
const EVENTS: usize = 4096;
const BYTES: usize = 64 << 10;

/// The text of the part that an event of a thread closes: the end of it if it is very long, or
/// began before the thread branched off.
pub(crate) fn part(
    conn: &Connection,
    thread: i64,
    seq: u64,
    closing: Node<'_, '_>,
) -> db::Result<Option<String>> {
    let Some(id) = closing.get("partId").filter(|id| id.is_string()) else { return Ok(None) };
    if closing.get("partType").is_some_and(|ty| !ty.is("text")) {
        return Ok(None);
    }
    let mut statement = conn.prepare_cached(
        "SELECT j.first, j.body FROM position p JOIN journal j ON j.row = p.row \
         WHERE p.thread = ?1 AND p.last <= \
             (SELECT min(last) FROM position WHERE thread = ?1 AND last >= ?2) \
         ORDER BY p.last DESC LIMIT ?3",
    )?;
    let at_once = conn.at_once().min(EVENTS as i64);
    let mut pieces = Vec::new();
    let (mut room, mut left) = (BYTES, EVENTS);
    // Up to which entry there is more to look at.
    let mut from = seq;
    'part: loop {
        let mut rows = statement.query(params![thread, from as i64, at_once])?;
        let mut count = 0;
        while let Some(row) = rows.next()? {
            let first = row.get::<i64>(0)? as u64;
            (from, count) = (first - 1, count + 1);
            let body = row.get_ref(1)?;
            let lines: Vec<&str> = body.as_str().unwrap_or_default().split('\n').collect();
            let before = usize::try_from(seq.saturating_sub(first)).unwrap_or(usize::MAX);
            for line in lines.iter().take(before).rev() {
                match read(line, id) {
                    Line::Piece(piece) => {
                        room = room.saturating_sub(piece.len());
                        pieces.push(piece);
                    }
                    Line::Start => break 'part,
                    Line::Whole => return Ok(None),
                    Line::Other => {}
                }
                left -= 1;
                if room == 0 || left == 0 {
                    break 'part;
                }
            }
        }
        if count < at_once || at_once == EVENTS as i64 {
            break;
        }
    }
    pieces.reverse();
    Ok(Some(pieces.concat()).filter(|text| !text.is_empty()))
}

/// What a line before the closing of a part is to it.
enum Line {
    Piece(String),
    Start,
    /// The whole text, told before.
    Whole,
    Other,
}

fn read(line: &str, id: Node<'_, '_>) -> Line {
    // Other parts and much else stand between: they need not be parsed to be passed over.
    if !line.contains(id.raw()) {
        return Line::Other;
    }
    let event = line.split('\t').next().unwrap_or_default();
    let Ok(doc) = Doc::parse(event) else { return Line::Other };
    let node = doc.root();
    let Some(name) = node.get("kind").and_then(Node::str) else { return Line::Other };
    if node.get("partId").is_none_or(|own| own.raw() != id.raw()) {
        return Line::Other;
    }
    match Kind::named(&name) {
        Kind::PartStarted => Line::Start,
        Kind::ContentComplete => Line::Whole,
        Kind::ContentDelta if Visibility::of(node, &name) <= Visibility::Participants => {
            let delta = node.get("delta").and_then(Node::str);
            delta.map_or(Line::Other, |delta| Line::Piece(delta.into_owned()))
        }
        _ => Line::Other,
    }
}

//! Finding words, the newest event first.

use rusqlite::{Connection, OptionalExtension as _, params};
use selvedge_protocol::journal::Visibility;
use selvedge_protocol::json::{Doc, Node};

use super::PAGE;
use crate::ReadError;
use crate::query::{Found, Listed, Piece, Place};
use crate::sqlite::search::{place, tenant_word, words};
use crate::sqlite::text;

/// Words that are looked for, and characters of each; more are left out.
const TERMS: usize = 32;
const TERM: usize = 128;
/// Words around a hit.
const AROUND: i64 = 24;

/// Events whose text has all the words.
pub(crate) fn search(
    conn: &Connection,
    tenant: &str,
    asked: &str,
    limit: usize,
    after: Option<&Place>,
) -> Result<Listed<Found>, ReadError> {
    let [before] = after.map_or(Ok([i64::MAX]), Place::numbers)?;
    let Some(terms) = terms(asked) else { return Ok(Listed::default()) };
    let matching = format!("tenant : {} AND text : ({terms})", tenant_word(tenant));
    let mut find = conn.prepare_cached(
        "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
    )?;
    let mut rows = find.query(params![matching, before])?;
    let limit = limit.clamp(1, PAGE);
    let mut listed = Listed::default();
    let mut last = before;
    while let Some(row) = rows.next()? {
        if listed.items.len() == limit {
            listed.next = Some(Place::of([last]));
            break;
        }
        let number = row.get(0)?;
        if let Some(found) = found(conn, tenant, &terms, number)? {
            listed.items.push(found);
        }
        last = number;
    }
    Ok(listed)
}

/// What was asked for as an expression of FTS5: each word or quoted phrase as a string, so that
/// nothing in it is an operator. A `*` behind a word stands for any ending.
fn terms(asked: &str) -> Option<String> {
    let mut out = String::new();
    let mut count = 0;
    let mut add = |term: &str, ending: &str| {
        let term: String = term.chars().filter(|c| !c.is_control()).take(TERM).collect();
        if count < TERMS && term.chars().any(char::is_alphanumeric) {
            if count > 0 {
                out.push_str(" AND ");
            }
            out.push('"');
            out.push_str(&term.replace('"', " "));
            out.push('"');
            out.push_str(ending);
            count += 1;
        }
    };
    for (i, stretch) in asked.split('"').enumerate() {
        // Between a first and a second quote.
        if i % 2 == 1 {
            add(stretch, "");
            continue;
        }
        for word in stretch.split(|c: char| c.is_whitespace() || c.is_control()) {
            match word.strip_suffix('*') {
                Some(word) => add(word, " *"),
                None => add(word, ""),
            }
        }
    }
    (count > 0).then_some(out)
}

/// The event of a number in the index.
fn found(
    conn: &Connection,
    tenant: &str,
    terms: &str,
    number: i64,
) -> Result<Option<Found>, ReadError> {
    let (row, line) = place(number);
    let mut find = conn.prepare_cached(
        "SELECT t.id, j.first, j.at, j.body, t.num, s.title FROM journal j \
         JOIN thread t ON t.num = j.thread LEFT JOIN summary s ON s.thread = t.num \
         WHERE j.row = ?1 AND t.tenant = ?2 AND t.deleted IS NULL",
    )?;
    let read = |row: &rusqlite::Row<'_>| {
        let seq = row.get::<_, i64>(1)? as u64 + line as u64;
        let place = text::Place { thread: row.get(4)?, seq };
        let (thread, title): (String, Option<String>) = (row.get(0)?, row.get(5)?);
        Ok((thread, title, place, row.get(2)?, row.get::<_, String>(3)?))
    };
    let found = find.query_row(params![row, tenant], read).optional()?;
    let Some((thread, title, place, at, body)) = found else { return Ok(None) };
    let event = body.split('\n').nth(line).and_then(|line| line.split('\t').next());
    let Some(event) = event else { return Ok(None) };
    let Some(words) = words(conn, place, event)? else { return Ok(None) };
    let snippet = snippet(conn, terms, &words)?;
    let visibility = visible(event);
    Ok(Some(Found { thread, title, seq: place.seq, at, visibility, snippet }))
}

fn visible(event: &str) -> Visibility {
    let Ok(doc) = Doc::parse(event) else { return Visibility::Internal };
    let kind = doc.root().get("kind").and_then(Node::str).unwrap_or_default();
    Visibility::of(doc.root(), &kind)
}

/// The text around the words. The index has no text, so that of the event is put into one of its
/// own: what is a word, and which are the same, is then seen as the index sees it.
fn snippet(conn: &Connection, terms: &str, words: &str) -> Result<Vec<Piece>, ReadError> {
    conn.prepare_cached(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.shown \
         USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')",
    )?
    .execute([])?;
    conn.prepare_cached("DELETE FROM temp.shown")?.execute([])?;
    let words: String = words.chars().filter(|c| !matches!(c, '\u{2}' | '\u{3}')).collect();
    conn.prepare_cached("INSERT INTO temp.shown (text) VALUES (?1)")?.execute(params![words])?;
    let mut find = conn.prepare_cached(
        "SELECT snippet(shown, 0, char(2), char(3), '…', ?2) FROM temp.shown WHERE shown MATCH ?1",
    )?;
    let marked: Option<String> =
        find.query_row(params![terms, AROUND], |row| row.get(0)).optional()?;
    Ok(pieces(&marked.unwrap_or_else(|| text::beginning(&words, 200))))
}

/// Text with hits between marks, in pieces.
fn pieces(marked: &str) -> Vec<Piece> {
    let mut out = Vec::new();
    for stretch in marked.split_inclusive(['\u{2}', '\u{3}']) {
        let piece = stretch.trim_end_matches(['\u{2}', '\u{3}']).to_owned();
        if !piece.is_empty() {
            let is_hit = stretch.ends_with('\u{3}');
            out.push(if is_hit { Piece::Hit(piece) } else { Piece::Around(piece) });
        }
    }
    out
}

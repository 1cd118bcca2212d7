//! Finding words, the newest event first.

use selvedge_protocol::journal::Visibility;
use selvedge_protocol::json::{Doc, Node};

use super::{Ranked, page_of};
use crate::db::{self, Connection, Optional as _, Row, params};
use crate::query::{Found, Piece};
use crate::rows::text;
use crate::rows::words::{place, tenant_word, words};
use crate::{ReadError, postgres};

/// Words that are looked for, and characters of each; more are left out.
const TERMS: usize = 32;
const TERM: usize = 128;
/// Words around a hit.
const AROUND: i64 = 24;

/// A word or words that stand together.
pub(crate) struct Term {
    pub(crate) text: String,
    /// Whether the last word may go on.
    pub(crate) is_beginning: bool,
}

/// Events whose text has all the words, of those before a number in the index.
pub(crate) fn search(
    conn: &Connection,
    tenant: &str,
    asked: &str,
    limit: usize,
    before: i64,
) -> Result<Ranked<Found, 1>, ReadError> {
    let terms = terms(asked);
    if terms.is_empty() {
        return Ok(Vec::new());
    }
    // One more, to see whether there is a next page.
    let most = page_of(limit) + 1;
    match conn {
        Connection::Sqlite(file) => in_file(conn, file, tenant, &terms, most, before),
        Connection::Postgres(_) => postgres::search(conn, tenant, &terms, most, before),
    }
}

fn in_file(
    conn: &Connection,
    file: &rusqlite::Connection,
    tenant: &str,
    terms: &[Term],
    most: usize,
    before: i64,
) -> Result<Ranked<Found, 1>, ReadError> {
    let terms = expression(terms);
    let matching = format!("tenant : {} AND text : ({terms})", tenant_word(tenant));
    let mut find = conn.prepare_cached(
        "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid < ?2 ORDER BY rowid DESC",
    )?;
    let mut rows = find.query(params![matching, before])?;
    let mut ranked = Vec::new();
    while ranked.len() < most
        && let Some(row) = rows.next()?
    {
        let number = row.get(0)?;
        let found = found(conn, file, tenant, &terms, number)?;
        ranked.extend(found.map(|found| (found, [number])));
    }
    Ok(ranked)
}

/// What is asked for: each word or quoted phrase. A `*` behind a word stands for any ending.
fn terms(asked: &str) -> Vec<Term> {
    let mut out = Vec::new();
    let mut add = |term: &str, is_beginning: bool| {
        let text: String = term.chars().filter(|c| !c.is_control()).take(TERM).collect();
        if out.len() < TERMS && text.chars().any(char::is_alphanumeric) {
            out.push(Term { text, is_beginning });
        }
    };
    for (i, stretch) in asked.split('"').enumerate() {
        // Between a first and a second quote.
        if i % 2 == 1 {
            add(stretch, false);
            continue;
        }
        for word in stretch.split(|c: char| c.is_whitespace() || c.is_control()) {
            match word.strip_suffix('*') {
                Some(word) => add(word, true),
                None => add(word, false),
            }
        }
    }
    out
}

/// As an expression of FTS5: each as a string, so that nothing in it is an operator.
pub(crate) fn expression(terms: &[Term]) -> String {
    let quoted = terms.iter().map(|term| {
        let ending = if term.is_beginning { " *" } else { "" };
        format!("\"{}\"{ending}", term.text.replace('"', " "))
    });
    quoted.collect::<Vec<_>>().join(" AND ")
}

/// A row of the journal with an event that was found.
pub(crate) struct Located {
    thread: String,
    title: Option<String>,
    at: i64,
    body: String,
    pub(crate) place: text::Place,
}

impl Located {
    /// The event of a line.
    pub(crate) fn event(&self, line: usize) -> Option<&str> {
        self.body.split('\n').nth(line).and_then(|line| line.split('\t').next())
    }

    pub(crate) fn found(self, visibility: Visibility, snippet: Vec<Piece>) -> Found {
        let Self { thread, title, at, place, .. } = self;
        Found { thread, title, seq: place.seq, at, visibility, snippet }
    }
}

/// A row as `id, first, at, body, num, title`.
pub(crate) fn located(row: &Row<'_>, line: usize) -> db::Result<Located> {
    let seq = row.get::<i64>(1)? as u64 + line as u64;
    let place = text::Place { thread: row.get(4)?, seq };
    let (thread, title) = (row.get(0)?, row.get(5)?);
    Ok(Located { thread, title, at: row.get(2)?, body: row.get(3)?, place })
}

/// The event of a number in the index.
fn found(
    conn: &Connection,
    file: &rusqlite::Connection,
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
    let row = find.query_row(params![row, tenant], |row| located(row, line)).optional()?;
    let Some(located) = row else { return Ok(None) };
    let Some(event) = located.event(line) else { return Ok(None) };
    let Some(words) = words(conn, located.place, event)? else { return Ok(None) };
    let snippet = snippet(file, terms, &words)?;
    let snippet = snippet.unwrap_or_else(|| pieces(&text::beginning(&words, 200)));
    let visibility = visible(event);
    Ok(Some(located.found(visibility, snippet)))
}

/// Who may see an event.
pub(crate) fn visible(event: &str) -> Visibility {
    let Ok(doc) = Doc::parse(event) else { return Visibility::Internal };
    let kind = doc.root().get("kind").and_then(Node::str).unwrap_or_default();
    Visibility::of(doc.root(), &kind)
}

/// An index of one text, in memory.
pub(crate) struct Shown(rusqlite::Connection);

impl Shown {
    pub(crate) fn new() -> db::Result<Self> {
        let file = rusqlite::Connection::open_in_memory()?;
        file.pragma_update(None, "temp_store", "memory")?;
        put(&file, "")?;
        Ok(Self(file))
    }

    pub(crate) fn file(&self) -> &rusqlite::Connection {
        &self.0
    }

    /// Takes a text in place of the one before.
    pub(crate) fn put(&self, text: &str) -> db::Result<()> {
        put(&self.0, text)
    }

    /// The text around the words, if they are in it.
    pub(crate) fn snippet(&self, terms: &str, words: &str) -> db::Result<Option<Vec<Piece>>> {
        snippet(&self.0, terms, words)
    }
}

fn put(file: &rusqlite::Connection, text: &str) -> db::Result<()> {
    file.prepare_cached(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.shown \
         USING fts5 (text, tokenize = 'unicode61 remove_diacritics 2')",
    )?
    .execute([])?;
    file.prepare_cached("DELETE FROM temp.shown")?.execute([])?;
    file.prepare_cached("INSERT INTO temp.shown (text) VALUES (?1)")?.execute(params![text])?;
    Ok(())
}

/// The text around the words. The index has no text, so that of the event is put into one of its
/// own: what is a word, and which are the same, is then seen as the index sees it.
fn snippet(
    file: &rusqlite::Connection,
    terms: &str,
    words: &str,
) -> db::Result<Option<Vec<Piece>>> {
    let words: String = words.chars().filter(|c| !matches!(c, '\u{2}' | '\u{3}')).collect();
    put(file, &words)?;
    let mut find = file.prepare_cached(
        "SELECT snippet(shown, 0, char(2), char(3), '…', ?2) FROM temp.shown WHERE shown MATCH ?1",
    )?;
    let mut marked = find.query(params![terms, AROUND])?;
    Ok(match marked.next()? {
        Some(row) => Some(pieces(&row.get::<_, String>(0)?)),
        None => None,
    })
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

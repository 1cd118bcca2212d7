//! Words in PostgreSQL's index. What a word is, and whether they stand as asked, is decided by
//! SQLite's index of the one text: the two databases find the same.
//!
//! Invariant: whatever the text of an event matches, the words of the text are in its row, so no
//! match is missed; what does not match after all is passed over.

use rusqlite::params as sqlite_params;
use sqlx_postgres::PgArguments;

use super::Client;
use super::threads::add as argue;
use crate::db::{self, Connection, Optional as _, params};
use crate::query::Found;
use crate::rows::query::Ranked;
use crate::rows::query::search::{Shown, Term, expression, located, visible};
use crate::rows::text::Place;
use crate::rows::words::{number, place, tenant_word, words};
use crate::{Batch, ReadError};

/// Counts the changes to what the index holds: another number makes it anew.
pub(super) const VERSION: i64 = 1;
/// Bytes of a word that are kept; PostgreSQL takes no longer ones. What is looked for is shorter.
const WORD_BYTES: usize = 2000;
/// Stands between words where several are one text; a word is letters and digits.
const BETWEEN: &str = "\u{1f}";
/// Rows of the index that are looked at together.
const ROWS: i64 = 256;

/// Finds the words of a text.
pub(super) struct Tokens {
    shown: Shown,
}

impl Tokens {
    pub(super) fn new() -> db::Result<Self> {
        let shown = Shown::new()?;
        shown
            .file()
            .execute_batch("CREATE VIRTUAL TABLE temp.word USING fts5vocab(temp, shown, row)")?;
        Ok(Self { shown })
    }

    /// The words of a text, each once.
    fn of(&self, text: &str) -> db::Result<Vec<String>> {
        self.shown.put(text)?;
        let mut find = self.shown.file().prepare_cached("SELECT term FROM temp.word")?;
        let found = find.query_map([], |row| row.get::<_, String>(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }

    /// The words of a text in the order they stand in.
    fn in_order(&self, text: &str) -> db::Result<Vec<String>> {
        self.shown.put(text)?;
        let file = self.shown.file();
        file.execute_batch(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.place \
             USING fts5vocab(temp, shown, instance)",
        )?;
        let mut find = file.prepare_cached("SELECT term FROM temp.place ORDER BY offset")?;
        let found = find.query_map(sqlite_params![], |row| row.get::<_, String>(0))?;
        Ok(found.collect::<rusqlite::Result<_>>()?)
    }
}

/// Lines of the index that wait to be written.
#[derive(Default)]
pub(super) struct Lines {
    numbers: Vec<i64>,
    threads: Vec<i64>,
    seqs: Vec<i64>,
    /// The words of each, with [`BETWEEN`] between them.
    words: Vec<String>,
}

impl Lines {
    /// Adds a row of the journal.
    pub(super) fn add(
        &mut self,
        conn: &Connection,
        tokens: &Tokens,
        row: i64,
        (thread, tenant): (i64, &str),
        batch: &Batch,
    ) -> db::Result<()> {
        for (line, (seq, (event, _))) in batch.lines().enumerate() {
            let place = Place { thread, seq };
            let event = std::str::from_utf8(event).unwrap_or_default();
            if let Some(words) = words(conn, place, event)?
                && let Some(number) = number(row, line)
            {
                let mut list: Vec<String> = tokens.of(&words)?.into_iter().map(cut).collect();
                list.push(of_tenant(tenant));
                self.numbers.push(number);
                self.threads.push(thread);
                self.seqs.push(seq as i64);
                self.words.push(list.join(BETWEEN));
            }
        }
        Ok(())
    }

    /// Writes them.
    pub(super) fn write(self, client: &Client) -> db::Result<()> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let mut arguments = PgArguments::default();
        argue(&mut arguments, self.numbers)?;
        argue(&mut arguments, self.threads)?;
        argue(&mut arguments, self.seqs)?;
        argue(&mut arguments, self.words)?;
        argue(&mut arguments, BETWEEN)?;
        client.run(
            "INSERT INTO search (rowid, thread, seq, words) \
             SELECT n.rowid, n.thread, n.seq, array_to_tsvector(string_to_array(n.words, $5)) \
             FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[]) \
                 AS n (rowid, thread, seq, words) ON CONFLICT DO NOTHING",
            arguments,
        )?;
        Ok(())
    }
}

/// A tenant as a word that no text has.
fn of_tenant(tenant: &str) -> String {
    cut(format!("={}", tenant_word(tenant)))
}

/// A word of SQLite's index as it is in this one.
pub(crate) fn indexed(term: String, is_tenant: bool) -> String {
    cut(if is_tenant { format!("={term}") } else { term })
}

fn cut(mut word: String) -> String {
    if word.len() > WORD_BYTES {
        word.truncate(word.floor_char_boundary(WORD_BYTES));
    }
    word
}

/// What must be in the index for all terms to be in a text; none if no word is asked for.
fn needed(tokens: &Tokens, tenant: &str, terms: &[Term]) -> db::Result<Option<String>> {
    let quoted = |word: &str| format!("'{}'", word.replace('\\', "\\\\").replace('\'', "''"));
    let mut all = vec![quoted(&of_tenant(tenant))];
    for term in terms {
        let words = tokens.in_order(&term.text)?;
        let count = words.len();
        for (i, word) in words.into_iter().enumerate() {
            let is_open = term.is_beginning && i + 1 == count;
            all.push(format!("{}{}", quoted(&cut(word)), if is_open { ":*" } else { "" }));
        }
    }
    Ok((all.len() > 1).then(|| all.join(" & ")))
}

/// Events whose text has all the words, at most so many of those before a number in the index.
pub(crate) fn search(
    conn: &Connection,
    tenant: &str,
    terms: &[Term],
    most: usize,
    mut before: i64,
) -> Result<Ranked<Found, 1>, ReadError> {
    let tokens = Tokens::new()?;
    let mut ranked = Vec::new();
    let Some(needed) = needed(&tokens, tenant, terms)? else { return Ok(ranked) };
    let expression = expression(terms);
    loop {
        let mut find = conn.prepare_cached(
            "SELECT rowid, thread, seq FROM search \
             WHERE words @@ CAST(?1 AS tsquery) AND rowid < ?2 ORDER BY rowid DESC LIMIT ?3",
        )?;
        let rows = find.query_map(params![needed, before, ROWS], |row| {
            Ok((row.get::<i64>(0)?, row.get::<i64>(1)?, row.get::<i64>(2)?))
        })?;
        let rows = rows.collect::<db::Result<Vec<_>>>()?;
        let count = rows.len() as i64;
        for (number, thread, seq) in rows {
            let at = Place { thread, seq: seq as u64 };
            let found = found(conn, &tokens, tenant, &expression, number, at)?;
            ranked.extend(found.map(|found| (found, [number])));
            if ranked.len() == most {
                return Ok(ranked);
            }
            before = number;
        }
        if count < ROWS {
            return Ok(ranked);
        }
    }
}

/// The event of a number in the index, if its text matches.
fn found(
    conn: &Connection,
    tokens: &Tokens,
    tenant: &str,
    expression: &str,
    number: i64,
    at: Place,
) -> Result<Option<Found>, ReadError> {
    let (row, line) = place(number);
    let mut find = conn.prepare_cached(
        "SELECT t.id, j.first, j.at, j.body, t.num, s.title FROM journal j \
         JOIN thread t ON t.num = j.thread LEFT JOIN summary s ON s.thread = t.num \
         WHERE j.thread = ?3 AND j.last >= ?4 AND j.row = ?1 AND t.tenant = ?2 \
             AND t.deleted IS NULL ORDER BY j.last LIMIT 1",
    )?;
    let row =
        find.query_row(params![row, tenant, at.thread, at.seq as i64], |row| located(row, line));
    let Some(located) = row.optional()? else { return Ok(None) };
    let Some(event) = located.event(line) else { return Ok(None) };
    let Some(words) = words(conn, located.place, event)? else { return Ok(None) };
    let Some(snippet) = tokens.shown.snippet(expression, &words)? else { return Ok(None) };
    let visibility = visible(event);
    Ok(Some(located.found(visibility, snippet)))
}

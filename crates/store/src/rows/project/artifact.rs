//! Artifacts and their versions: how far each has come, not what is in it.

use crate::db::{self, Connection, Optional as _, Row, params};
use selvedge_protocol::journal::{Kind, Visibility};
use selvedge_protocol::json::Raw;

use super::Seen;
use super::thread::Thread;
use crate::rows::text;

/// Characters of a description that a list shows.
const DESCRIPTION: usize = 1000;

/// A version while chunks come.
#[derive(Debug, Default)]
struct Version {
    number: i64,
    mime: Option<String>,
    /// As told by its own chunks.
    name: Option<String>,
    description: Option<String>,
    /// Who may see it: whoever may see all of its chunks.
    visibility: i64,
    first: i64,
    last: i64,
    size: i64,
    rows: i64,
    complete: bool,
    /// The chunk that is waited for, and the last one, once known.
    next: i64,
    end: Option<i64>,
}

impl Version {
    /// Takes in what a chunk says of the whole.
    fn note(&mut self, seen: &Seen<'_, '_>) {
        self.visibility = self.visibility.max(Visibility::of_event(seen.event).rank());
        let description = seen.text("description");
        let description = description.map(|own| text::beginning(&own, DESCRIPTION));
        self.name = seen.id("name").or(self.name.take());
        self.description = description.or(self.description.take());
    }
}

/// Takes a write in.
pub(super) fn write(conn: &Connection, thread: &mut Thread, seen: &Seen<'_, '_>) -> db::Result<()> {
    let Some(id) = seen.id("artifactId") else { return Ok(()) };
    let (kind, versions) = artifact(conn, thread, seen, &id)?;
    if kind == "data" {
        let size = seen.event.get("data").map_or("null", Raw::as_str).len() as i64;
        let mut version = begin(versions + 1, seen);
        version.note(seen);
        (version.size, version.complete, version.mime) = (size, true, seen.id("mimeType"));
        return save(conn, thread.num, &id, &version);
    }
    let index = seen.event.get("index").and_then(Raw::i64).unwrap_or(0);
    let mut version = match last(conn, thread.num, &id, versions)? {
        Some(open) if !open.complete => open,
        // A version is complete: only a first chunk begins another.
        Some(_) if index > 0 => return Ok(()),
        _ => begin(versions + 1, seen),
    };
    if index >= version.next && !is_held(conn, thread.num, &id, index)? {
        chunk(conn, thread.num, seen, &id, kind == "dataset", index, &mut version)?;
    }
    save(conn, thread.num, &id, &version)
}

fn chunk(
    conn: &Connection,
    thread: i64,
    seen: &Seen<'_, '_>,
    id: &str,
    is_dataset: bool,
    index: i64,
    version: &mut Version,
) -> db::Result<()> {
    version.last = seen.seq as i64;
    version.note(seen);
    if index == 0 {
        version.mime = seen.id("mimeType");
    }
    if seen.event.get("complete").and_then(Raw::bool) == Some(true) {
        version.end = Some(index);
    }
    let (size, rows) = if is_dataset { dataset_chunk(seen) } else { file_chunk(seen) };
    if index > version.next {
        let mut hold = conn.prepare_cached(
            "INSERT INTO artifact_early (thread, artifact, chunk, size, rows) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        hold.execute(params![thread, id, index, size, rows])?;
    } else {
        let mut release = conn.prepare_cached(
            "DELETE FROM artifact_early WHERE thread = ?1 AND artifact = ?2 AND chunk = ?3 \
             RETURNING size, rows",
        )?;
        let mut next = Some((size, rows));
        while let Some((size, rows)) = next {
            version.size = version.size.saturating_add(size);
            version.rows = version.rows.saturating_add(rows);
            version.next += 1;
            next = release
                .query_row(params![thread, id, version.next], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
        }
    }
    version.complete = version.end.is_some_and(|end| version.next > end);
    Ok(())
}

/// Bytes of a chunk of a file, decoded; base64 counts as written.
fn file_chunk(seen: &Seen<'_, '_>) -> (i64, i64) {
    (seen.event.str("data").map_or(0, |data| data.len()) as i64, 0)
}

/// Bytes and number of the rows.
fn dataset_chunk(seen: &Seen<'_, '_>) -> (i64, i64) {
    let Some(rows) = seen.event.get("rows").filter(|rows| rows.is_array()) else { return (0, 0) };
    let count = rows.doc().map_or(0, |doc| doc.root().children().count());
    (if count == 0 { 0 } else { rows.len() as i64 - 2 }, count as i64)
}

fn begin(number: i64, seen: &Seen<'_, '_>) -> Version {
    let seq = seen.seq as i64;
    Version { number, first: seq, last: seq, ..Version::default() }
}

/// The artifact's kind and number of versions; made if it is not there.
fn artifact(
    conn: &Connection,
    thread: &mut Thread,
    seen: &Seen<'_, '_>,
    id: &str,
) -> db::Result<(String, i64)> {
    let mut find =
        conn.prepare_cached("SELECT kind, versions FROM artifact WHERE thread = ?1 AND id = ?2")?;
    let found = find.query_row(params![thread.num, id], |row| Ok((row.get(0)?, row.get(1)?)));
    let found: Option<(String, i64)> = found.optional()?;
    let known = match found {
        Some(known) => known,
        None => {
            let kind = match seen.event.kind() {
                Kind::DataWrite => "data",
                Kind::DatasetWrite => "dataset",
                _ => "file",
            };
            let mut insert = conn.prepare_cached(
                "INSERT INTO artifact (thread, id, nth, kind, versions) VALUES (?1, ?2, ?3, ?4, 0)",
            )?;
            insert.execute(params![thread.num, id, thread.summary.artifacts, kind])?;
            thread.summary.artifacts += 1;
            (kind.to_owned(), 0)
        }
    };
    let name = seen.id("name");
    let description = seen.text("description").map(|own| text::beginning(&own, DESCRIPTION));
    if name.is_some() || description.is_some() {
        let mut update = conn.prepare_cached(
            "UPDATE artifact SET name = coalesce(?3, name), \
                 description = coalesce(?4, description) WHERE thread = ?1 AND id = ?2",
        )?;
        update.execute(params![thread.num, id, name, description])?;
    }
    Ok(known)
}

fn last(conn: &Connection, thread: i64, id: &str, number: i64) -> db::Result<Option<Version>> {
    let mut find = conn.prepare_cached(
        "SELECT version, mime, first, last, size, rows, complete, next, final, visibility, name, \
             description FROM artifact_version WHERE thread = ?1 AND artifact = ?2 AND version = ?3",
    )?;
    let read = |row: &Row<'_>| {
        Ok(Version {
            number: row.get(0)?,
            mime: row.get(1)?,
            first: row.get(2)?,
            last: row.get(3)?,
            size: row.get(4)?,
            rows: row.get(5)?,
            complete: row.get(6)?,
            next: row.get(7)?,
            end: row.get(8)?,
            visibility: row.get(9)?,
            name: row.get(10)?,
            description: row.get(11)?,
        })
    };
    find.query_row(params![thread, id, number], read).optional()
}

fn is_held(conn: &Connection, thread: i64, id: &str, index: i64) -> db::Result<bool> {
    conn.prepare_cached(
        "SELECT 1 FROM artifact_early WHERE thread = ?1 AND artifact = ?2 AND chunk = ?3",
    )?
    .exists(params![thread, id, index])
}

fn save(conn: &Connection, thread: i64, id: &str, version: &Version) -> db::Result<()> {
    let mut write = conn.prepare_cached(
        "INSERT INTO artifact_version \
             (thread, artifact, version, mime, first, last, size, rows, complete, next, final, \
              visibility, name, description) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) \
         ON CONFLICT (thread, artifact, version) DO UPDATE SET mime = ?4, first = ?5, last = ?6, \
             size = ?7, rows = ?8, complete = ?9, next = ?10, final = ?11, visibility = ?12, \
             name = ?13, description = ?14",
    )?;
    write.execute(params![
        thread,
        id,
        version.number,
        version.mime,
        version.first,
        version.last,
        version.size,
        version.rows,
        version.complete,
        version.next,
        version.end,
        version.visibility,
        version.name,
        version.description
    ])?;
    let mut count = conn.prepare_cached(
        "UPDATE artifact SET versions = ?3 WHERE thread = ?1 AND id = ?2 AND versions < ?3",
    )?;
    count.execute(params![thread, id, version.number])?;
    // Complete: what was held belongs to no version that is to come.
    if version.complete {
        conn.prepare_cached("DELETE FROM artifact_early WHERE thread = ?1 AND artifact = ?2")?
            .execute(params![thread, id])?;
    }
    Ok(())
}

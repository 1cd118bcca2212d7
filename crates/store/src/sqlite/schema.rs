//! Tables, and the way from an older version's to this one's.

use rusqlite::{Connection, Transaction};

/// The steps, in order; a database's `user_version` counts those it has taken.
const STEPS: &[&str] = &["
CREATE TABLE thread (
    num INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    created INTEGER NOT NULL,
    parent INTEGER REFERENCES thread (num),
    fork INTEGER NOT NULL DEFAULT 0,
    head INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX thread_by_id ON thread (tenant, id);

-- The truth: one row per append, in the order of commits. `body` has a line per event.
CREATE TABLE journal (
    row INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    at INTEGER NOT NULL,
    key TEXT,
    digest BLOB,
    body TEXT NOT NULL
) STRICT;

-- From here on: made from the journal, behind the acknowledgement.
CREATE TABLE position (
    thread INTEGER NOT NULL,
    last INTEGER NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (thread, last)
) STRICT, WITHOUT ROWID;
CREATE TABLE idempotency (
    thread INTEGER NOT NULL,
    key TEXT NOT NULL,
    row INTEGER NOT NULL,
    PRIMARY KEY (thread, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE followed (
    what TEXT PRIMARY KEY,
    row INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO followed VALUES ('position', 0);
"];

/// The version this code writes.
pub(super) const VERSION: i64 = STEPS.len() as i64;

/// The version a database has.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Takes the steps that are missing.
pub(super) fn migrate(tx: &Transaction<'_>, from: i64) -> rusqlite::Result<()> {
    for step in STEPS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        tx.execute_batch(step)?;
    }
    tx.pragma_update(None, "user_version", VERSION)
}

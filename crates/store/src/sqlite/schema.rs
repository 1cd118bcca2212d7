//! Tables, and the way from an older version's to this one's.

use rusqlite::{Connection, Transaction};

/// The steps, in order; a database's `user_version` counts those it has taken.
const STEPS: &[&str] = &[
    "
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
",
    "
-- A deleted thread frees its id at once. Its rows go behind, but for those its branches share.
ALTER TABLE thread DROP COLUMN head;
ALTER TABLE thread DROP COLUMN updated;
ALTER TABLE thread ADD COLUMN deleted INTEGER;
ALTER TABLE thread ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;
DROP INDEX thread_by_id;
CREATE UNIQUE INDEX thread_by_id ON thread (tenant, id) WHERE deleted IS NULL;
CREATE INDEX thread_by_parent ON thread (parent) WHERE parent IS NOT NULL;
CREATE INDEX thread_to_sweep ON thread (num) WHERE deleted IS NOT NULL AND swept = 0;

-- Which code made what follows: another version makes it anew.
ALTER TABLE followed ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
INSERT INTO followed VALUES ('projection', 0, 0), ('search', 0, 0);

-- What a list of threads shows. `working` to `told` are what the next event is judged by.
CREATE TABLE summary (
    thread INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    head INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    status TEXT NOT NULL,
    title TEXT,
    metadata TEXT,
    words TEXT,
    messages INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    participants INTEGER NOT NULL,
    artifacts INTEGER NOT NULL,
    working INTEGER NOT NULL,
    waiting INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    made INTEGER NOT NULL,
    told INTEGER NOT NULL
) STRICT;
CREATE INDEX summary_by_update ON summary (tenant, updated, thread);
CREATE INDEX summary_by_status ON summary (tenant, status, updated, thread);

CREATE TABLE participant (
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    nth INTEGER NOT NULL,
    since INTEGER NOT NULL,
    role TEXT,
    name TEXT,
    gone INTEGER NOT NULL,
    PRIMARY KEY (thread, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participant_by_id ON participant (tenant, id, thread);

-- Scalars of a thread's metadata, as canonical JSON, to filter by.
CREATE TABLE label (
    thread INTEGER NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    tenant TEXT NOT NULL,
    PRIMARY KEY (thread, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX label_by_value ON label (tenant, key, value, thread);

CREATE TABLE task (
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    nth INTEGER NOT NULL,
    parent TEXT,
    agent TEXT,
    initiator TEXT,
    model TEXT,
    state TEXT NOT NULL,
    announced INTEGER NOT NULL,
    told INTEGER NOT NULL,
    began INTEGER NOT NULL,
    began_at INTEGER NOT NULL,
    ended INTEGER,
    ended_at INTEGER,
    PRIMARY KEY (thread, id)
) STRICT, WITHOUT ROWID;

-- Questions and requests for credentials; open until `closed` names the event that ended them.
CREATE TABLE inbox (
    thread INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    task TEXT,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    type TEXT,
    prompt TEXT,
    require_user INTEGER NOT NULL,
    expires INTEGER,
    closed INTEGER,
    answered INTEGER,
    PRIMARY KEY (thread, kind, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX inbox_open ON inbox (tenant, at, thread, seq) WHERE closed IS NULL;
CREATE INDEX inbox_open_by_task ON inbox (thread, task) WHERE closed IS NULL;

CREATE TABLE artifact (
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    nth INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT,
    description TEXT,
    versions INTEGER NOT NULL,
    PRIMARY KEY (thread, id)
) STRICT, WITHOUT ROWID;
CREATE TABLE artifact_version (
    thread INTEGER NOT NULL,
    artifact TEXT NOT NULL,
    version INTEGER NOT NULL,
    mime TEXT,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    size INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    complete INTEGER NOT NULL,
    next INTEGER NOT NULL,
    final INTEGER,
    PRIMARY KEY (thread, artifact, version)
) STRICT, WITHOUT ROWID;
-- Chunks that came before the ones they follow.
CREATE TABLE artifact_early (
    thread INTEGER NOT NULL,
    artifact TEXT NOT NULL,
    chunk INTEGER NOT NULL,
    size INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    PRIMARY KEY (thread, artifact, chunk)
) STRICT, WITHOUT ROWID;

-- `shared` is what a branch has from the thread it came from, where it is counted already.
CREATE TABLE usage (
    thread INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    day INTEGER NOT NULL,
    agent TEXT NOT NULL,
    model TEXT NOT NULL,
    tenant TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    reasoning INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    cost REAL NOT NULL,
    PRIMARY KEY (thread, shared, day, agent, model)
) STRICT, WITHOUT ROWID;
CREATE INDEX usage_by_day ON usage (tenant, day) WHERE shared = 0;

-- An index without the text; a row's number says where in the journal the text is.
CREATE VIRTUAL TABLE search USING fts5 (
    text, tenant, content = '', contentless_delete = 1,
    tokenize = 'unicode61 remove_diacritics 2'
);
",
    "
-- What acts need to know: how a question ended, whose calls are open, who may see a version.
ALTER TABLE inbox ADD COLUMN expired INTEGER;
CREATE INDEX inbox_by_expiry ON inbox (expires) WHERE closed IS NULL AND expires IS NOT NULL;
CREATE INDEX task_by_parent ON task (thread, parent) WHERE parent IS NOT NULL;
CREATE TABLE call (
    thread INTEGER NOT NULL,
    id TEXT NOT NULL,
    task TEXT,
    tool TEXT,
    began INTEGER NOT NULL,
    ended INTEGER,
    PRIMARY KEY (thread, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX call_open ON call (thread, task) WHERE ended IS NULL;
ALTER TABLE artifact_version ADD COLUMN visibility INTEGER NOT NULL DEFAULT 0;
ALTER TABLE artifact_version ADD COLUMN name TEXT;
ALTER TABLE artifact_version ADD COLUMN description TEXT;
",
    "
-- Tasks that someone here is to do.
ALTER TABLE task ADD COLUMN wanted INTEGER NOT NULL DEFAULT 0;
CREATE INDEX task_wanted ON task (thread, nth) WHERE wanted = 1 AND ended IS NULL;
",
    "
-- Who may see a question.
ALTER TABLE inbox ADD COLUMN visibility INTEGER NOT NULL DEFAULT 1;
",
    "
-- A branch that took the id of the thread it came from: the id it had, and that thread.
ALTER TABLE thread ADD COLUMN renamed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE thread ADD COLUMN was TEXT;
ALTER TABLE thread ADD COLUMN over INTEGER;
CREATE INDEX thread_by_was ON thread (tenant, was) WHERE was IS NOT NULL;
-- The last entry that was imported: it happened elsewhere.
ALTER TABLE thread ADD COLUMN past INTEGER NOT NULL DEFAULT 0;
",
    "
-- Who has claimed which task, until when: written together with what the journal says of it. The
-- latest attempt at a task is the one that counts; a token is known by its hash.
CREATE TABLE lease (
    thread INTEGER NOT NULL,
    task TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    token BLOB NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    worker TEXT NOT NULL,
    time INTEGER NOT NULL,
    until INTEGER NOT NULL,
    released INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (thread, task, attempt)
) STRICT;
CREATE INDEX lease_by_end ON lease (until);
CREATE INDEX task_by_agent ON task (agent, began_at, thread, nth)
    WHERE wanted = 1 AND ended IS NULL;
",
    "
-- Tasks that the router made, and whose end it has taken up.
ALTER TABLE task ADD COLUMN routed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN answered INTEGER NOT NULL DEFAULT 0;
CREATE INDEX task_unanswered ON task (thread, nth)
    WHERE routed = 1 AND answered = 0 AND ended IS NOT NULL;
",
    "
-- How urgent an answer is; 1 is as usual, and 2 is now; those come first.
ALTER TABLE inbox ADD COLUMN urgency INTEGER NOT NULL DEFAULT 1;
CREATE INDEX inbox_open_by_urgency ON inbox (tenant, 2 - urgency, at, thread, seq)
    WHERE closed IS NULL;
",
    "
-- Tasks of a tenant by their ids, and by when their state changed last.
ALTER TABLE task ADD COLUMN tenant TEXT NOT NULL DEFAULT '';
ALTER TABLE task ADD COLUMN changed_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX task_by_id ON task (tenant, id);
CREATE INDEX task_by_change ON task (tenant, changed_at, thread, nth);
",
    "
-- How long model calls took, of those whose begin and end are known, and what failed.
ALTER TABLE task ADD COLUMN step_at INTEGER;
ALTER TABLE usage ADD COLUMN timed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN millis INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN slowest INTEGER NOT NULL DEFAULT 0;
CREATE TABLE failure (
    thread INTEGER NOT NULL,
    shared INTEGER NOT NULL,
    day INTEGER NOT NULL,
    agent TEXT NOT NULL,
    what TEXT NOT NULL,
    code TEXT NOT NULL,
    tenant TEXT NOT NULL,
    times INTEGER NOT NULL,
    PRIMARY KEY (thread, shared, day, agent, what, code)
) STRICT, WITHOUT ROWID;
CREATE INDEX failure_by_day ON failure (tenant, day) WHERE shared = 0;
",
    "
-- The hash chain, for rows that were written while it was on; and what stands where an entry was
-- folded or its content taken out, so that both can be checked.
CREATE TABLE chain (
    row INTEGER PRIMARY KEY,
    before BLOB NOT NULL,
    bodies BLOB NOT NULL,
    link BLOB NOT NULL
) STRICT;
CREATE TABLE instead (
    thread INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (thread, seq)
) STRICT, WITHOUT ROWID;
-- Threads with pieces of text that were not finished when they were looked at.
CREATE TABLE unfolded (
    thread INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT;
-- Receipts of threads that are gone.
CREATE TABLE erasure (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    at INTEGER NOT NULL,
    by TEXT NOT NULL,
    reason TEXT,
    entries INTEGER NOT NULL,
    hash BLOB NOT NULL,
    shared_with TEXT NOT NULL
) STRICT;
CREATE INDEX erasure_by_tenant ON erasure (tenant, id);
INSERT INTO followed VALUES ('folded', 0, 0);
-- Whether what was taken out is still to be overwritten, and whether deleted bytes have been
-- overwritten ever since the file was made.
CREATE TABLE chore (
    what TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO chore VALUES ('scrub', 0), ('zeroed', 0);
",
    "
-- The greatest number of a thread that was removed: it is not given again.
INSERT INTO chore VALUES ('threads', 0);
",
    "
-- The number that the log in front of the tables knows its journal by.
INSERT INTO chore VALUES ('log', random());
",
];

/// The version this code writes.
pub(crate) const VERSION: i64 = STEPS.len() as i64;

/// The version a database has.
pub(super) fn version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Takes the steps that are missing.
pub(super) fn migrate(tx: &Transaction<'_>, from: i64) -> rusqlite::Result<()> {
    for step in STEPS.iter().skip(usize::try_from(from).unwrap_or(0)) {
        tx.execute_batch(step)?;
    }
    if from == 0 {
        // What is deleted is overwritten from the first byte on.
        tx.execute("UPDATE chore SET value = 1 WHERE what = 'zeroed'", [])?;
    }
    tx.pragma_update(None, "user_version", VERSION)
}

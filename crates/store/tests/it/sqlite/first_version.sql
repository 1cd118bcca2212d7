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
INSERT INTO followed VALUES ('position', 1);
INSERT INTO thread VALUES (1, 'default', 't', 5, 1000, NULL, 0, 1, 1000);
INSERT INTO journal VALUES (1, 1, 1, 1, 1000, NULL, NULL, '{"kind":"message","author":"u","content":"hello"}');
INSERT INTO journal VALUES (2, 1, 2, 2, 2000, NULL, NULL, '{"kind":"task-created","taskId":"k","agentId":"a"}');
INSERT INTO position VALUES (1, 1, 1);
PRAGMA user_version = 1;

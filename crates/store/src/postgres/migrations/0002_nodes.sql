-- What nodes that share the database know of each other.

-- How often entries of a thread were written anew (folded, redacted): what a node holds in memory
-- of an earlier count is void.
ALTER TABLE thread ADD COLUMN rewrites bigint NOT NULL DEFAULT 0;

-- The nodes there are, and until when each is taken to be alive, by the database's clock.
CREATE SEQUENCE node_id;
CREATE TABLE node (
    id bigint PRIMARY KEY,
    since bigint NOT NULL,
    until bigint NOT NULL
) WITH (fillfactor = 50);

-- Who does what only one node may do at a time: a task's turn, telling someone of a task. It is
-- that node's while it is alive. Whoever takes it over locks the thread's row for it, as whoever
-- appends under it does.
CREATE TABLE claim (
    thread bigint NOT NULL,
    what text COLLATE "C" NOT NULL,
    node bigint NOT NULL,
    PRIMARY KEY (thread, what)
);

-- How far each node has come with following what it has acknowledged. `behind` is set with an
-- append; `rounds` counts how often all that was acknowledged before was followed.
CREATE TABLE pace (
    node bigint PRIMARY KEY,
    behind bigint NOT NULL DEFAULT 0,
    rounds bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Shares that were revoked lately end what is open by them, on every node.
CREATE INDEX share_by_revoked ON share (revoked) WHERE revoked IS NOT NULL;

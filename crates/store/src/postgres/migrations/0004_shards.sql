-- Threads of one store in several databases.

-- Which of them this is. No row: it is the only one.
CREATE TABLE shard (
    -- What all databases of the store have in common.
    store text COLLATE "C" PRIMARY KEY,
    -- Counted from 0; thread numbers begin with it.
    number bigint NOT NULL,
    -- How many there are, as the first one knows.
    count bigint NOT NULL
);

-- In the first: which database the threads of a name are in. Once written, never changed.
CREATE TABLE place (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    shard bigint NOT NULL,
    PRIMARY KEY (tenant, id)
);

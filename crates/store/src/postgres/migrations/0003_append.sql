-- Appends to threads that a node knows, in one statement and so in one transaction of its own: they
-- are written if all is as it must be, by the locked rows of their threads; else nothing is, and
-- `heads` is null.

CREATE FUNCTION append_known(
    -- Threads in the order of their numbers: how often each was renamed by the time its name was
    -- looked up, the head that it must have (null: whatever it has), and the entries it gets.
    nums bigint[], renames bigint[], wanted bigint[], counts bigint[],
    -- Rows: the place of their thread above, and their entries as counted from its head.
    slots bigint[], firsts bigint[], lasts bigint[], keys text[], digests bytea[], bodies text[],
    -- Tasks that must not have ended; what this node must have claimed; ends that rows tell of.
    said_in bigint[], said_by text[],
    claimed_in bigint[], claimed_what text[],
    ended_in bigint[], ended_task text[], ended_state text[],
    -- This node, and whether it is to be said that it has something to follow.
    own bigint, says_behind boolean,
    -- Before the append; when it was; and how often entries were written anew.
    OUT heads bigint[], OUT moments bigint[], OUT anew bigint[]
) LANGUAGE plpgsql AS $$
DECLARE
    is_refused boolean;
    moment bigint;
BEGIN
    SELECT array_agg(l.head), array_agg(l.at), array_agg(l.rewrites) INTO heads, moments, anew
        FROM (SELECT t.head, t.at, t.rewrites
            FROM unnest(nums, renames, wanted) AS k (num, renamed, head)
            JOIN thread t ON t.num = k.num
            WHERE t.deleted IS NULL AND t.renamed = k.renamed
                AND (k.head IS NULL OR k.head = t.head)
            ORDER BY t.num FOR NO KEY UPDATE OF t) l;
    is_refused := cardinality(heads) IS DISTINCT FROM cardinality(nums);
    -- Each of these looks at what is there now that the threads are locked.
    IF NOT is_refused AND keys IS NOT NULL THEN
        is_refused := EXISTS (SELECT 1 FROM unnest(slots, keys) AS k (slot, key)
            JOIN journal j ON j.thread = nums[k.slot] AND j.key = k.key);
    END IF;
    IF NOT is_refused AND said_by IS NOT NULL THEN
        is_refused := EXISTS (SELECT 1 FROM unnest(said_in, said_by) AS k (thread, task)
            WHERE EXISTS (SELECT 1 FROM task_over o WHERE o.thread = k.thread AND o.task = k.task)
                OR EXISTS (SELECT 1 FROM task t
                    WHERE t.thread = k.thread AND t.id = k.task AND t.ended IS NOT NULL));
    END IF;
    IF NOT is_refused AND claimed_what IS NOT NULL THEN
        is_refused := EXISTS (SELECT 1 FROM unnest(claimed_in, claimed_what) AS k (thread, what)
            WHERE NOT EXISTS (SELECT 1 FROM claim c
                WHERE c.thread = k.thread AND c.what = k.what AND c.node = own));
    END IF;
    IF is_refused THEN
        heads := NULL;
        RETURN;
    END IF;
    -- The one clock that all nodes share; and a thread's time does not go back.
    moment := floor(extract(epoch FROM clock_timestamp()) * 1000);
    SELECT array_agg(greatest(m.at, moment) ORDER BY m.n) INTO moments
        FROM unnest(moments) WITH ORDINALITY AS m (at, n);
    INSERT INTO journal (row, thread, first, last, at, key, digest, body)
        SELECT nextval('journal_row'), nums[n.slot], heads[n.slot] + n.first,
            heads[n.slot] + n.last, moments[n.slot], n.key, n.digest, n.body
        FROM unnest(slots, firsts, lasts, keys, digests, bodies)
            AS n (slot, first, last, key, digest, body);
    UPDATE thread t SET head = t.head + n.count, at = greatest(t.at, moment)
        FROM unnest(nums, counts) AS n (num, count) WHERE t.num = n.num;
    IF ended_task IS NOT NULL THEN
        INSERT INTO task_over (thread, task, state)
            SELECT * FROM unnest(ended_in, ended_task, ended_state) ON CONFLICT DO NOTHING;
    END IF;
    IF says_behind THEN
        INSERT INTO pace (node, behind) VALUES (own, 1)
            ON CONFLICT (node) DO UPDATE SET behind = 1;
    END IF;
END $$;

-- Bodies that are long enough to be packed are packed faster, where this PostgreSQL can.
DO $$
DECLARE
    part regclass;
BEGIN
    FOR part IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'journal'::regclass LOOP
        EXECUTE format('ALTER TABLE %s ALTER COLUMN body SET COMPRESSION lz4', part);
    END LOOP;
EXCEPTION WHEN OTHERS THEN
    RAISE NOTICE 'bodies are packed as before: %', SQLERRM;
END $$;

-- The store's tables, version 5; `layout.rs` says what each holds. `EXTERNAL`: rows are small, or
-- bodies that the program packs.
CREATE TABLE layout (version int NOT NULL);
CREATE TABLE owner (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch bigint NOT NULL,
    last_group bigint NOT NULL,
    renewed timestamptz NOT NULL,
    program text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    started text NOT NULL,
    -- Where the holder is reached, and by what it knows a request that a standby hands on.
    address text NOT NULL DEFAULT '',
    forward_key text NOT NULL DEFAULT '',
    -- The number of the holder's installation, 0 where it says none. It stays when it has gone.
    installation bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);
CREATE TABLE epochs (
    epoch bigint PRIMARY KEY,
    after_group bigint NOT NULL,
    taken timestamptz NOT NULL,
    holder text NOT NULL
);
CREATE TABLE tables (
    name text COLLATE "C" PRIMARY KEY,
    rows bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE rows (
    tbl text COLLATE "C" NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (tbl, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE rows ALTER COLUMN key SET STORAGE PLAIN, ALTER COLUMN value SET STORAGE EXTERNAL;
CREATE TABLE blobs (
    segment bigint NOT NULL,
    start bigint NOT NULL,
    bytes bytea NOT NULL,
    -- Of packed bytes: how many they are when they are unpacked (`packing.rs`).
    length int,
    PRIMARY KEY (segment, start)
) WITH (toast_tuple_target = 8160);
ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE intake (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    content bytea NOT NULL,
    received timestamptz NOT NULL DEFAULT clock_timestamp(),
    outcome bytea,
    decided timestamptz,
    UNIQUE (delivery, digest)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE intake ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX intake_undecided ON intake (seq) WHERE outcome IS NULL;
CREATE INDEX intake_decided ON intake (decided) WHERE outcome IS NOT NULL;
INSERT INTO owner VALUES (true, 0, 0, '-infinity', '', '', 0, '');

CREATE FUNCTION take_in(
    _deliveries text[], _digests bytea[], _contents bytea[], _most bigint, _hint text
) RETURNS TABLE (seq bigint, is_new boolean, outcome bytea) LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM intake i WHERE i.outcome IS NULL) >= _most THEN
        RAISE EXCEPTION 'as many deliveries wait as may' USING ERRCODE = 'OR003';
    END IF;
    PERFORM pg_notify('orrery_store', _hint);
    RETURN QUERY WITH given AS (
        SELECT g.* FROM unnest(_deliveries, _digests, _contents)
            WITH ORDINALITY AS g (delivery, digest, content, n)
    ), added AS (
        INSERT INTO intake AS i (delivery, digest, content)
        SELECT g.delivery, g.digest, g.content FROM given g ORDER BY g.n
        ON CONFLICT (delivery, digest) DO NOTHING
        RETURNING i.seq, i.delivery, i.digest
    )
    SELECT coalesce(a.seq, k.seq), a.seq IS NOT NULL, k.outcome FROM given g
    LEFT JOIN added a ON a.delivery = g.delivery AND a.digest = g.digest
    LEFT JOIN intake k ON k.delivery = g.delivery AND k.digest = g.digest
    ORDER BY g.n;
END $$;

-- Keeps the store. It locks the owner's row until the transaction ends, and refuses whoever has no
-- longer the newest epoch.
CREATE FUNCTION hold(_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE owner SET renewed = clock_timestamp() WHERE epoch = _epoch;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'epoch % has passed', _epoch USING ERRCODE = 'OR001';
    END IF;
END $$;

-- A group of changes, in a transaction of its own; it locks the owner's row as `hold` does. Which
-- keys are new it is told, and asks no index for them. The arrays are unnested by the list of a
-- SELECT: as functions of FROM each would be copied before the first row is made.
CREATE FUNCTION commit_group(
    _epoch bigint, _group bigint,
    _new_tables text[], _new_keys bytea[], _new_values bytea[],
    _put_tables text[], _put_keys bytea[], _put_values bytea[],
    _cut_tables text[], _cut_keys bytea[],
    _blob_segments bigint[], _blob_starts bigint[], _blob_bytes bytea[], _blob_lengths int[],
    _gone_segments bigint[], _gone_starts bigint[], _gone_lengths bigint[],
    _emptied bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE owner SET renewed = clock_timestamp(), last_group = _group
    WHERE epoch = _epoch AND last_group < _group;
    IF NOT FOUND THEN
        PERFORM hold(_epoch);
        RAISE EXCEPTION 'group % is there already', _group USING ERRCODE = 'OR002';
    END IF;
    IF cardinality(_new_keys) > 0 THEN
        INSERT INTO rows (tbl, key, value)
        SELECT unnest(_new_tables), unnest(_new_keys), unnest(_new_values);
        INSERT INTO tables AS t (name, rows)
        SELECT n.name, count(*) FROM unnest(_new_tables) AS n (name) GROUP BY n.name
        ON CONFLICT (name) DO UPDATE SET rows = t.rows + EXCLUDED.rows;
    END IF;
    IF cardinality(_put_keys) > 0 THEN
        WITH put AS (
            INSERT INTO rows AS r (tbl, key, value)
            SELECT unnest(_put_tables), unnest(_put_keys), unnest(_put_values)
            ON CONFLICT (tbl, key) DO UPDATE SET value = EXCLUDED.value
            RETURNING r.tbl, r.xmax = 0 AS is_new
        ), counted AS (
            SELECT tbl, count(*) AS new FROM put WHERE is_new GROUP BY tbl
        )
        INSERT INTO tables AS t (name, rows) SELECT tbl, new FROM counted
        ON CONFLICT (name) DO UPDATE SET rows = t.rows + EXCLUDED.rows;
    END IF;
    IF cardinality(_cut_keys) > 0 THEN
        WITH cut AS (
            DELETE FROM rows r USING unnest(_cut_tables, _cut_keys) AS c (tbl, key)
            WHERE r.tbl = c.tbl AND r.key = c.key RETURNING r.tbl
        ), counted AS (
            SELECT tbl, count(*) AS gone FROM cut GROUP BY tbl
        )
        UPDATE tables t SET rows = t.rows - c.gone FROM counted c WHERE t.name = c.tbl;
    END IF;
    IF cardinality(_blob_starts) > 0 THEN
        INSERT INTO blobs (segment, start, bytes, length)
        SELECT unnest(_blob_segments), unnest(_blob_starts), unnest(_blob_bytes),
            unnest(_blob_lengths);
    END IF;
    IF cardinality(_gone_starts) > 0 THEN
        WITH whole AS (
            DELETE FROM blobs b USING unnest(_gone_segments, _gone_starts, _gone_lengths)
                AS g (segment, start, length)
            WHERE b.segment = g.segment AND b.start >= g.start AND b.start < g.start + g.length
                AND (b.length IS NULL OR b.length > 0)
                AND b.start + coalesce(b.length, octet_length(b.bytes)) <= g.start + g.length
            RETURNING b.segment, b.start
        )
        DELETE FROM blobs b USING whole w
        WHERE b.segment = w.segment AND b.start > w.start AND b.start <= w.start + 9
            AND b.length = w.start - b.start;
    END IF;
    IF cardinality(_emptied) > 0 THEN
        DELETE FROM blobs b USING unnest(_emptied) AS e (segment) WHERE b.segment = e.segment;
    END IF;
END $$;

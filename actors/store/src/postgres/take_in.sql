-- Takes deliveries in; nothing, and says so by no row, where the store is closed: it was moved away,
-- or is a copy that did not end.
CREATE OR REPLACE FUNCTION take_in(
    _deliveries text[], _digests bytea[], _contents bytea[], _most bigint, _hint text
) RETURNS TABLE (seq bigint, is_new boolean, outcome bytea) LANGUAGE plpgsql AS $$
BEGIN
    -- Whoever closes the store waits for all that have this lock, and counts what they took in.
    LOCK TABLE intake IN ROW EXCLUSIVE MODE;
    IF EXISTS (
        SELECT 1 FROM rows WHERE tbl = '_meta' AND key IN ('moved'::bytea, 'copying'::bytea)
    ) THEN
        RETURN;
    END IF;
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

//! The store's tables in a schema of PostgreSQL.
//!
//! | Table | What it holds |
//! |---|---|
//! | `layout` | the version of these tables |
//! | `owner` | one row: the epoch, who has it and of which installation, where it is reached, when it said so last, the last group's number |
//! | `epochs` | a row for each time the store was taken: by whom, and behind which group |
//! | `tables` | the number of rows of each typed table |
//! | `rows` | all rows: typed table, encoded key, encoded row |
//! | `blobs` | what was appended, by segment and place |
//! | `intake` | deliveries that processes without the store took in, until the holder has decided |
//!
//! A group is one call of `commit_group`: it is a transaction of its own, so that nothing of it is
//! ever held open while the client thinks, or sleeps.

use super::connection::Connection;
use super::fault::Fault;
use crate::error::OpenError;
use tokio_postgres::error::SqlState;

/// The version of the tables that this program makes and knows.
const VERSION: i32 = 5;

/// The oldest server that is known to work, as it counts its versions.
const OLDEST_SERVER: i32 = 150_000;

/// The tables. `EXTERNAL`: rows are small, or bodies that this program packs.
const TABLES: &str = "
CREATE TABLE layout (version int NOT NULL);
CREATE TABLE owner (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    epoch bigint NOT NULL,
    last_group bigint NOT NULL,
    renewed timestamptz NOT NULL,
    program text NOT NULL,
    host text NOT NULL,
    pid bigint NOT NULL,
    started text NOT NULL
) WITH (fillfactor = 10);
CREATE TABLE epochs (
    epoch bigint PRIMARY KEY,
    after_group bigint NOT NULL,
    taken timestamptz NOT NULL,
    holder text NOT NULL
);
CREATE TABLE tables (
    name text COLLATE \"C\" PRIMARY KEY,
    rows bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE rows (
    tbl text COLLATE \"C\" NOT NULL,
    key bytea NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (tbl, key)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE rows ALTER COLUMN key SET STORAGE PLAIN, ALTER COLUMN value SET STORAGE EXTERNAL;
CREATE TABLE blobs (
    segment bigint NOT NULL,
    start bigint NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (segment, start)
);
ALTER TABLE blobs ALTER COLUMN bytes SET STORAGE EXTERNAL;
INSERT INTO owner VALUES (true, 0, 0, '-infinity', '', '', 0, '');
";

/// What version 2 adds: where the holder is reached, and what others take in for it.
const SHARED: &str = "
ALTER TABLE owner ADD COLUMN address text NOT NULL DEFAULT '',
    ADD COLUMN forward_key text NOT NULL DEFAULT '';
CREATE TABLE intake (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    delivery text COLLATE \"C\" NOT NULL,
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
";

/// Keeps the store. It locks the owner's row until the transaction ends, and refuses whoever has no
/// longer the newest epoch.
const HOLD: &str = "
CREATE FUNCTION hold(_epoch bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE owner SET renewed = clock_timestamp() WHERE epoch = _epoch;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'epoch % has passed', _epoch USING ERRCODE = 'OR001';
    END IF;
END $$;
";

/// What version 3 adds: blobs that are packed, with their length unpacked, and stand in their rows
/// up to a page. It locks the owner's row as `hold` does. The function of older versions, which has
/// one parameter less, stays where it was, for a holder that still runs. What is taken in for such
/// a holder is not packed either: it could not read it.
const PACKED: &str = "
ALTER TABLE blobs ADD COLUMN length int;
ALTER TABLE blobs SET (toast_tuple_target = 8160);

CREATE FUNCTION commit_group(
    _epoch bigint, _group bigint,
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
    WITH put AS (
        INSERT INTO rows AS r (tbl, key, value)
        SELECT * FROM unnest(_put_tables, _put_keys, _put_values)
        ON CONFLICT (tbl, key) DO UPDATE SET value = EXCLUDED.value
        RETURNING r.tbl, r.xmax = 0 AS is_new
    ), counted AS (
        SELECT tbl, count(*) AS new FROM put WHERE is_new GROUP BY tbl
    )
    INSERT INTO tables AS t (name, rows) SELECT tbl, new FROM counted
    ON CONFLICT (name) DO UPDATE SET rows = t.rows + EXCLUDED.rows;
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
        SELECT * FROM unnest(_blob_segments, _blob_starts, _blob_bytes, _blob_lengths);
    END IF;
    IF cardinality(_gone_starts) > 0 THEN
        DELETE FROM blobs b USING unnest(_gone_segments, _gone_starts, _gone_lengths)
            AS g (segment, start, length)
        WHERE b.segment = g.segment AND b.start >= g.start AND b.start < g.start + g.length
            AND b.start + coalesce(b.length, octet_length(b.bytes)) <= g.start + g.length;
    END IF;
    IF cardinality(_emptied) > 0 THEN
        DELETE FROM blobs b USING unnest(_emptied) AS e (segment) WHERE b.segment = e.segment;
    END IF;
END $$;
";

/// What version 4 adds: the number of the holder's installation, 0 where it says none. It stays
/// when the holder has gone.
const INSTALLATION: &str = "ALTER TABLE owner ADD COLUMN installation bigint NOT NULL DEFAULT 0;";

/// What version 5 adds: a function that is told which keys are new, and so asks no index for them;
/// and bytes that were packed together in several rows. The arrays are unnested by the list of a
/// SELECT: as functions of FROM each would be copied before the first row is made. The functions of
/// older versions, with fewer parameters, stay for a holder that still runs.
const NEW_KEYS: &str = "
CREATE OR REPLACE FUNCTION commit_group(
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
";

/// Makes the tables where there are none, and looks whether those that are there are known.
///
/// # Errors
/// The server or the tables are not what is needed; the reason says what to do.
pub(super) fn prepare(
    connection: &mut Connection,
    schema: &str,
    place: &str,
) -> Result<(), OpenError> {
    check_server(connection, place)?;
    if let Some(version) = version(connection, schema).map_err(|f| refused(place, f))? {
        known(version, place)?;
        if version == VERSION {
            return Ok(());
        }
    }
    let make = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('orrery layout {schema}', 0)); \
         SET LOCAL search_path TO \"{schema}\", pg_catalog;"
    );
    let made = make_tables(connection, schema, &make);
    if made.is_err() {
        // A failed transaction takes no other statement.
        let _ = connection.batch("ROLLBACK");
    }
    made.map_err(|f| refused(place, f))
}

fn make_tables(connection: &mut Connection, schema: &str, begin: &str) -> Result<(), Fault> {
    connection.batch(begin)?;
    // Another process may have made them while this one waited for the lock.
    let found = version(connection, schema)?;
    if !has_schema(connection, schema)? {
        // Not IF NOT EXISTS: that asks for the right to make one, also where it is there.
        connection.batch(&format!("CREATE SCHEMA \"{schema}\""))?;
    }
    if found.is_none() {
        connection.batch(TABLES)?;
        connection.batch(HOLD)?;
    }
    let steps = [
        (2, SHARED),
        (3, PACKED),
        (4, INSTALLATION),
        (VERSION, NEW_KEYS),
    ];
    for (version, step) in steps {
        if found.is_none_or(|found| found < version) {
            connection.batch(step)?;
            connection.batch(&format!("INSERT INTO layout VALUES ({version})"))?;
        }
    }
    connection.batch("COMMIT")
}

/// Looks whether a store is there, for those who only read it.
///
/// # Errors
/// As [`prepare`]; there is none.
pub(super) fn check(
    connection: &mut Connection,
    schema: &str,
    place: &str,
) -> Result<(), OpenError> {
    check_server(connection, place)?;
    match version(connection, schema).map_err(|f| refused(place, f))? {
        Some(version) => known(version, place),
        None => {
            let reason = "there is no store".to_owned();
            Err(server_error(place, reason))
        }
    }
}

/// Looks whether a store is there, or could be made, and whether all that a holder does with it is
/// allowed. Nothing is made.
///
/// # Errors
/// As [`prepare`]; what is not allowed.
pub(super) fn probe(
    connection: &mut Connection,
    schema: &str,
    place: &str,
) -> Result<(), OpenError> {
    let failed = |fault| refused(place, fault);
    check_server(connection, place)?;
    let found = version(connection, schema).map_err(failed)?;
    let missing = match found {
        None if has_schema(connection, schema).map_err(failed)? => {
            let right = "SELECT has_schema_privilege($1, 'CREATE')";
            let may: bool = connection.rows(right, &[&schema]).map_err(failed)?[0].get(0);
            (!may).then(|| format!("the role may make no tables in the schema {schema}"))
        }
        None => {
            let right = "SELECT has_database_privilege(current_database(), 'CREATE')";
            let may: bool = connection.rows(right, &[]).map_err(failed)?[0].get(0);
            (!may).then(|| format!("the role may not make the schema {schema}"))
        }
        Some(version) => {
            known(version, place)?;
            let rows = connection.rows(MISSING_RIGHTS, &[&schema, &(version < VERSION)]);
            let missing = rows.map_err(failed)?;
            let missing = missing.iter().map(|row| row.get::<_, String>(0));
            let missing = missing.collect::<Vec<_>>().join(", ");
            (!missing.is_empty()).then(|| format!("the role has no right to {missing}"))
        }
    };
    let Some(missing) = missing else {
        return Ok(());
    };
    let may_not = SqlState::INSUFFICIENT_PRIVILEGE;
    Err(failed(Fault::Refused {
        state: Some(may_not),
        reason: missing,
    }))
}

/// What the role may not do with the tables in the schema `$1`; `$2`: they are to be changed.
const MISSING_RIGHTS: &str = "
WITH needed (name, rights) AS (VALUES
    ('owner', ARRAY['SELECT', 'UPDATE']), ('epochs', ARRAY['SELECT', 'INSERT']),
    ('tables', ARRAY['SELECT', 'INSERT', 'UPDATE']),
    ('rows', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
    ('blobs', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']),
    ('intake', ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'])
), there AS (
    SELECT n.name, n.rights, to_regclass(format('%I.%I', $1::text, n.name)) AS id FROM needed n
)
SELECT format('%s the table %s', p.may, t.name)
FROM there t, unnest(t.rights) AS p (may)
WHERE t.id IS NOT NULL AND NOT has_table_privilege(t.id, p.may)
UNION ALL
SELECT format('change the table %s, which belongs to %s', t.name, pg_get_userbyid(c.relowner))
FROM there t JOIN pg_class c ON c.oid = t.id
WHERE $2 AND NOT pg_has_role(c.relowner, 'USAGE')";

fn has_schema(connection: &mut Connection, schema: &str) -> Result<bool, Fault> {
    let there = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)";
    Ok(connection.rows(there, &[&schema])?[0].get(0))
}

fn known(version: i32, place: &str) -> Result<(), OpenError> {
    if version <= VERSION {
        return Ok(());
    }
    let unsigned = |version| u32::try_from(version).unwrap_or_default();
    Err(OpenError::SchemaTooNew {
        place: place.to_owned(),
        stored: unsigned(version),
        known: unsigned(VERSION),
    })
}

/// The version of the tables in `schema`, if there are any.
fn version(connection: &mut Connection, schema: &str) -> Result<Option<i32>, Fault> {
    let table = format!("\"{schema}\".layout");
    let there = connection.rows("SELECT to_regclass($1) IS NOT NULL", &[&table])?;
    if !there[0].get::<_, bool>(0) {
        return Ok(None);
    }
    let rows = connection.rows(&format!("SELECT max(version) FROM {table}"), &[])?;
    Ok(rows[0].get(0))
}

/// The server is new enough, and takes writes.
fn check_server(connection: &mut Connection, place: &str) -> Result<(), OpenError> {
    let asked = connection.rows(
        "SELECT current_setting('server_version_num')::int, current_setting('server_version'), \
         pg_is_in_recovery(), current_setting('fsync')::bool",
        &[],
    );
    let rows = asked.map_err(|fault| refused(place, fault))?;
    let (number, text): (i32, String) = (rows[0].get(0), rows[0].get(1));
    if number < OLDEST_SERVER {
        let reason = format!("the server is PostgreSQL {text}; 15 or newer is needed");
        return Err(server_error(place, reason));
    }
    if rows[0].get(2) {
        let reason = "the server is a read-only standby; name the primary, or all servers with \
                      target_session_attrs=read-write";
        return Err(server_error(place, reason.to_owned()));
    }
    if !rows[0].get::<_, bool>(3) {
        tracing::warn!(
            event = "store.fsync_off",
            "the server runs with fsync = off: a power cut loses what was acknowledged"
        );
    }
    Ok(())
}

pub(super) fn refused(place: &str, fault: Fault) -> OpenError {
    let may_pass = matches!(fault, Fault::Lost(_) | Fault::Full | Fault::EpochPassed);
    let (place, reason) = (place.to_owned(), advice(fault));
    match may_pass {
        true => OpenError::Away { place, reason },
        false => OpenError::Server { place, reason },
    }
}

fn server_error(place: &str, reason: String) -> OpenError {
    let place = place.to_owned();
    OpenError::Server { place, reason }
}

/// What the server said, with what to do.
fn advice(fault: Fault) -> String {
    let (state, reason) = match fault {
        Fault::Lost(reason) => {
            return format!("{reason}; see that the server runs and can be reached from here");
        }
        Fault::Refused { state, reason } => (state, reason),
        Fault::Full => return "no space left on the server".to_owned(),
        Fault::EpochPassed => return "another process has just taken it".to_owned(),
        Fault::GroupKnown => return "the server knows the group already".to_owned(),
        Fault::IntakeFull => return "as many deliveries wait as may".to_owned(),
    };
    let what = match state.as_ref().map(|state| state.code()) {
        Some("28P01" | "28000") => "look at user and password of the address, and at pg_hba.conf",
        Some("3D000") => "make it: CREATE DATABASE … OWNER …",
        Some("42501") => {
            "give the role CREATE on the database, or make the schema with it as owner"
        }
        _ => return reason,
    };
    format!("{reason}; {what}")
}

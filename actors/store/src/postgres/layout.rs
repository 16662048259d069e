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
//! Tables of an older version are brought up to date where they are, by whoever takes the store,
//! once it has the lock: step after step, in one transaction. Processes of the version before may
//! stand beside it at that moment, and those of this version beside tables of the one before:
//! **what they ask (looks, `take_in`) works with either**. A step that rewrites rows takes as long
//! as an answer is waited for at most.
//!
//! A group is one call of `commit_group`: it is a transaction of its own, so that nothing of it is
//! ever held open while the client thinks, or sleeps.

use super::connection::PostgresConnection;
use super::fault::Fault;
use crate::error::OpenError;
use tokio_postgres::error::SqlState;

/// The version of the tables that this program makes and knows.
const VERSION: i32 = 6;

/// The oldest version that is brought up to date in place.
const OLDEST: i32 = 5;

/// What makes tables of a version of those of the one before, in order.
const STEPS: [(i32, &str); 1] = [(6, include_str!("take_in.sql"))];

/// The oldest server that is known to work, as it counts its versions.
const OLDEST_SERVER: i32 = 150_000;

const TABLES: &str = concat!(include_str!("layout.sql"), include_str!("take_in.sql"));

/// Makes the tables where there are none, and looks whether those that are there are known.
///
/// # Errors
/// The server or the tables are not what is needed; the reason says what to do.
pub(super) fn prepare(
    connection: &mut PostgresConnection,
    schema: &str,
    place: &str,
) -> Result<(), OpenError> {
    check_server(connection, place)?;
    if let Some(version) = version(connection, schema).map_err(|f| refused(place, f))? {
        return check_version(version, place);
    }
    let made = in_transaction(connection, schema, |connection| {
        make_tables(connection, schema)
    });
    made.map_err(|f| refused(place, f))
}

/// Brings the tables up to date, for whoever has the lock of the store.
///
/// # Errors
/// The server's: nothing was changed.
pub(super) fn upgrade(connection: &mut PostgresConnection, schema: &str) -> Result<(), Fault> {
    let Some(found) = version(connection, schema)?.filter(|found| *found < VERSION) else {
        return Ok(());
    };
    in_transaction(connection, schema, |connection| {
        for (_, statements) in STEPS.iter().filter(|(version, _)| *version > found) {
            connection.batch(statements)?;
        }
        connection.batch(&format!("UPDATE layout SET version = {VERSION}"))
    })?;
    tracing::info!(
        event = "store.tables_upgraded",
        schema,
        from = found,
        to = VERSION,
        "the tables of the store are of this version now"
    );
    Ok(())
}

/// Changes the tables while nobody else does.
fn in_transaction(
    connection: &mut PostgresConnection,
    schema: &str,
    change: impl FnOnce(&mut PostgresConnection) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let begin = format!(
        "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('orrery layout {schema}', 0)); \
         SET LOCAL search_path TO \"{schema}\", pg_catalog;"
    );
    let begun = connection.batch(&begin);
    let changed = begun.and_then(|()| change(connection));
    let ended = changed.and_then(|()| connection.batch("COMMIT"));
    if ended.is_err() {
        // A failed transaction takes no other statement.
        let _ = connection.batch("ROLLBACK");
    }
    ended
}

fn make_tables(connection: &mut PostgresConnection, schema: &str) -> Result<(), Fault> {
    // Another process may have made them while this one waited for the lock.
    let found = version(connection, schema)?;
    if !has_schema(connection, schema)? {
        // Not IF NOT EXISTS: that asks for the right to make one, also where it is there.
        connection.batch(&format!("CREATE SCHEMA \"{schema}\""))?;
    }
    if found.is_none() {
        connection.batch(TABLES)?;
        connection.batch(&format!("INSERT INTO layout VALUES ({VERSION})"))?;
    }
    Ok(())
}

/// Looks whether a store is there, for those who only read it.
///
/// # Errors
/// As [`prepare`]; there is none.
pub(super) fn check(
    connection: &mut PostgresConnection,
    schema: &str,
    place: &str,
) -> Result<(), OpenError> {
    check_server(connection, place)?;
    match version(connection, schema).map_err(|f| refused(place, f))? {
        Some(version) => check_version(version, place),
        None => {
            let reason = "there is no store".to_owned();
            Err(server_error(place, reason))
        }
    }
}

/// Looks whether a store is there (`true`), or could be made, and whether all that a holder does
/// with it is allowed. Nothing is made.
///
/// # Errors
/// As [`prepare`]; what is not allowed.
pub(super) fn probe(
    connection: &mut PostgresConnection,
    schema: &str,
    place: &str,
) -> Result<bool, OpenError> {
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
            check_version(version, place)?;
            let rows = connection.rows(MISSING_RIGHTS, &[&schema]);
            let missing = rows.map_err(failed)?;
            let missing = missing.iter().map(|row| row.get::<_, String>(0));
            let missing = missing.collect::<Vec<_>>().join(", ");
            (!missing.is_empty()).then(|| format!("the role has no right to {missing}"))
        }
    };
    let Some(missing) = missing else {
        return Ok(found.is_some());
    };
    let may_not = SqlState::INSUFFICIENT_PRIVILEGE;
    Err(failed(Fault::Refused {
        state: Some(may_not),
        reason: missing,
    }))
}

/// What the role may not do with the tables in the schema `$1`.
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
WHERE t.id IS NOT NULL AND NOT has_table_privilege(t.id, p.may)";

fn has_schema(connection: &mut PostgresConnection, schema: &str) -> Result<bool, Fault> {
    let there = "SELECT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)";
    Ok(connection.rows(there, &[&schema])?[0].get(0))
}

fn check_version(version: i32, place: &str) -> Result<(), OpenError> {
    let unsigned = |version| u32::try_from(version).unwrap_or_default();
    match version {
        OLDEST..=VERSION => Ok(()),
        ..OLDEST => Err(server_error(
            place,
            format!(
                "its tables are of version {version}, older than this program reads; migrate them \
                 into a folder with the program that made them, and from there to a new schema"
            ),
        )),
        _ => Err(OpenError::SchemaTooNew {
            place: place.to_owned(),
            stored: unsigned(version),
            known: unsigned(VERSION),
        }),
    }
}

/// The version of the tables in `schema`, if there are any.
fn version(connection: &mut PostgresConnection, schema: &str) -> Result<Option<i32>, Fault> {
    let table = format!("\"{schema}\".layout");
    let there = connection.rows("SELECT to_regclass($1) IS NOT NULL", &[&table])?;
    if !there[0].get::<_, bool>(0) {
        return Ok(None);
    }
    let rows = connection.rows(&format!("SELECT max(version) FROM {table}"), &[])?;
    Ok(rows[0].get(0))
}

/// The server is new enough, and takes writes.
fn check_server(connection: &mut PostgresConnection, place: &str) -> Result<(), OpenError> {
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
        Some("55P03") => "another session keeps the tables locked: repeat it once that has ended",
        Some("3D000") => "make it: CREATE DATABASE … OWNER …",
        Some("42501") => {
            "give the role CREATE on the database, or make the schema with it as owner"
        }
        _ => return reason,
    };
    format!("{reason}; {what}")
}

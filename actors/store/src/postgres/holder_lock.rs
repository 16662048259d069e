//! What the server says of the session that has the lock of a store.

use std::time::Duration;

use super::connection::PostgresConnection;
use super::fault::Fault;

/// A store that was given free is silent for ever, which is no duration.
pub(super) const LONGEST_SILENCE: f64 = 1e7;

/// Whether some session has the lock of the store.
pub(super) fn is_locked(connection: &mut PostgresConnection, schema: &str) -> Result<bool, Fault> {
    let statement = "WITH k AS (SELECT hashtextextended('orrery store ' || $1, 0) AS key) \
         SELECT EXISTS (SELECT 1 FROM pg_locks l, k \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND l.classid::bigint = (k.key >> 32) & 4294967295 \
         AND l.objid::bigint = k.key & 4294967295)";
    Ok(connection.rows(statement, &[&schema])?[0].get(0))
}

/// For how long the server has worked on what the session that has the lock asked last; `None`
/// where it waits for that session's client, or does not say: it shows other sessions of the same
/// role.
pub(super) fn worked_for(
    connection: &mut PostgresConnection,
    schema: &str,
) -> Result<Option<Duration>, Fault> {
    let statement = "WITH k AS (SELECT hashtextextended('orrery store ' || $1, 0) AS key) \
         SELECT extract(epoch FROM clock_timestamp() - a.query_start)::float8 \
         FROM k, pg_locks l, pg_stat_activity a \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND l.classid::bigint = (k.key >> 32) & 4294967295 \
         AND l.objid::bigint = k.key & 4294967295 AND a.pid = l.pid \
         AND a.state = 'active' AND a.wait_event_type IS DISTINCT FROM 'Client'";
    let rows = connection.rows(statement, &[&schema])?;
    let seconds = rows.first().and_then(|row| row.get::<_, Option<f64>>(0));
    Ok(seconds.map(|seconds| Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_SILENCE))))
}

//! Who holds a store in PostgreSQL: taking it, keeping it, and finding out that another has it.
//!
//! Three things, one for each question. The **epoch** in the owner's row is the fence: whoever
//! takes the store raises it, and a write under an older one is refused by the server. The
//! **advisory lock** of the writer's session tells whether the holder's connection lives: the
//! server frees it with the session, however that ends. The **lease** (when the holder said last,
//! by the server's clock, that it is well) tells a holder that is paused or cut off from one that
//! is there: its session may live on for hours.

use super::connection::PostgresConnection;
use super::fault::Fault;
use super::holder_lock::{LONGEST_SILENCE, worked_for};
use super::installation::Installation;
use crate::compared_settings::salt_mark;
use crate::error::OpenError;
use crate::lock::Holder;
use std::thread;
use std::time::{Duration, Instant};

/// Between two looks at a store that another session holds.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Seconds within which a process that stands beside a store asks something again.
const LONGEST_PAUSE: f64 = 15.0;

/// So long the database may work on what a holder asked before that one counts as gone: as long as
/// it waits for the answer, which it then has lost. Longer than a standby waits, which promises to
/// lead within seconds; here nobody leads either way.
const STALL_TIMEOUT: Duration = Duration::from_secs(15);

/// What the owner's row says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OwnerRow {
    pub(super) epoch: i64,
    pub(super) last_group: i64,
    /// When the holder said that it is well, by the server's clock, in seconds of the Unix epoch.
    renewed: f64,
    /// How long that is ago, by the same clock.
    silent: Duration,
    /// Program, machine and process.
    pub(super) by: String,
    /// Where it is reached by the other processes; empty: nowhere.
    pub(super) address: String,
    /// What they show there.
    pub(super) forward_key: String,
    /// It gave the store free, or there was none yet.
    pub(super) is_released: bool,
    /// The number of its installation; 0: it said none.
    installation: i64,
    /// Why nobody starts on the store.
    pub(super) closed: Option<ClosedReason>,
}

/// Why nobody starts on a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ClosedReason {
    /// It was moved, to there.
    Moved(String),
    /// It is a copy that did not end.
    HalfCopied,
}

impl ClosedReason {
    /// The same for whoever wants to open the store.
    pub(super) fn error(&self, place: &str) -> OpenError {
        let place = place.to_owned();
        match self.clone() {
            Self::Moved(to) => OpenError::Moved { place, to },
            Self::HalfCopied => OpenError::HalfCopied { place },
        }
    }
}

/// Whether somebody has closed the store, as a condition of a statement.
pub(super) const IS_CLOSED: &str = "EXISTS (SELECT 1 FROM rows \
     WHERE tbl = '_meta' AND key IN ('moved'::bytea, 'copying'::bytea))";

impl OwnerRow {
    /// How long the holder has said nothing.
    pub(super) fn silent(&self) -> Duration {
        self.silent
    }

    /// Whether it is who took the store then. An epoch is not enough: a server that became the
    /// primary without the newest writes may give one a second time.
    pub(super) fn is_of(&self, taken: &HolderTerm) -> bool {
        self.epoch == taken.epoch && self.by == taken.by && self.forward_key == taken.forward_key
    }
}

/// In whose name a store is taken.
#[derive(Debug, Clone)]
pub(super) struct Claimant {
    /// The program's name.
    pub(super) program: String,
    /// Where it is reached by the other processes; empty: nowhere.
    pub(super) address: String,
    /// What they have to show there.
    pub(super) forward_key: String,
    /// Of which installation it is.
    pub(super) installation: Installation,
}

/// A store that was taken.
#[derive(Debug, Clone)]
pub(super) struct HolderTerm {
    pub(super) epoch: i64,
    pub(super) last_group: i64,
    /// The last group of those before.
    after_group: i64,
    /// By whom, as the owner's row has it.
    by: String,
    /// The same as the table of epochs has it.
    noted: String,
    forward_key: String,
}

/// What to say of a store that took nothing because somebody has closed it.
pub(super) fn why_closed(connection: &mut PostgresConnection, place: &str) -> Fault {
    match owner(connection).map(|owner| owner.closed) {
        Ok(Some(closed)) => Fault::Refused {
            state: None,
            reason: closed.error(place).to_string(),
        },
        Ok(None) => Fault::Lost("it was closed, and opened again".to_owned()),
        Err(fault) => fault,
    }
}

/// Reads the owner's row.
pub(super) fn owner(connection: &mut PostgresConnection) -> Result<OwnerRow, Fault> {
    let rows = connection.rows(
        "SELECT epoch, last_group, program, host, pid, started, \
         extract(epoch FROM renewed)::float8, \
         (extract(epoch FROM clock_timestamp()) - extract(epoch FROM renewed))::float8, \
         address, forward_key, renewed = '-infinity', installation, \
         (SELECT value FROM rows WHERE tbl = '_meta' AND key = 'moved'::bytea), \
         EXISTS (SELECT 1 FROM rows WHERE tbl = '_meta' AND key = 'copying'::bytea) FROM owner",
        &[],
    )?;
    let row = rows.first().ok_or_else(|| Fault::Refused {
        state: None,
        reason: "the table `owner` is empty: restore a backup".to_owned(),
    })?;
    let (program, host, started): (String, String, String) = (row.get(2), row.get(3), row.get(5));
    let pid: i64 = row.get(4);
    let moved: Option<Vec<u8>> = row.get(12);
    let closed = match (row.get(13), moved) {
        (true, _) => Some(ClosedReason::HalfCopied),
        (false, moved) => {
            moved.map(|to| ClosedReason::Moved(String::from_utf8_lossy(&to).into_owned()))
        }
    };
    Ok(OwnerRow {
        closed,
        epoch: row.get(0),
        last_group: row.get(1),
        renewed: row.get(6),
        silent: Duration::from_secs_f64(row.get::<_, f64>(7).clamp(0.0, LONGEST_SILENCE)),
        by: describe_holder(&program, &host, pid, &started),
        address: row.get(8),
        forward_key: row.get(9),
        is_released: row.get(10),
        installation: row.get(11),
    })
}

/// Takes the store for `program`: at once if nobody holds it; after its holder has said nothing for
/// `lease`, if that one's session lives on and the database does not work for it.
///
/// # Errors
/// [`OpenError::InUse`] as soon as the holder shows that it is well; the server's.
pub(super) fn take(
    connection: &mut PostgresConnection,
    (schema, place): (&str, &str),
    taker: &Claimant,
    lease: Duration,
) -> Result<HolderTerm, OpenError> {
    let failed = |fault| super::layout::refused(place, fault);
    let first = owner(connection).map_err(failed)?;
    // A holder that is well says so several times within a lease.
    let until = Instant::now() + lease * 2;
    while !lock(connection, schema).map_err(failed)? {
        let now = owner(connection).map_err(failed)?;
        let renewed = now.renewed > first.renewed || now.epoch != first.epoch;
        if renewed || Instant::now() > until {
            let (place, by) = (place.to_owned(), now.by);
            return Err(OpenError::InUse { place, by });
        }
        if now.silent > lease && !is_at_work(connection, schema).map_err(failed)? {
            tracing::warn!(
                event = "store.holder_ended", %place, holder = %now.by,
                silent_s = now.silent.as_secs(),
                "the holder of the store says nothing any more; its session is ended"
            );
            end_holder(connection, schema).map_err(failed)?;
        }
        thread::park_timeout(POLL_INTERVAL);
    }
    let upgraded = super::layout::upgrade(connection, schema);
    upgraded
        .and_then(|()| raise(connection, taker))
        .map_err(failed)
}

/// Whether the holder waits for the database, and not the database for the holder: until it has its
/// answer it can say nothing.
fn is_at_work(connection: &mut PostgresConnection, schema: &str) -> Result<bool, Fault> {
    let worked_for = worked_for(connection, schema)?;
    Ok(worked_for.is_some_and(|worked_for| worked_for <= STALL_TIMEOUT))
}

/// Takes the store for `taker` if its lock is free and `may_take` says so of the owner that is
/// found then.
pub(super) fn take_if(
    connection: &mut PostgresConnection,
    schema: &str,
    taker: &Claimant,
    may_take: impl FnOnce(&OwnerRow) -> bool,
) -> Result<Option<HolderTerm>, Fault> {
    if !lock(connection, schema)? {
        return Ok(None);
    }
    let owner = owner(connection)?;
    let is_anothers = is_left_by_another(connection, schema, (&owner, taker.installation))?;
    if owner.closed.is_none() && !is_anothers && may_take(&owner) {
        super::layout::upgrade(connection, schema)?;
        return raise(connection, taker).map(Some);
    }
    unlock(connection, schema)?;
    Ok(None)
}

/// Notes with the server that this session is of a process that can take the store. The note ends
/// with the session.
pub(super) fn register_standby(
    connection: &mut PostgresConnection,
    schema: &str,
) -> Result<(), Fault> {
    let note = "SELECT pg_advisory_lock_shared(hashtextextended('orrery beside ' || $1, 0))";
    connection.rows(note, &[&schema]).map(drop)
}

/// Processes that stand beside a store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StandbyCounts {
    /// All of them.
    pub all: u64,
    /// Those that do not say that something is wrong with them.
    pub fit: u64,
}

/// Notes with the server whether something is wrong with this process, so that the store is not
/// handed over to it. The note ends with the session. The server would warn of a lock that is given
/// back and was not had.
pub(super) fn record_fitness(
    connection: &mut PostgresConnection,
    schema: &str,
    is_fit: bool,
) -> Result<(), Fault> {
    let had = "EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = pg_backend_pid() \
         AND l.locktype = 'advisory' AND l.objsubid = 2 \
         AND l.classid::bigint = hashtext('orrery unfit')::bigint & 4294967295 \
         AND l.objid::bigint = hashtext($1)::bigint & 4294967295)";
    let note = match is_fit {
        true => format!(
            "SELECT pg_advisory_unlock_shared(hashtext('orrery unfit'), hashtext($1)) WHERE {had}"
        ),
        false => format!(
            "SELECT pg_advisory_lock_shared(hashtext('orrery unfit'), hashtext($1)) \
             WHERE NOT {had}"
        ),
    };
    connection.rows(&note, &[&schema]).map(drop)
}

/// How many other sessions have noted that they stand beside the store, and have asked something
/// lately: a process that stands by does so every few seconds, and the session of one whose host
/// has gone lives on for a while.
pub(super) fn standby_counts(
    connection: &mut PostgresConnection,
    schema: &str,
) -> Result<StandbyCounts, Fault> {
    let statement = "WITH k AS (SELECT hashtextextended('orrery beside ' || $1, 0) AS key) \
         SELECT count(DISTINCT l.pid), count(DISTINCT l.pid) FILTER (WHERE NOT EXISTS ( \
         SELECT 1 FROM pg_locks u WHERE u.pid = l.pid AND u.locktype = 'advisory' \
         AND u.granted AND u.objsubid = 2 \
         AND u.classid::bigint = hashtext('orrery unfit')::bigint & 4294967295 \
         AND u.objid::bigint = hashtext($1)::bigint & 4294967295)) FROM k, pg_locks l \
         LEFT JOIN pg_stat_activity a ON a.pid = l.pid \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND l.classid::bigint = (k.key >> 32) & 4294967295 \
         AND l.objid::bigint = k.key & 4294967295 AND l.pid <> pg_backend_pid() \
         AND coalesce(a.state_change > clock_timestamp() - $2::float8 * interval '1 second', true)";
    let rows = connection.rows(statement, &[&schema, &LONGEST_PAUSE])?;
    let count = |n: usize| u64::try_from(rows[0].get::<_, i64>(n)).unwrap_or_default();
    Ok(StandbyCounts {
        all: count(0),
        fit: count(1),
    })
}

/// The server's time in seconds of the Unix epoch, and whether commits have waited for a replica
/// for some seconds: other sessions of the same role are all that it shows.
pub(super) fn clock_and_waits(connection: &mut PostgresConnection) -> Result<(f64, bool), Fault> {
    let statement = "SELECT extract(epoch FROM clock_timestamp())::float8, \
         EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep' \
         AND state_change < clock_timestamp() - interval '2 seconds')";
    let rows = connection.rows(statement, &[])?;
    Ok((rows[0].get(0), rows[0].get(1)))
}

/// What the process with a salt says of settings. It is its session for looks that says it: after
/// a change there may be two for a moment.
pub(super) fn marks(
    connection: &mut PostgresConnection,
    salt: &str,
) -> Result<Vec<(u32, u32)>, Fault> {
    let statement = "WITH locks AS (SELECT l.* FROM pg_locks l \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) \
         SELECT m.classid::bigint, m.objid::bigint FROM locks m, locks l \
         WHERE l.classid::bigint = $1 AND l.objid::bigint = $2 AND m.pid = l.pid";
    let (name, value) = salt_mark(salt);
    let rows = connection.rows(statement, &[&i64::from(name), &i64::from(value)])?;
    let number = |row: &tokio_postgres::Row, n: usize| u32::try_from(row.get::<_, i64>(n)).ok();
    let marks = rows
        .iter()
        .filter_map(|row| Some((number(row, 0)?, number(row, 1)?)));
    Ok(marks.collect())
}

/// Whether the session that has the lock says that it is of another installation than this.
pub(super) fn is_anothers(
    connection: &mut PostgresConnection,
    schema: &str,
    installation: Installation,
) -> Result<bool, Fault> {
    let Some((of_schema, own)) = installation.numbers() else {
        return Ok(false);
    };
    let statement = "WITH k AS (SELECT hashtextextended('orrery store ' || $1, 0) AS key), \
         locks AS (SELECT l.* FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())), \
         marks AS (SELECT m.objid::bigint AS own FROM locks m, locks l, k \
         WHERE l.objsubid = 1 AND l.classid::bigint = (k.key >> 32) & 4294967295 \
         AND l.objid::bigint = k.key & 4294967295 \
         AND m.pid = l.pid AND m.objsubid = 2 AND m.classid::bigint = $2) \
         SELECT count(*) > 0 AND NOT coalesce(bool_or(own = $3), false) FROM marks";
    let rows = connection.rows(statement, &[&schema, &of_schema, &own])?;
    Ok(rows[0].get(0))
}

/// Whether the last holder of a store that nobody has was of another installation than this, and
/// others of it stand beside the store.
pub(super) fn is_left_by_another(
    connection: &mut PostgresConnection,
    schema: &str,
    (owner, installation): (&OwnerRow, Installation),
) -> Result<bool, Fault> {
    let Some((of_schema, own)) = installation.numbers() else {
        return Ok(false);
    };
    let last = owner.installation;
    if last == 0 || last == own {
        return Ok(false);
    }
    let statement = "WITH k AS (SELECT hashtextextended('orrery beside ' || $1, 0) AS key), \
         locks AS (SELECT l.* FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())) \
         SELECT EXISTS (SELECT 1 FROM locks m, locks l, k \
         WHERE l.objsubid = 1 AND l.classid::bigint = (k.key >> 32) & 4294967295 \
         AND l.objid::bigint = k.key & 4294967295 \
         AND m.pid = l.pid AND m.objsubid = 2 AND m.classid::bigint = $2 \
         AND m.objid::bigint = $3)";
    let rows = connection.rows(statement, &[&schema, &of_schema, &last])?;
    Ok(rows[0].get(0))
}

fn unlock(connection: &mut PostgresConnection, schema: &str) -> Result<(), Fault> {
    let free = "SELECT pg_advisory_unlock(hashtextextended('orrery store ' || $1, 0))";
    connection.rows(free, &[&schema]).map(drop)
}

/// Gets the lock of the store for this session, unless another has it.
pub(super) fn lock(connection: &mut PostgresConnection, schema: &str) -> Result<bool, Fault> {
    let statement = "SELECT pg_try_advisory_lock(hashtextextended('orrery store ' || $1, 0))";
    Ok(connection.rows(statement, &[&schema])?[0].get(0))
}

/// Ends the session that has the lock: what it had begun is undone, or was committed before.
pub(super) fn end_holder(connection: &mut PostgresConnection, schema: &str) -> Result<(), Fault> {
    let statement = "WITH k AS (SELECT hashtextextended('orrery store ' || $1, 0) AS key) \
         SELECT pg_terminate_backend(l.pid) FROM pg_locks l, k \
         WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
         AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND l.classid::bigint = (k.key >> 32) & 4294967295 \
         AND l.objid::bigint = k.key & 4294967295 AND l.pid <> pg_backend_pid()";
    connection.rows(statement, &[&schema]).map(drop)
}

/// Raises the epoch in this process's name, and notes behind which group.
fn raise(connection: &mut PostgresConnection, taker: &Claimant) -> Result<HolderTerm, Fault> {
    let holder = Holder::current(&taker.program);
    let host = host();
    let pid = i64::from(holder.pid);
    let by = format!("{} on {host} (pid {pid})", holder.program);
    let statement = "WITH raised AS (UPDATE owner SET epoch = epoch + 1, \
         renewed = clock_timestamp(), program = $1, host = $2, pid = $3, started = $4, \
         address = $6, forward_key = $7, installation = $8 RETURNING epoch, last_group), \
         noted AS (INSERT INTO epochs \
         SELECT epoch, last_group, clock_timestamp(), $5 FROM raised) \
         SELECT epoch, last_group FROM raised";
    let (program, started) = (&holder.program, &holder.started);
    let (address, key) = (&taker.address, &taker.forward_key);
    let installation = taker.installation.number();
    let rows = connection.rows(
        statement,
        &[
            program,
            &host,
            &pid,
            started,
            &by,
            address,
            key,
            &installation,
        ],
    )?;
    // Whoever may not remove them keeps them.
    let _ = connection.rows(FORGET_EPOCHS, &[]);
    // Who waits for a holder looks at once.
    connection.rows("SELECT pg_notify('orrery_store', 'owner')", &[])?;
    Ok(HolderTerm {
        epoch: rows[0].get(0),
        last_group: rows[0].get(1),
        after_group: rows[0].get(1),
        noted: by,
        by: describe_holder(program, &host, pid, started),
        forward_key: key.clone(),
    })
}

/// Each failed attempt to take the store leaves an epoch as well. The one before the newest stays:
/// its holder may ask what became of it.
const FORGET_EPOCHS: &str = "DELETE FROM epochs WHERE taken < clock_timestamp() - interval '30 days' \
     AND epoch < (SELECT max(epoch) - 1 FROM epochs)";

/// A holder, as people are told.
fn describe_holder(program: &str, host: &str, pid: i64, started: &str) -> String {
    format!("{program} on {host} (pid {pid}, since {started})")
}

/// Behind which group the store was taken from whoever had `epoch`, if it was.
pub(super) fn taken_behind(
    connection: &mut PostgresConnection,
    epoch: i64,
) -> Result<Option<i64>, Fault> {
    let statement = "SELECT after_group FROM epochs WHERE epoch > $1 ORDER BY epoch LIMIT 1";
    let rows = connection.rows(statement, &[&epoch])?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Up to which group a server knows what was written under `taken`, which another has followed;
/// `None`: it knows of no such holder.
pub(super) fn known_of(
    connection: &mut PostgresConnection,
    taken: &HolderTerm,
) -> Result<Option<i64>, Fault> {
    let statement = "SELECT coalesce((SELECT n.after_group FROM epochs n WHERE n.epoch > e.epoch \
         ORDER BY n.epoch LIMIT 1), o.last_group) \
         FROM epochs e, owner o WHERE e.epoch = $1 AND e.after_group = $2 AND e.holder = $3";
    let rows = connection.rows(statement, &[&taken.epoch, &taken.after_group, &taken.noted])?;
    Ok(rows.first().map(|row| row.get(0)))
}

/// Gives the store free for the next one.
pub(super) fn release(
    connection: &mut PostgresConnection,
    schema: &str,
    epoch: i64,
) -> Result<(), Fault> {
    let ended = "UPDATE owner SET renewed = '-infinity' WHERE epoch = $1 RETURNING epoch";
    connection.rows(ended, &[&epoch])?;
    unlock(connection, schema)?;
    let hint = "SELECT pg_notify('orrery_store', 'owner')";
    connection.rows(hint, &[]).map(drop)
}

/// This machine's name.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = name.ok().map(|name| name.trim().to_owned());
    name.filter(|name| !name.is_empty())
        .unwrap_or_else(|| "an unnamed machine".to_owned())
}

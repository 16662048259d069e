//! What other processes took in, for commands over a whole store.

use super::connecting::connector;
use super::connection::PostgresConnection;
use super::fault::Fault;
use super::layout;
use super::queries::signed;
use super::url::PostgresUrl;
use crate::error::OpenError;
use crate::options::StoreOptions;

/// Whoever takes something in looks whether the store is closed once it keeps others from this
/// lock.
const AWAIT_TAKERS: &str =
    "BEGIN; SET LOCAL lock_timeout = '5s'; LOCK TABLE intake IN SHARE MODE; COMMIT";

/// What other processes took in for the holder of a store.
pub(crate) struct TakenInEntries {
    connection: PostgresConnection,
    place: String,
}

impl TakenInEntries {
    /// Connects.
    pub(crate) fn open(url: &PostgresUrl, options: &StoreOptions) -> Result<Self, OpenError> {
        let (connector, place) = connector(url, options)?;
        let connected = connector.connect();
        let connection = connected.map_err(|fault| layout::refused(&place, fault))?;
        Ok(Self { connection, place })
    }

    /// The number of the newest one that is there; 0 where there is none.
    pub(crate) fn newest(&mut self) -> Result<u64, OpenError> {
        let newest = newest(&mut self.connection);
        newest.map_err(|fault| layout::refused(&self.place, fault))
    }

    /// Waits for whoever began to take something in before: what is taken in later sees what the
    /// store says of itself by now.
    pub(crate) fn await_takers(&mut self) -> Result<(), OpenError> {
        let waited = self.connection.batch(AWAIT_TAKERS);
        waited.map_err(|fault| layout::refused(&self.place, fault))
    }

    /// Reads all of each.
    pub(crate) fn read(&mut self) -> Result<(), OpenError> {
        let read = read(&mut self.connection);
        read.map_err(|fault| layout::refused(&self.place, fault))
    }

    /// How many of those up to a number the holder has yet to decide.
    pub(crate) fn undecided(&mut self, up_to: u64) -> Result<u64, OpenError> {
        let count = undecided(&mut self.connection, up_to);
        count.map_err(|fault| layout::refused(&self.place, fault))
    }
}

/// The number of the newest entry; 0 where there is none.
fn newest(connection: &mut PostgresConnection) -> Result<u64, Fault> {
    let rows = connection.rows("SELECT coalesce(max(seq), 0) FROM intake", &[])?;
    Ok(u64::try_from(rows[0].get::<_, i64>(0)).unwrap_or_default())
}

/// Has the server read all of each entry.
fn read(connection: &mut PostgresConnection) -> Result<(), Fault> {
    let statement = "SELECT count(md5(content) || md5(digest) || md5(outcome)) FROM intake";
    connection.rows(statement, &[]).map(drop)
}

/// How many entries up to a number wait for a decision.
fn undecided(connection: &mut PostgresConnection, up_to: u64) -> Result<u64, Fault> {
    let statement = "SELECT count(*) FROM intake WHERE outcome IS NULL AND seq <= $1";
    let rows = connection.rows(statement, &[&signed(up_to)])?;
    Ok(u64::try_from(rows[0].get::<_, i64>(0)).unwrap_or_default())
}

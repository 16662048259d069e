//! The writer's connection: it is made anew when it is lost, as long as nobody else has taken the
//! store, and what was under way then is found out, not guessed.

use super::connection::{PostgresConnection, PostgresConnector, StatementParameters};
use super::fault::Fault;
use super::holder::{self, Claimant, HolderTerm};
use super::layout;
use crate::error::{OpenError, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio_postgres::Row;

/// Between two attempts to reach the server.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The writer's connection to a store that it has taken.
pub(super) struct WriterSession {
    connector: Arc<PostgresConnector>,
    /// Server, database and schema, for messages.
    place: String,
    connection: Option<PostgresConnection>,
    taken: HolderTerm,
    /// The last group that is known to be committed.
    last_group: i64,
    /// How long a lost connection is made anew before the caller hears of it.
    patience: Duration,
    /// Connections made anew since the store was opened, for readers to follow.
    reconnected: Arc<AtomicU64>,
}

/// How a commit ended.
#[derive(Debug)]
pub(super) enum CommitError {
    /// Nothing of it is stored.
    Refused(StoreError),
    /// It was sent, and no server says what became of it.
    Unknown(String),
}

impl WriterSession {
    /// Connects, makes the tables if there are none, and takes the store for `taker`.
    pub(super) fn open(
        connector: Arc<PostgresConnector>,
        place: &str,
        taker: &Claimant,
        (lease, patience): (Duration, Duration),
    ) -> Result<Self, OpenError> {
        let connected = connector.connect();
        let mut connection = connected.map_err(|fault| layout::refused(place, fault))?;
        layout::prepare(&mut connection, &connector.schema, place)?;
        let at = (connector.schema.as_str(), place);
        let taken = holder::take(&mut connection, at, taker, lease)?;
        let place = place.to_owned();
        Ok(Self::new(connector, place, connection, taken, patience))
    }

    /// Over a connection on which the store was just taken.
    pub(super) fn new(
        connector: Arc<PostgresConnector>,
        place: String,
        connection: PostgresConnection,
        taken: HolderTerm,
        patience: Duration,
    ) -> Self {
        Self {
            connector,
            place,
            connection: Some(connection),
            last_group: taken.last_group,
            taken,
            patience,
            reconnected: Arc::default(),
        }
    }

    /// The epoch that this process holds the store under.
    pub(super) fn epoch(&self) -> u64 {
        u64::try_from(self.taken.epoch).unwrap_or_default()
    }

    /// How many connections were made anew since the store was opened.
    pub(super) fn reconnected(&self) -> &Arc<AtomicU64> {
        &self.reconnected
    }

    /// Number of the last group.
    pub(super) fn last_group(&self) -> u64 {
        u64::try_from(self.last_group).unwrap_or_default()
    }

    /// Makes sure that the server is reached, within `patience`.
    pub(super) fn ensure(&mut self, patience: Duration) -> Result<(), StoreError> {
        let connected = self.connected(Instant::now() + patience);
        connected.map(drop).map_err(|fault| self.failure(fault))
    }

    /// Asks the server for the last group.
    pub(super) fn refresh(&mut self) -> Result<(), StoreError> {
        let rows = self.rows("SELECT last_group FROM owner", &[])?;
        self.last_group = rows.first().map_or(0, |row| row.get(0));
        Ok(())
    }

    /// What the database is called by: the same for its replicas, and another one where a dump of
    /// it was restored. Empty where the server does not say.
    pub(super) fn server(&mut self) -> String {
        let ask = "SELECT system_identifier::text || '/' || oid::text \
             FROM pg_control_system(), pg_database WHERE datname = current_database()";
        let rows = self.rows(ask, &[]);
        let said = rows.ok().and_then(|rows| rows.first()?.try_get(0).ok());
        said.unwrap_or_default()
    }

    /// Says that this holder is well.
    pub(super) fn renew(&mut self) -> Result<(), StoreError> {
        let epoch = self.taken.epoch;
        self.rows("SELECT hold($1)", &[&epoch]).map(drop)
    }

    /// The rows of a statement that changes nothing, or the same thing every time: asked again over
    /// a new connection if one is lost.
    pub(super) fn rows(
        &mut self,
        statement: &str,
        parameters: StatementParameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let until = Instant::now() + self.patience;
        loop {
            let asked = self.connected(until);
            let asked = asked.and_then(|connection| connection.rows(statement, parameters));
            match asked {
                Ok(rows) => return Ok(rows),
                Err(Fault::Lost(_)) if Instant::now() < until => self.connection = None,
                Err(fault) => return Err(self.failure(fault)),
            }
        }
    }

    /// Commits a group, once: a commit whose answer was lost is looked for on a new connection, and
    /// sent again only when it is not there.
    pub(super) fn commit(
        &mut self,
        group: u64,
        send: impl Fn(&mut PostgresConnection, i64, i64) -> Result<(), Fault>,
    ) -> Result<(), CommitError> {
        let group = i64::try_from(group).unwrap_or(i64::MAX);
        let until = Instant::now() + self.patience;
        let mut in_doubt = false;
        loop {
            let epoch = self.taken.epoch;
            let sent = match self.connected(until) {
                Ok(connection) => send(connection, epoch, group),
                Err(Fault::EpochPassed) if in_doubt => return self.settle_with_successor(group),
                Err(Fault::Lost(reason)) if in_doubt => return Err(CommitError::Unknown(reason)),
                Err(fault) => return Err(CommitError::Refused(self.failure(fault))),
            };
            match sent {
                Ok(()) => break,
                // It arrived, only its answer did not.
                Err(Fault::GroupKnown) if in_doubt => match self.wait_for_replicas() {
                    Ok(()) => break,
                    Err(Fault::EpochPassed) => return self.settle_with_successor(group),
                    Err(Fault::Lost(_)) if Instant::now() < until => self.connection = None,
                    Err(fault) => {
                        let reason = fault.into_store_error(&self.place).to_string();
                        return Err(CommitError::Unknown(reason));
                    }
                },
                Err(Fault::EpochPassed) if in_doubt => return self.settle_with_successor(group),
                Err(Fault::Lost(reason)) => {
                    in_doubt = true;
                    self.connection = None;
                    if Instant::now() >= until {
                        return Err(CommitError::Unknown(reason));
                    }
                }
                Err(fault) => return Err(CommitError::Refused(self.failure(fault))),
            }
        }
        self.last_group = group;
        Ok(())
    }

    /// Waits until what is committed has arrived where a commit has to: the session that committed
    /// it may have been ended while it waited for that.
    fn wait_for_replicas(&mut self) -> Result<(), Fault> {
        let epoch = self.taken.epoch;
        let gone = || Fault::Lost("the connection is gone".to_owned());
        let connection = self.connection.as_mut().ok_or_else(gone)?;
        connection.rows("SELECT hold($1)", &[&epoch]).map(drop)
    }

    /// Another has taken the store while a commit was in doubt: it noted how far this one came.
    fn settle_with_successor(&mut self, group: i64) -> Result<(), CommitError> {
        let epoch = self.taken.epoch;
        let asked = self
            .connector
            .connect()
            .and_then(|mut connection| holder::taken_behind(&mut connection, epoch));
        match asked {
            Ok(Some(behind)) if behind >= group => Ok(()),
            Ok(_) => Err(CommitError::Refused(self.failure(Fault::EpochPassed))),
            Err(_) => Err(CommitError::Unknown(
                "another process has taken the store meanwhile".to_owned(),
            )),
        }
    }

    /// The connection, made anew if it is gone: the session before it is ended first, so that
    /// nothing it had under way can happen any more.
    fn connected(&mut self, until: Instant) -> Result<&mut PostgresConnection, Fault> {
        if self
            .connection
            .as_ref()
            .is_some_and(PostgresConnection::is_closed)
        {
            self.connection = None;
        }
        while self.connection.is_none() {
            match self.reconnect() {
                Ok(connection) => {
                    self.reconnected.fetch_add(1, Ordering::SeqCst);
                    self.connection = Some(connection);
                }
                Err(Fault::Lost(_)) if Instant::now() < until => thread::park_timeout(RETRY_DELAY),
                Err(fault) => return Err(fault),
            }
        }
        let gone = || Fault::Lost("the connection is gone".to_owned());
        self.connection.as_mut().ok_or_else(gone)
    }

    fn reconnect(&mut self) -> Result<PostgresConnection, Fault> {
        let schema = &self.connector.schema;
        let mut connection = self.connector.connect()?;
        self.check_epoch(&mut connection)?;
        if !holder::lock(&mut connection, schema)? {
            // Ours, or of one who came in between: then the epoch is another at the next look.
            holder::end_holder(&mut connection, schema)?;
            let held = "the former session has not ended yet";
            return Err(Fault::Lost(held.to_owned()));
        }
        self.check_epoch(&mut connection)?;
        Ok(connection)
    }

    /// Whether the store is still this process's, and the server knows what it acknowledged.
    fn check_epoch(&self, connection: &mut PostgresConnection) -> Result<(), Fault> {
        let owner = holder::owner(connection)?;
        let is_ours = owner.is_of(&self.taken);
        // Whoever took it after us began behind what the server had of us.
        let known = match is_ours {
            true => Some(owner.last_group),
            false => holder::known_of(connection, &self.taken)?,
        };
        let has_written = self.last_group > self.taken.last_group;
        if known.map_or(has_written, |known| known < self.last_group) {
            tracing::error!(
                event = "store.server_went_back", place = %self.place,
                known = known.unwrap_or(owner.last_group), acknowledged = self.last_group,
                "the server has lost groups that it had acknowledged"
            );
            return Err(Fault::EpochPassed);
        }
        match is_ours {
            true => Ok(()),
            false => Err(Fault::EpochPassed),
        }
    }

    /// The store's word for a failure.
    fn failure(&mut self, fault: Fault) -> StoreError {
        if !matches!(fault, Fault::EpochPassed) {
            return fault.into_store_error(&self.place);
        }
        self.connection = None;
        let owner = self
            .connector
            .connect()
            .and_then(|mut connection| holder::owner(&mut connection));
        let by = match owner {
            Ok(owner) if owner.is_of(&self.taken) => {
                "nobody, but the server has lost what it acknowledged".to_owned()
            }
            Ok(owner) => owner.by,
            Err(_) => "another process".to_owned(),
        };
        let place = self.place.clone();
        StoreError::TakenOver { place, by }
    }

    /// Gives the store free.
    pub(super) fn close(&mut self) {
        if let Some(mut connection) = self.connection.take() {
            // Without an answer the server frees it with the session.
            let _ = holder::release(&mut connection, &self.connector.schema, self.taken.epoch);
        }
    }
}

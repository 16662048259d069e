//! A store that several processes stand beside: one holds it, the others look who does, take it
//! when nobody does any more, and take deliveries in for the holder meanwhile.
//!
//! ```text
//! look ──▶ owner's row, lock ──▶ (the caller decides) ──▶ end_holder, try_take ──▶ Store
//! take_in ──▶ table `intake` ◀── undecided, decide (the holder's process)
//!                  └── NOTIFY: a hint for all who wait
//! ```
//! Nothing here writes what the holder writes: the intake is a table of its own.

use super::connection::{PostgresConnection, PostgresConnector};
use super::fault::Fault;
use super::holder::{self, Claimant, OwnerRow, StandbyCounts};
use super::holder_lock;
use super::intake::{self, IntakeHandle};
use super::intake_page::{self, IntakeBacklog};
use super::layout;
use super::listener::{Hints, LISTEN, SETTINGS};
use super::primaries::Primaries;
use super::session::WriterSession;
use crate::compared_settings::SettingDigests;
use crate::error::OpenError;
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;

/// A holder that said within this time that it is well is asked nothing further about.
const RENEWAL_TIMEOUT: Duration = Duration::from_secs(3);

/// What is seen of the holder of a store.
#[derive(Clone, PartialEq, Eq)]
pub struct Leadership {
    /// Raised by each who takes the store; 0 before the first.
    pub epoch: u64,
    /// Program, machine and process of the holder.
    pub by: String,
    /// Where the holder is reached; empty: nowhere.
    pub address: String,
    /// What the other processes show there.
    pub forward_key: String,
    /// The holder gave the store free, or there was none yet.
    pub is_released: bool,
    /// How long ago the holder said that it is well, by the server's clock.
    pub silent: Duration,
    /// Whether its session lives.
    pub is_locked: bool,
    /// For how long the server has worked on what a session asked whose holder says nothing; absent
    /// where the server waits for the holder, or does not say.
    pub worked_for: Option<Duration>,
    /// It says that it is of another installation, or it was and others of that one stand beside
    /// the store: this process is in the wrong place, or they are.
    pub is_anothers: bool,
    /// Why nobody starts on it, nor is anything taken in for it: it was moved elsewhere, or is a
    /// copy that did not end.
    pub closed: Option<String>,
}

impl fmt::Debug for Leadership {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { epoch, by, .. } = self;
        let (released, silent, locked) = (self.is_released, self.silent, self.is_locked);
        let worked_for = self.worked_for;
        write!(
            f,
            "Leadership(epoch {epoch}, {by:?}, released {released}, silent {silent:?}, \
             locked {locked}, worked for {worked_for:?})"
        )
    }
}

/// What the server of a store says besides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerSigns {
    /// By how many milliseconds its clock is ahead of this machine's.
    pub clock_ahead_ms: i64,
    /// Commits wait for a replica that does not answer.
    pub awaits_replica: bool,
    /// The settings in which this process differs from the holder.
    pub differing: Vec<&'static str>,
}

impl Leadership {
    fn from_owner((owner, place): (OwnerRow, &str), is_locked: bool, is_anothers: bool) -> Self {
        let closed = owner.closed.as_ref();
        Self {
            closed: closed.map(|closed| closed.error(place).to_string()),
            epoch: u64::try_from(owner.epoch).unwrap_or_default(),
            silent: owner.silent(),
            is_released: owner.is_released,
            by: owner.by,
            address: owner.address,
            forward_key: owner.forward_key,
            is_locked,
            worked_for: None,
            is_anothers,
        }
    }
}

/// The server of a store that this process may come to hold.
pub(crate) struct SharedServer {
    /// For looks: it waits for less than the holder does.
    connector: Arc<PostgresConnector>,
    place: String,
    taker: Claimant,
    looks: Mutex<Option<PostgresConnection>>,
    hints: Hints,
    has_listened: AtomicBool,
    intake: IntakeHandle,
}

impl SharedServer {
    /// Looks by `connector`; `patience` is that of the intake.
    pub(super) fn new(
        connector: Arc<PostgresConnector>,
        place: String,
        taker: Claimant,
        patience: Duration,
    ) -> Result<Self, OpenError> {
        let hints = Hints::default();
        let intake = intake::start(Arc::clone(&connector), &place, (patience, &hints))?;
        Ok(Self {
            connector,
            place,
            taker,
            looks: Mutex::default(),
            hints,
            has_listened: AtomicBool::new(false),
            intake,
        })
    }

    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// What it knows of the servers of the address.
    pub(super) fn primaries(&self) -> &Primaries {
        &self.connector.primaries
    }

    pub(crate) fn forward_key(&self) -> &str {
        &self.taker.forward_key
    }

    pub(crate) fn hints(&self) -> watch::Receiver<u64> {
        self.hints.any()
    }

    pub(crate) fn settings_changes(&self) -> watch::Receiver<u64> {
        self.hints.settings()
    }

    pub(crate) fn broadcast_settings_reload(&self) -> Result<(), OpenError> {
        self.with_connection(|connection, _| {
            let tell = "SELECT pg_notify('orrery_store', $1)";
            connection.rows(tell, &[&SETTINGS]).map(drop)
        })
    }

    /// Says these settings from now on.
    pub(crate) fn set_compared_settings(&self, compared: &SettingDigests) {
        self.connector.set_compared_settings(compared);
        // The next session says them.
        *self.looks.lock() = None;
    }

    pub(crate) fn intake(&self) -> &IntakeHandle {
        &self.intake
    }

    pub(crate) fn leadership(&self) -> Result<Leadership, OpenError> {
        self.with_connection(|connection, schema| {
            let is_locked = holder_lock::is_locked(connection, schema)?;
            let installation = self.connector.installation;
            let owner = holder::owner(connection)?;
            let is_anothers = match is_locked {
                true => holder::is_anothers(connection, schema, installation)?,
                false => holder::is_left_by_another(connection, schema, (&owner, installation))?,
            };
            let worked_for = match is_locked && owner.silent() > RENEWAL_TIMEOUT {
                true => holder_lock::worked_for(connection, schema)?,
                false => None,
            };
            let owner = (owner, self.place.as_str());
            Ok(Leadership {
                worked_for,
                ..Leadership::from_owner(owner, is_locked, is_anothers)
            })
        })
    }

    pub(crate) fn end_holder(&self) -> Result<(), OpenError> {
        self.with_connection(holder::end_holder)
    }

    pub(crate) fn backlog(&self) -> Result<IntakeBacklog, OpenError> {
        self.with_connection(|connection, _| intake_page::backlog(connection))
    }

    pub(crate) fn standby_counts(&self) -> Result<StandbyCounts, OpenError> {
        self.with_connection(holder::standby_counts)
    }

    pub(crate) fn record_fitness(&self, is_fit: bool) -> Result<(), OpenError> {
        self.with_connection(|connection, schema| {
            holder::record_fitness(connection, schema, is_fit)
        })
    }

    /// What is wrong where more than one server of the address accepts writes.
    pub(crate) fn two_primaries(&self) -> Option<String> {
        self.connector.two_primaries()
    }

    pub(crate) fn signs(&self, compared: &SettingDigests) -> Result<ServerSigns, OpenError> {
        self.with_connection(|connection, _| {
            let asked = SystemTime::now();
            let (clock, awaits_replica) = holder::clock_and_waits(connection)?;
            let own = asked.duration_since(SystemTime::UNIX_EPOCH);
            let own = own.unwrap_or_default().as_secs_f64();
            let owner = holder::owner(connection)?;
            let said = holder::marks(connection, &owner.forward_key)?;
            Ok(ServerSigns {
                #[expect(clippy::cast_possible_truncation, reason = "no clock is so far off")]
                clock_ahead_ms: ((clock - own) * 1000.0) as i64,
                awaits_replica,
                differing: compared.differing(&said, &owner.forward_key),
            })
        })
    }

    fn with_connection<T>(
        &self,
        ask: impl Fn(&mut PostgresConnection, &str) -> Result<T, Fault>,
    ) -> Result<T, OpenError> {
        let Self {
            connector, place, ..
        } = self;
        let mut kept = self.looks.lock();
        if kept.as_ref().is_some_and(PostgresConnection::is_closed) {
            *kept = None;
        }
        let connection = match &mut *kept {
            Some(connection) => connection,
            None => {
                let connected = connector.connect_hearing(Some(&self.hints));
                let mut connection = connected.map_err(|fault| layout::refused(place, fault))?;
                layout::prepare(&mut connection, &connector.schema, place)?;
                let heard = connection
                    .batch(LISTEN)
                    .and_then(|()| holder::register_standby(&mut connection, &connector.schema));
                heard.map_err(|fault| layout::refused(place, fault))?;
                if self.has_listened.swap(true, Ordering::SeqCst) {
                    self.hints.may_have_missed();
                }
                kept.insert(connection)
            }
        };
        let asked = ask(connection, &connector.schema);
        if asked.is_err() {
            // It may have become one of a read-only server meanwhile.
            *kept = None;
        }
        asked.map_err(|fault| layout::refused(place, fault))
    }

    /// A session that has just taken the store.
    pub(super) fn take(
        &self,
        connector: Arc<PostgresConnector>,
        patience: Duration,
        may_take: impl FnOnce(&Leadership) -> bool,
    ) -> Result<Option<WriterSession>, OpenError> {
        let place = &self.place;
        let failed = |fault| layout::refused(place, fault);
        let mut connection = connector.connect().map_err(failed)?;
        layout::prepare(&mut connection, &connector.schema, place)?;
        let schema = &connector.schema;
        let taken = holder::take_if(&mut connection, schema, &self.taker, |owner| {
            may_take(&Leadership::from_owner(
                (owner.clone(), place),
                false,
                false,
            ))
        });
        let taken = taken.map_err(failed)?;
        Ok(taken
            .map(|taken| WriterSession::new(connector, place.clone(), connection, taken, patience)))
    }
}

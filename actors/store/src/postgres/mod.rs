//! The engine over a PostgreSQL server, 15 or newer. See docs/adr/0021.
//!
//! ```text
//! writer ─▶ PostgresChanges (rows of the group) ─▶ Session ─ commit_group(epoch, number, …) ─▶ server
//! readers ─▶ PostgresSnapshot ─ REPEATABLE READ ─▶ connections of their own ─────────────────▶ server
//! ```
//!
//! # What holds
//!
//! - One statement commits a group. It checks the epoch and the group's number within its
//!   transaction, so a process that lost the store stores nothing, and a group that is sent twice
//!   is stored once.
//! - A commit whose answer was lost is looked for after the session that may have done it has
//!   ended.
//! - Blobs stand in the database as well: the commit of the group is theirs.

mod arrays;
mod bridge;
mod changed_tables;
mod changes;
mod connecting;
mod connection;
mod fault;
mod holder;
mod holder_lock;
mod installation;
mod intake;
mod intake_page;
mod intake_rows;
mod known_keys;
mod layout;
mod listener;
mod peek;
mod primaries;
mod queries;
mod readers;
mod servers;
mod session;
mod shared;
mod tls;
mod url;

use self::arrays::Arrays;
use self::changed_tables::ChangedTables;
use self::changes::{PostgresChanges, RowCache};
use self::connecting::{connector, connector_within};
use self::connection::PostgresConnector;
use self::holder::Claimant;
use self::known_keys::KnownKeys;
use self::readers::PostgresReaders;
use self::session::{CommitError, WriterSession};
use crate::blobs::{BlobChanges, BlobEnd, packing};
use crate::engine::{Engine, SnapshotSource};
use crate::error::{OpenError, StoreError};
use crate::health::{HealthRecord, StoreState};
use crate::options::StoreOptions;
use crate::quarantine::QUARANTINE;
use crate::row_source::RowSource;
use crate::write::{BLOB_END, GroupChanges, META, WriteTxn};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub use self::holder::StandbyCounts;
pub use self::intake::{IntakeHandle, TakenIn};
pub use self::intake_page::{IntakeBacklog, IntakeEntry, IntakePage};
pub(crate) use self::intake_rows::TakenInEntries;
pub use self::peek::peek;
pub(crate) use self::shared::SharedServer;
pub use self::shared::{Leadership, ServerSigns};
pub use self::url::PostgresUrl;

/// The writer's side of a store in PostgreSQL.
pub(crate) struct PostgresEngine {
    place: String,
    health: Arc<HealthRecord>,
    session: WriterSession,
    readers: Arc<PostgresReaders>,
    cache: RowCache,
    keys: KnownKeys,
    /// Number of the last committed group.
    last_group: u64,
    /// Where its blobs end.
    head: BlobEnd,
    segment_bytes: u64,
    /// How long a group waits for a server that is gone.
    patience: Duration,
    /// How often this holder says that it is well, while nothing is written.
    renew_every: Duration,
    next_renewal: Instant,
    probe_every: Duration,
    next_probe: Instant,
}

impl PostgresEngine {
    /// Connects and takes the store. Waits for a holder that may be gone, for twice the lease at
    /// most.
    pub(crate) fn open(url: &PostgresUrl, options: &StoreOptions) -> Result<Self, OpenError> {
        let (connector, place) = connector(url, options)?;
        let times = (options.lease, options.patience);
        let taker = Claimant {
            program: options.program.clone(),
            address: String::new(),
            forward_key: String::new(),
            installation: connector.installation,
        };
        let session = WriterSession::open(Arc::clone(&connector), &place, &taker, times)?;
        Self::with_session(connector, place, session, options)
    }

    /// The engine of a store that `session` has taken.
    fn with_session(
        connector: Arc<PostgresConnector>,
        place: String,
        session: WriterSession,
        options: &StoreOptions,
    ) -> Result<Self, OpenError> {
        let (lease, patience) = (options.lease, options.patience);
        let health = Arc::new(HealthRecord::default());
        let readers = PostgresReaders::new(
            place.clone(),
            connector,
            (Arc::clone(&health), Arc::clone(session.reconnected())),
            (options.readers.max(1), patience),
        );
        let mut engine = Self {
            readers: Arc::new(readers),
            cache: RowCache::new(options.cache_bytes),
            keys: KnownKeys::default(),
            last_group: session.last_group(),
            head: BlobEnd::default(),
            segment_bytes: options.segment_bytes,
            patience,
            renew_every: lease / 4,
            next_renewal: Instant::now() + lease / 4,
            probe_every: options.probe_every,
            next_probe: Instant::now(),
            place,
            health,
            session,
        };
        engine.read_numbers()?;
        Ok(engine)
    }

    /// Reads what the engine keeps in memory.
    fn read_numbers(&mut self) -> Result<(), StoreError> {
        let mut rows = PostgresChanges::new(&mut self.session, &self.cache, &mut self.keys);
        let head = rows.get(META, BLOB_END)?;
        self.head = head
            .and_then(|row| BlobEnd::from_bytes(&row))
            .unwrap_or_default();
        let quarantined = rows.len(QUARANTINE.name())?;
        self.health.counters.quarantined.set(quarantined);
        self.last_group = self.last_group.max(self.session.last_group());
        Ok(())
    }

    fn is_ready(&self) -> bool {
        *self.health.state.borrow() == StoreState::Ready
    }

    /// What a failure means for those who ask next.
    fn halt(&mut self, error: &StoreError) {
        self.next_probe = Instant::now() + self.probe_every;
        let state = match error {
            StoreError::Full { .. } => StoreState::Full,
            StoreError::TakenOver { by, .. } => StoreState::TakenOver(by.clone()),
            other => StoreState::Failing(other.to_string()),
        };
        self.health.set_state(&self.place, &state);
        if matches!(state, StoreState::TakenOver(_)) {
            self.readers.close();
        }
    }

    /// Refuses while nothing can be written, except that from time to time somebody has to try.
    fn admit(&mut self) -> Result<(), StoreError> {
        let patience = match &*self.health.state.borrow() {
            StoreState::Ready => self.patience,
            state @ (StoreState::TakenOver(_) | StoreState::Closed) => {
                return Err(state.refusal(&self.place));
            }
            state if Instant::now() < self.next_probe => return Err(state.refusal(&self.place)),
            _ => Duration::ZERO,
        };
        let reached = self.session.ensure(patience);
        if let Err(error) = &reached {
            self.halt(error);
        }
        reached
    }

    fn commit(
        &mut self,
        number: u64,
        changed: &ChangedTables,
        group: &GroupChanges,
    ) -> Result<(), StoreError> {
        let began = Instant::now();
        let arrays = Arrays::from_changes(changed, group, &self.keys);
        let outcome = self.session.commit(number, |connection, epoch, number| {
            arrays.send(connection, epoch, number)
        });
        self.count_reconnects();
        match outcome {
            Ok(()) => {
                self.last_group = number;
                self.head = group.head;
                self.cache.apply(changed);
                self.keys.apply(changed);
                self.next_renewal = Instant::now() + self.renew_every;
                self.health
                    .record_commit(began.elapsed(), group.quarantined);
                self.health.set_state(&self.place, &StoreState::Ready);
                Ok(())
            }
            Err(CommitError::Refused(error)) => {
                self.halt(&error);
                Err(error)
            }
            Err(CommitError::Unknown(reason)) => {
                // What the server has is read when it is reached again.
                self.cache.clear();
                self.keys.clear();
                let place = self.place.clone();
                let error = StoreError::Unknown { place, reason };
                self.halt(&error);
                Err(error)
            }
        }
    }

    /// Says that this holder is well, unless another has the store.
    fn confirm(&mut self) -> Result<(), StoreError> {
        let renewed = self.session.renew();
        self.count_reconnects();
        self.next_renewal = Instant::now() + self.renew_every;
        match &renewed {
            Ok(()) => self.health.set_state(&self.place, &StoreState::Ready),
            Err(error) => self.halt(error),
        }
        renewed
    }

    fn count_reconnects(&self) {
        let counters = &self.health.counters;
        let reconnected = self.session.reconnected().load(Ordering::SeqCst);
        counters.reopened.set(reconnected);
    }

    /// After a commit nobody knows the end of: the server says what its last group is.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        self.session.refresh()?;
        self.cache.clear();
        self.keys.clear();
        self.read_numbers()
    }
}

impl Engine for PostgresEngine {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn health(&self) -> &Arc<HealthRecord> {
        &self.health
    }

    fn snapshots(&self) -> Arc<dyn SnapshotSource> {
        Arc::clone(&self.readers) as Arc<dyn SnapshotSource>
    }

    fn group(&mut self, body: &mut dyn FnMut(&mut WriteTxn<'_>)) -> Result<(), StoreError> {
        let was_ready = self.is_ready();
        self.admit()?;
        if !was_ready && let Err(error) = self.catch_up() {
            self.halt(&error);
            return Err(error);
        }
        let number = self.last_group + 1;
        let appends = BlobChanges::starting_at(self.head, self.segment_bytes);
        let mut rows = PostgresChanges::new(&mut self.session, &self.cache, &mut self.keys);
        let mut group = WriteTxn::new(&mut rows, number, appends);
        body(&mut group);
        let finished = group.finish();
        let changed = rows.into_changed();
        match finished {
            Ok(group) if group.changed => self.commit(number, &changed, &group),
            Ok(group) if group.confirms => self.confirm(),
            Ok(_) if was_ready => {
                self.check_health();
                Ok(())
            }
            // It reads again; whether it writes is found out by the lease.
            Ok(_) => {
                self.probe();
                Ok(())
            }
            Err(error) => {
                self.halt(&error);
                Err(error)
            }
        }
    }

    fn probe(&mut self) {
        if self.is_ready() || Instant::now() < self.next_probe {
            return;
        }
        if self.admit().is_err() {
            return;
        }
        match self.catch_up().and_then(|()| self.session.renew()) {
            Ok(()) => self.health.set_state(&self.place, &StoreState::Ready),
            Err(error) => self.halt(&error),
        }
    }

    fn probe_in(&self) -> Duration {
        let next = match &*self.health.state.borrow() {
            StoreState::Ready => self.next_renewal,
            StoreState::TakenOver(_) | StoreState::Closed => return Duration::from_secs(3600),
            _ => self.next_probe,
        };
        next.saturating_duration_since(Instant::now())
    }

    fn check_health(&mut self) {
        if !self.is_ready() || Instant::now() < self.next_renewal {
            return;
        }
        // What is wrong is in the state.
        let _ = self.confirm();
    }

    fn close(&mut self) {
        let taken = matches!(&*self.health.state.borrow(), StoreState::TakenOver(_));
        if !taken {
            self.health.set_state(&self.place, &StoreState::Closed);
        }
        self.readers.close();
        self.session.close();
    }

    fn continue_from(&mut self, group: u64, blob_end: &[u8]) -> Result<(), StoreError> {
        self.last_group = self.last_group.max(group);
        self.head = BlobEnd::from_bytes(blob_end).unwrap_or(self.head);
        Ok(())
    }

    fn import_segment(&mut self, segment: u32, at: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let (segment, at) = (i64::from(segment), queries::signed(at));
        // Sent again over a new connection, it is the same.
        let statement = "INSERT INTO blobs (segment, start, bytes, length) \
             VALUES ($1, $2, $3, $4) ON CONFLICT (segment, start) \
             DO UPDATE SET bytes = EXCLUDED.bytes, length = EXCLUDED.length";
        for part in packing::parts(bytes) {
            let start = at + i64::try_from(part.offset).unwrap_or(i64::MAX);
            let bytes = part.bytes.as_ref();
            self.session
                .rows(statement, &[&segment, &start, &bytes, &part.length])?;
        }
        Ok(())
    }

    fn server(&mut self) -> String {
        self.session.server()
    }

    fn clear_segments(&mut self) -> Result<(), StoreError> {
        self.session.rows("DELETE FROM blobs", &[]).map(drop)
    }
}

impl Drop for PostgresEngine {
    fn drop(&mut self) {
        self.session.close();
    }
}

/// The rows and blobs of a store that is open elsewhere or not at all, as of now.
pub(crate) fn read_only(
    url: &PostgresUrl,
    options: &StoreOptions,
) -> Result<Arc<dyn SnapshotSource>, OpenError> {
    let (connector, place) = connector(url, options)?;
    let connected = connector.connect();
    let mut connection = connected.map_err(|fault| layout::refused(&place, fault))?;
    layout::check(&mut connection, &connector.schema, &place)?;
    let health = Arc::new(HealthRecord::default());
    let of_one_server = (health, Arc::default());
    let readers = PostgresReaders::new(place, connector, of_one_server, (1, options.patience));
    Ok(Arc::new(readers))
}

/// Longest wait of a check of settings for a connection, and for an answer.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Looks whether a store at `url` can be opened or made: the server answers, is new enough and can
/// be written, the tables are known, the role may do all that the store does, and nobody has moved
/// it away. Nothing is made or taken. Blocks, for some seconds at most.
///
/// # Errors
/// What is wrong; [`OpenError::is_away`] where the server does not answer.
pub fn probe(url: &PostgresUrl, options: &StoreOptions) -> Result<(), OpenError> {
    let (connector, place) = connector_within(url, options, (PROBE_TIMEOUT, PROBE_TIMEOUT))?;
    let connected = connector.connect();
    let mut connection = connected.map_err(|fault| layout::refused(&place, fault))?;
    let is_there = layout::probe(&mut connection, &connector.schema, &place)?;
    let closed = match is_there {
        true => {
            let owner = holder::owner(&mut connection);
            owner
                .map_err(|fault| layout::refused(&place, fault))?
                .closed
        }
        false => None,
    };
    match closed {
        Some(closed) => Err(closed.error(&place)),
        None => Ok(()),
    }
}

/// Longest wait for a look's connection or answer: one that hangs must not delay a take-over.
const LOOK_TIMEOUT: Duration = Duration::from_secs(2);

/// What a process without the store asks of it; nothing is asked of the server yet.
pub(crate) fn shared_server(
    url: &PostgresUrl,
    options: &StoreOptions,
    (address, forward_key): (&str, &str),
) -> Result<SharedServer, OpenError> {
    let (connector, place) = connector_within(url, options, (LOOK_TIMEOUT, LOOK_TIMEOUT))?;
    let taker = Claimant {
        program: options.program.clone(),
        address: address.to_owned(),
        forward_key: forward_key.to_owned(),
        installation: connector.installation,
    };
    SharedServer::new(connector, place, taker, options.patience)
}

/// Takes the store, if no session has it and `may_take` says so; the epoch with it.
pub(crate) fn take(
    server: &SharedServer,
    (url, options): (&PostgresUrl, &StoreOptions),
    may_take: impl FnOnce(&Leadership) -> bool,
) -> Result<Option<(PostgresEngine, u64)>, OpenError> {
    let (connector, place) = connector(url, options)?;
    connector.primaries.learn(server.primaries());
    let taken = server.take(Arc::clone(&connector), options.patience, may_take)?;
    let Some(session) = taken else {
        return Ok(None);
    };
    let epoch = session.epoch();
    server.primaries().follow(&connector.primaries);
    let engine = PostgresEngine::with_session(connector, place, session, options)?;
    Ok(Some((engine, epoch)))
}

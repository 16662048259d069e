//! Readers' connections, and what one sees: everything as of one commit.

use super::connection::{PostgresConnection, PostgresConnector, StatementParameters};
use super::fault::Fault;
use super::queries;
use crate::blobs::Extent;
use crate::engine::SnapshotSource;
use crate::error::StoreError;
use crate::health::{HealthRecord, StoreState};
use crate::read::ReadTxn;
use crate::reentrancy;
use crate::row_source::{RowSource, StoreSnapshot, TableCount};
use crate::rows::raw::{KeyRange, RawRow};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

/// Connections beside those of the reading threads, for callers that read on their own threads.
const SPARE: usize = 6;
/// Between two attempts to reach the server.
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// Between two attempts to reach one that one reader has waited for without an answer.
const TRIAL_INTERVAL: Duration = Duration::from_secs(1);

/// A server that does not answer: one reader has waited for it, those that come after him do not.
#[derive(Debug)]
struct UnresponsiveServer {
    reason: String,
    /// How often the writer's connection had been made anew.
    writer: u64,
    /// When it was tried last.
    tried_at: Instant,
    /// Whether a reader tries it now.
    is_tried: bool,
}

/// Connections that nobody uses.
#[derive(Debug)]
struct IdleConnections {
    /// Each with what `writers` was when it was made.
    connections: Mutex<Vec<(u64, PostgresConnection)>>,
    /// How often the writer's connection was made anew: since then another server may be the one
    /// that is written, and one which was it may answer as if nothing had been written since.
    writers: Arc<AtomicU64>,
}

impl IdleConnections {
    fn writer(&self) -> u64 {
        self.writers.load(Ordering::SeqCst)
    }

    /// One that is as new as the writer's.
    fn take(&self) -> Option<(u64, PostgresConnection)> {
        let writer = self.writer();
        let mut connections = self.connections.lock();
        connections.retain(|(made, connection)| *made == writer && !connection.is_closed());
        connections.pop()
    }

    fn put(&self, made: u64, connection: PostgresConnection) {
        if made == self.writer() {
            self.connections.lock().push((made, connection));
        }
    }
}

/// The readers' connections.
#[derive(Debug)]
pub(super) struct PostgresReaders {
    /// Server, database and schema, for messages.
    place: String,
    connector: Arc<PostgresConnector>,
    health: Arc<HealthRecord>,
    idle: Arc<IdleConnections>,
    /// Connections that may still be taken.
    free: Mutex<usize>,
    freed: Condvar,
    /// How long a reader waits for a connection, to be free or to be made.
    patience: Duration,
    /// Whether the server was waited for, and has not answered since.
    silence: Mutex<Option<UnresponsiveServer>>,
}

impl PostgresReaders {
    /// Of so many reading threads. `writers` is how often the writer's connection was made anew.
    pub(super) fn new(
        place: String,
        connector: Arc<PostgresConnector>,
        (health, writers): (Arc<HealthRecord>, Arc<AtomicU64>),
        (threads, patience): (usize, Duration),
    ) -> Self {
        Self {
            place,
            connector,
            health,
            idle: Arc::new(IdleConnections {
                connections: Mutex::default(),
                writers,
            }),
            free: Mutex::new(threads + SPARE),
            freed: Condvar::new(),
            patience,
            silence: Mutex::default(),
        }
    }

    /// How long this reader may wait for the server. Where it has not answered, not at all, and one
    /// a second asks it, unless the writer has reached it since.
    fn admit_to_server(&self) -> Result<Duration, StoreError> {
        let mut silence = self.silence.lock();
        silence.take_if(|silence| silence.writer != self.idle.writer());
        let Some(silence) = &mut *silence else {
            return Ok(self.patience);
        };
        if silence.is_tried || silence.tried_at.elapsed() < TRIAL_INTERVAL {
            return Err(self.failure(Fault::Lost(silence.reason.clone())));
        }
        silence.is_tried = true;
        Ok(Duration::ZERO)
    }

    /// The server says nothing, for this reason; or it answers.
    fn record_silence(&self, reason: Option<&str>) {
        *self.silence.lock() = reason.map(|reason| UnresponsiveServer {
            reason: reason.to_owned(),
            writer: self.idle.writer(),
            tried_at: Instant::now(),
            is_tried: false,
        });
    }

    /// Forgets the connections that nobody uses.
    pub(super) fn close(&self) {
        self.idle.connections.lock().clear();
    }

    /// Waits until one more may be used. A read within a read gets one in any case: waiting for the
    /// outer one would never end.
    fn admit(&self) -> Result<ReaderPermit<'_>, StoreError> {
        if reentrancy::is_in_request() {
            return Ok(ReaderPermit(None));
        }
        let until = Instant::now() + self.patience;
        let mut free = self.free.lock();
        while *free == 0 {
            if self.freed.wait_until(&mut free, until).timed_out() {
                return Err(self.failure(Fault::Lost(
                    "all connections of readers are in use".to_owned(),
                )));
            }
        }
        *free -= 1;
        Ok(ReaderPermit(Some(self)))
    }

    fn failure(&self, fault: Fault) -> StoreError {
        fault.into_store_error(&self.place)
    }
}

/// The right to one connection.
struct ReaderPermit<'r>(Option<&'r PostgresReaders>);

impl Drop for ReaderPermit<'_> {
    fn drop(&mut self) {
        if let Some(readers) = self.0 {
            *readers.free.lock() += 1;
            readers.freed.notify_one();
        }
    }
}

impl SnapshotSource for PostgresReaders {
    fn place(&self) -> &str {
        &self.place
    }

    fn packs_blobs(&self) -> bool {
        true
    }

    fn snapshot(&self, work: &mut dyn FnMut(Result<&mut ReadTxn<'_>, StoreError>)) {
        let ended = match &*self.health.state.borrow() {
            StoreState::Ready | StoreState::Full | StoreState::Failing(_) => None,
            ended => Some(ended.refusal(&self.place)),
        };
        let admitted = match ended {
            Some(error) => Err(error),
            None => self.admit(),
        };
        match admitted {
            Ok(_admitted) => {
                let mut rows = PostgresSnapshot::new(self);
                work(Ok(&mut ReadTxn::new(&mut rows)));
            }
            Err(error) => work(Err(error)),
        }
    }
}

/// What one reader sees: as of its first question.
struct PostgresSnapshot<'r> {
    readers: &'r PostgresReaders,
    /// With what says how new it is.
    connection: Option<(u64, PostgresConnection)>,
    /// Whether the first question was answered: the rest has to come from the same connection.
    is_open: bool,
}

impl<'r> PostgresSnapshot<'r> {
    fn new(readers: &'r PostgresReaders) -> Self {
        Self {
            readers,
            connection: None,
            is_open: false,
        }
    }

    fn rows(
        &mut self,
        statement: &str,
        parameters: StatementParameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let answer = match (self.is_open, &mut self.connection) {
            (true, Some((_, connection))) => connection.rows(statement, parameters),
            _ => return self.query_first(statement, parameters),
        };
        answer.map_err(|fault| self.readers.failure(fault))
    }

    /// The first question: asked again over another connection when the one at hand turns out to be
    /// gone, since nothing was seen yet.
    fn query_first(
        &mut self,
        statement: &str,
        parameters: StatementParameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let until = Instant::now() + self.readers.admit_to_server()?;
        loop {
            let writer = self.readers.idle.writer();
            let connected = match self.readers.idle.take() {
                Some(idle) => Ok(idle),
                None => {
                    let connected = self.readers.connector.connect();
                    connected.map(|connection| (writer, connection))
                }
            };
            let asked = connected.and_then(|(made, mut connection)| {
                let rows = connection.first_rows(statement, parameters)?;
                Ok(((made, connection), rows))
            });
            match asked {
                Ok((connection, rows)) => {
                    self.readers.record_silence(None);
                    self.connection = Some(connection);
                    self.is_open = true;
                    return Ok(rows);
                }
                Err(Fault::Lost(_)) if Instant::now() < until => thread::park_timeout(RETRY_DELAY),
                Err(fault) => {
                    // One that refuses has answered.
                    let silent = match &fault {
                        Fault::Lost(reason) => Some(reason.as_str()),
                        _ => None,
                    };
                    self.readers.record_silence(silent);
                    return Err(self.readers.failure(fault));
                }
            }
        }
    }
}

impl Drop for PostgresSnapshot<'_> {
    fn drop(&mut self) {
        if let Some((made, connection)) = self.connection.take() {
            let idle = Arc::clone(&self.readers.idle);
            connection.roll_back(move |connection| idle.put(made, connection));
        }
    }
}

impl RowSource for PostgresSnapshot<'_> {
    fn get(&mut self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        let rows = self.rows(queries::GET, &[&table, &key])?;
        Ok(queries::value(&rows))
    }

    fn scan(
        &mut self,
        table: &str,
        range: &KeyRange,
        limit: usize,
    ) -> Result<Vec<RawRow>, StoreError> {
        queries::scan(&mut |s, p| self.rows(s, p), table, range, limit)
    }

    fn len(&mut self, table: &str) -> Result<u64, StoreError> {
        Ok(queries::count(&self.rows(queries::LEN, &[&table])?))
    }

    fn blob(&mut self, extent: &Extent) -> Result<Option<Vec<u8>>, StoreError> {
        queries::blob(&mut |s, p| self.rows(s, p), extent)
    }
}

impl StoreSnapshot for PostgresSnapshot<'_> {
    fn tables(&mut self) -> Result<Vec<TableCount>, StoreError> {
        let rows = self.rows(queries::TABLES, &[])?;
        let count = |row: &Row| u64::try_from(row.get::<_, i64>(1)).unwrap_or_default();
        Ok(rows.iter().map(|row| (row.get(0), count(row))).collect())
    }

    fn segments(&mut self) -> Result<Vec<u32>, StoreError> {
        let rows = self.rows(queries::SEGMENTS, &[])?;
        let number = |row: &Row| u32::try_from(row.get::<_, i64>(0)).ok();
        Ok(rows.iter().filter_map(number).collect())
    }

    fn segment_part(
        &mut self,
        segment: u32,
        from: u64,
    ) -> Result<Option<(u64, Vec<u8>)>, StoreError> {
        let (segment, mut from) = (i64::from(segment), queries::signed(from));
        loop {
            let parameters: [&(dyn ToSql + Sync); 3] = [&segment, &from, &queries::MOST_ROWS];
            let rows = self.rows(queries::NEXT_PARTS, &parameters)?;
            let Some(rows) = queries::pieces(&rows).next() else {
                return Ok(None);
            };
            if let Some((start, bytes)) = queries::piece(rows, segment) {
                return Ok(Some((start, bytes.into_owned())));
            }
            // A hole, as where its row is gone: the bodies in it, if it has any, are named as lost.
            from = rows.last().map_or(from, |row| row.get::<_, i64>(0)) + 1;
        }
    }

    fn segment_read(&mut self, segment: u32, at: u64, out: &mut [u8]) -> Result<bool, StoreError> {
        queries::segment_read(&mut |s, p| self.rows(s, p), segment, at, out)
    }
}

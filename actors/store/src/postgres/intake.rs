//! Deliveries that processes without the store take in: appended to a table of their own, decided
//! by whoever holds the store. A thread does it, so that deliveries which wait together are one
//! statement.
//!
//! ```text
//! take_in(delivery, digest, content) ──▶ one INSERT for all that wait ──▶ New or Known
//! outcome(seq) ◀── what the holder decided
//! undecided(), decide() ◀── the holder's process
//! ```
//! An entry is known by its delivery and its body's digest: sent again, it is the same.

use super::connection::{PostgresConnection, PostgresConnector};
use super::fault::Fault;
use super::holder::{self, IS_CLOSED};
use super::intake_page::{IntakePage, undecided};
use super::layout;
use super::listener::Hints;
use super::queries::{signed, unsigned};
use crate::error::{OpenError, StoreError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Entries that may be undecided; one more is refused.
const MOST_WAITING: usize = 10_000;
/// Requests that may wait for the thread.
const QUEUE: usize = 1024;
/// Most entries, and bytes of them, of one statement.
const BATCH: usize = 256;
const BATCH_BYTES: usize = 8 << 20;
/// Between two looks for outcomes that somebody waits for; hints make them earlier.
const OUTCOME_INTERVAL: Duration = Duration::from_millis(20);
/// Between two attempts to reach the server.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// What became of a delivery; it is durable in either case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakenIn {
    /// It is new, under this number.
    New(u64),
    /// The same delivery with the same body was there already.
    Known {
        /// Its number.
        seq: u64,
        /// What was decided of it, if anything was.
        outcome: Option<Vec<u8>>,
    },
}

type Answer<T> = oneshot::Sender<Result<T, StoreError>>;

struct NewEntry {
    delivery: String,
    digest: Vec<u8>,
    content: Vec<u8>,
    answer: Answer<TakenIn>,
}

enum Message {
    TakeIn(NewEntry),
    Await(u64, oneshot::Sender<Vec<u8>>),
    Undecided(usize, Vec<u64>, Answer<IntakePage>),
    Decide(Vec<(u64, Vec<u8>)>, Answer<()>),
    Prune(Duration, Answer<u64>),
}

/// The way to the intake. Clones are the same; the thread ends with the last.
#[derive(Clone)]
pub struct IntakeHandle(Sender<Message>);

impl std::fmt::Debug for IntakeHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IntakeHandle")
    }
}

impl IntakeHandle {
    /// Appends a delivery; durable when it resolves.
    ///
    /// # Errors
    /// Nothing is known to be stored: [`StoreError::Busy`] where as many wait as may, else what the
    /// server or the way to it said. Sent again, it is appended or found.
    pub fn take_in(
        &self,
        delivery: String,
        digest: Vec<u8>,
        content: Vec<u8>,
    ) -> impl Future<Output = Result<TakenIn, StoreError>> + Send + 'static + use<> {
        let (answer, answered) = oneshot::channel();
        let entry = NewEntry {
            delivery,
            digest,
            content,
            answer,
        };
        self.ask(Message::TakeIn(entry), answered)
    }

    /// Resolves with what the holder decided of an entry, whenever it does.
    pub fn outcome(&self, seq: u64) -> impl Future<Output = Option<Vec<u8>>> + Send + 'static {
        let (answer, decided) = oneshot::channel();
        let sent = self.0.try_send(Message::Await(seq, answer)).is_ok();
        async move {
            match sent {
                true => decided.await.ok(),
                false => None,
            }
        }
    }

    /// The oldest entries that wait for a decision, but for those with the numbers in `except`:
    /// `limit` of them, fewer where they are large.
    ///
    /// # Errors
    /// The server's.
    pub fn undecided(
        &self,
        limit: usize,
        except: Vec<u64>,
    ) -> impl Future<Output = Result<IntakePage, StoreError>> + Send + 'static + use<> {
        let (answer, answered) = oneshot::channel();
        self.ask(Message::Undecided(limit, except, answer), answered)
    }

    /// Notes what was decided, by number. Noted twice, the first counts.
    ///
    /// # Errors
    /// The server's.
    pub fn decide(
        &self,
        outcomes: Vec<(u64, Vec<u8>)>,
    ) -> impl Future<Output = Result<(), StoreError>> + Send + 'static + use<> {
        let (answer, answered) = oneshot::channel();
        self.ask(Message::Decide(outcomes, answer), answered)
    }

    /// Removes what was decided longer ago than `age`; how many entries.
    ///
    /// # Errors
    /// The server's.
    pub fn prune(
        &self,
        age: Duration,
    ) -> impl Future<Output = Result<u64, StoreError>> + Send + 'static + use<> {
        let (answer, answered) = oneshot::channel();
        self.ask(Message::Prune(age, answer), answered)
    }

    fn ask<T: Send + 'static>(
        &self,
        message: Message,
        answered: oneshot::Receiver<Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static + use<T> {
        let sent = match self.0.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_)) => Err(StoreError::Busy { waiting: QUEUE }),
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
        };
        async move {
            sent?;
            answered.await.unwrap_or(Err(StoreError::Closed))
        }
    }
}

/// Starts the thread. `patience`: how long a request waits for a server that is gone.
pub(super) fn start(
    connector: Arc<PostgresConnector>,
    place: &str,
    (patience, hints): (Duration, &Hints),
) -> Result<IntakeHandle, OpenError> {
    let (sender, queue) = bounded(QUEUE);
    let mut intake = Intake {
        connector,
        place: place.to_owned(),
        connection: None,
        patience,
        awaited: HashMap::new(),
        heard: hints.any(),
    };
    let spawned = thread::Builder::new()
        .name("store-intake".to_owned())
        .spawn(move || intake.run(&queue));
    spawned.map_err(|source| OpenError::Io {
        path: place.into(),
        source,
    })?;
    Ok(IntakeHandle(sender))
}

struct Intake {
    connector: Arc<PostgresConnector>,
    place: String,
    connection: Option<PostgresConnection>,
    patience: Duration,
    /// Who waits for which outcome.
    awaited: HashMap<u64, Vec<oneshot::Sender<Vec<u8>>>>,
    heard: tokio::sync::watch::Receiver<u64>,
}

impl Intake {
    fn run(&mut self, queue: &Receiver<Message>) {
        let mut next_look = Instant::now();
        loop {
            let wait = match self.awaited.is_empty() {
                true => Duration::from_secs(3600),
                // A hint is looked for between; the thread cannot be woken by one.
                false => OUTCOME_INTERVAL / 4,
            };
            match queue.recv_timeout(wait) {
                Ok(first) => self.serve(first, queue),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.awaited.is_empty() {
                continue;
            }
            let heard = self.heard.has_changed().unwrap_or(false);
            if heard || Instant::now() >= next_look {
                self.heard.mark_unchanged();
                self.find_outcomes();
                next_look = Instant::now() + OUTCOME_INTERVAL;
            }
        }
    }

    /// Carries out a message, and new entries that wait behind it together with it.
    fn serve(&mut self, first: Message, queue: &Receiver<Message>) {
        let mut next = Some(first);
        let mut batch = Vec::new();
        let mut bytes = 0;
        while let Some(message) = next.take() {
            match message {
                Message::TakeIn(entry) => {
                    bytes += entry.content.len();
                    batch.push(entry);
                    if batch.len() < BATCH && bytes < BATCH_BYTES {
                        next = queue.try_recv().ok();
                    }
                }
                other => {
                    self.append(std::mem::take(&mut batch));
                    self.carry_out(other);
                }
            }
        }
        self.append(batch);
    }

    fn carry_out(&mut self, message: Message) {
        // Whoever asked may have left.
        match message {
            Message::TakeIn(entry) => self.append(vec![entry]),
            Message::Await(seq, answer) => self.awaited.entry(seq).or_default().push(answer),
            Message::Undecided(limit, except, answer) => {
                let page =
                    |connection: &mut PostgresConnection| undecided(connection, limit, &except);
                drop(answer.send(self.with_connection(page)));
            }
            Message::Decide(outcomes, answer) => drop(answer.send(self.decide(&outcomes))),
            Message::Prune(age, answer) => drop(answer.send(self.prune(age))),
        }
    }

    fn append(&mut self, batch: Vec<NewEntry>) {
        // Of two that are the same the second is known once the first is there.
        let mut seen = HashSet::new();
        let (first, again): (Vec<NewEntry>, Vec<NewEntry>) = batch
            .into_iter()
            .filter(|entry| !entry.answer.is_closed())
            .partition(|entry| seen.insert((entry.delivery.clone(), entry.digest.clone())));
        for entries in [first, again] {
            if !entries.is_empty() {
                self.append_distinct(entries);
            }
        }
    }

    fn append_distinct(&mut self, entries: Vec<NewEntry>) {
        let deliveries: Vec<&str> = entries.iter().map(|e| e.delivery.as_str()).collect();
        let digests: Vec<&[u8]> = entries.iter().map(|e| e.digest.as_slice()).collect();
        let contents: Vec<&[u8]> = entries.iter().map(|e| e.content.as_slice()).collect();
        let most = i64::try_from(MOST_WAITING).unwrap_or(i64::MAX);
        // The condition knows nothing of the function, so the server decides it before.
        let statement =
            format!("SELECT * FROM take_in($1, $2, $3, $4, 'intake') WHERE NOT {IS_CLOSED}");
        let place = self.place.clone();
        let asked = self.with_connection(|connection| {
            let rows = connection.rows(&statement, &[&deliveries, &digests, &contents, &most])?;
            match rows.is_empty() {
                true => Err(holder::why_closed(connection, &place)),
                false => Ok(rows),
            }
        });
        let asked = asked.and_then(|rows| {
            // Whoever wrote what is there already may not have waited for the replicas.
            let is_new = |row: &tokio_postgres::Row| row.get::<_, bool>(1);
            match rows.iter().all(is_new) {
                true => Ok(rows),
                false => self.wait_for_replicas().map(|()| rows),
            }
        });
        match asked {
            Ok(rows) => {
                for (row, entry) in rows.iter().zip(entries) {
                    let taken = match row.get::<_, Option<i64>>(0) {
                        Some(seq) if row.get(1) => Ok(TakenIn::New(unsigned(seq))),
                        Some(seq) => Ok(TakenIn::Known {
                            seq: unsigned(seq),
                            outcome: row.get(2),
                        }),
                        // Another process appended it at the same moment.
                        None => self.find(&entry),
                    };
                    let _ = entry.answer.send(taken);
                }
            }
            Err(error) => {
                for entry in entries {
                    let _ = entry.answer.send(Err(error.clone()));
                }
            }
        }
    }

    /// Writes something that changes nothing, and so waits for all that was written before.
    fn wait_for_replicas(&mut self) -> Result<(), StoreError> {
        let statement = "SELECT pg_logical_emit_message(true, 'orrery', '')";
        self.with_connection(|connection| connection.rows(statement, &[]))
            .map(drop)
    }

    fn find(&mut self, entry: &NewEntry) -> Result<TakenIn, StoreError> {
        let statement = "SELECT seq, outcome FROM intake WHERE delivery = $1 AND digest = $2";
        let rows = self.with_connection(|connection| {
            connection.rows(statement, &[&entry.delivery, &entry.digest])
        })?;
        let row = rows.first().ok_or_else(|| StoreError::Storage {
            place: self.place.clone(),
            reason: "the delivery was taken in and removed meanwhile".to_owned(),
        })?;
        Ok(TakenIn::Known {
            seq: unsigned(row.get(0)),
            outcome: row.get(1),
        })
    }

    fn decide(&mut self, outcomes: &[(u64, Vec<u8>)]) -> Result<(), StoreError> {
        let seqs: Vec<i64> = outcomes.iter().map(|(seq, _)| signed(*seq)).collect();
        let outcomes: Vec<&[u8]> = outcomes.iter().map(|(_, it)| it.as_slice()).collect();
        // What was taken in is not needed any more; that it was is, for a while.
        let statement = "WITH decided AS (UPDATE intake i SET outcome = d.outcome, \
             decided = clock_timestamp(), content = '' \
             FROM unnest($1::bigint[], $2::bytea[]) AS d (seq, outcome) \
             WHERE i.seq = d.seq AND i.outcome IS NULL RETURNING 1) \
             SELECT pg_notify('orrery_store', 'decided') FROM (SELECT count(*) FROM decided) AS c";
        self.with_connection(|connection| connection.rows(statement, &[&seqs, &outcomes]))
            .map(drop)
    }

    fn prune(&mut self, age: Duration) -> Result<u64, StoreError> {
        let seconds = age.as_secs_f64();
        let statement = "WITH gone AS (DELETE FROM intake WHERE outcome IS NOT NULL \
             AND decided < clock_timestamp() - make_interval(secs => $1) RETURNING 1) \
             SELECT count(*) FROM gone";
        let rows = self.with_connection(|connection| connection.rows(statement, &[&seconds]))?;
        Ok(rows.first().map_or(0, |row| unsigned(row.get(0))))
    }

    /// Tells those who wait for outcomes that are there.
    fn find_outcomes(&mut self) {
        self.awaited.retain(|_, waiting| {
            waiting.retain(|answer| !answer.is_closed());
            !waiting.is_empty()
        });
        let seqs: Vec<i64> = self.awaited.keys().copied().map(signed).collect();
        if seqs.is_empty() {
            return;
        }
        let statement =
            "SELECT seq, outcome FROM intake WHERE seq = ANY($1) AND outcome IS NOT NULL";
        // Those who wait give up by themselves.
        let Ok(rows) = self.once(|connection| connection.rows(statement, &[&seqs])) else {
            return;
        };
        for row in rows {
            let outcome: Vec<u8> = row.get(1);
            let waiting = self.awaited.remove(&unsigned(row.get(0)));
            for answer in waiting.into_iter().flatten() {
                let _ = answer.send(outcome.clone());
            }
        }
    }

    /// Asks again over a new connection where one is lost: everything here may be done twice.
    fn with_connection<T>(
        &mut self,
        ask: impl Fn(&mut PostgresConnection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let until = Instant::now() + self.patience;
        loop {
            match self.once(&ask) {
                Err(Fault::Lost(_)) if Instant::now() < until => thread::park_timeout(RETRY_DELAY),
                outcome => return outcome.map_err(|fault| failure(&self.place, fault)),
            }
        }
    }

    fn once<T>(
        &mut self,
        ask: impl Fn(&mut PostgresConnection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        if self
            .connection
            .as_ref()
            .is_none_or(PostgresConnection::is_closed)
        {
            self.connection = None;
            let mut connection = self.connector.connect()?;
            layout::prepare(&mut connection, &self.connector.schema, &self.place)
                .map_err(|error| Fault::Lost(error.to_string()))?;
            self.connection = Some(connection);
        }
        let gone = || Fault::Lost("the connection is gone".to_owned());
        let asked = ask(self.connection.as_mut().ok_or_else(gone)?);
        if matches!(asked, Err(Fault::Lost(_))) {
            self.connection = None;
        }
        asked
    }
}

/// As those who ask get it.
fn failure(place: &str, fault: Fault) -> StoreError {
    match fault {
        Fault::IntakeFull => StoreError::Busy {
            waiting: MOST_WAITING,
        },
        fault => fault.into_store_error(place),
    }
}

//! The store as its users see it: a handle to clone, with an asynchronous and a blocking front.

use crate::backend::{BackendFactory, MemoryBackend, StoreLocation};
use crate::blobs::{Blob, SegmentDirectory, SegmentStorage, SegmentsInMemory};
use crate::engine::{Engine, SnapshotSource, alone};
use crate::error::{OpenError, StoreError};
use crate::health::{HealthRecord, StoreHealth, StoreState};
use crate::job::{ReplySender, WriteJob, WriteJobRequest};
use crate::lock::DirectoryLock;
use crate::migrate::migrate;
use crate::options::StoreOptions;
use crate::postgres::{PostgresEngine, PostgresUrl};
use crate::read::ReadTxn;
use crate::redb_engine::RedbEngine;
use crate::reentrancy;
use crate::rows::raw::{RawRead as _, UnreadableRow};
use crate::write::{COPYING, META, MOVED, WriteTxn, panic_text};
use crate::writer::{GroupLimits, StoreWriter, WriterMessage};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::{Mutex, RwLock};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::{oneshot, watch};

/// The store's file within its folder.
const FILE: &str = "store.redb";

/// The folder of what is appended beside it.
const BLOB_DIRECTORY: &str = "pieces";

/// A durable store. Clones are handles to the same one; with the last of them it finishes what
/// waits, closes, and gives the folder free.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    snapshots: Arc<dyn SnapshotSource>,
    /// What its database is called by.
    server: String,
    health: Arc<HealthRecord>,
    writes: Sender<WriterMessage>,
    reads: Sender<ReadJob>,
    queue: usize,
    /// Set before the writer is told to end: what came in before that is ahead of the word in its
    /// queue and is carried out, what comes later is refused. A request behind the word would
    /// wait for ever, since a queue without a reader keeps what is in it.
    closing: RwLock<bool>,
    writer: Mutex<Option<JoinHandle<()>>>,
    /// The lock on a folder that the store itself is not in.
    folder: Mutex<Option<DirectoryLock>>,
}

type ReadJob = Box<dyn FnOnce(&dyn SnapshotSource) + Send>;

impl Store {
    /// Opens the store in `folder`, both made if missing, and brings its schema up to date.
    /// Blocks: for milliseconds, whatever the size and however it ended before, plus migrations.
    ///
    /// # Errors
    /// See [`OpenError`]; a folder in use names its holder.
    pub fn open(folder: &Path, options: &StoreOptions) -> Result<Self, OpenError> {
        Self::start(Box::new(directory_engine(folder, options)?), options)
    }

    /// Opens the store in a PostgreSQL server, 15 or newer, and makes its tables if there are none.
    /// Blocks: for a moment, or for up to two leases where the process that holds the store is gone
    /// and the server has not noticed.
    ///
    /// # Errors
    /// See [`OpenError`]; a store in use names its holder.
    pub fn open_postgres(url: &PostgresUrl, options: &StoreOptions) -> Result<Self, OpenError> {
        Self::start(Box::new(PostgresEngine::open(url, options)?), options)
    }

    /// The store in PostgreSQL where `url` is given, else the one in `folder`. Either way nobody
    /// else may have the folder, which holds more than the store.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_in(
        folder: &Path,
        url: Option<&PostgresUrl>,
        options: &StoreOptions,
    ) -> Result<Self, OpenError> {
        match url {
            Some(url) => {
                let lock = DirectoryLock::take(folder, &options.program)?;
                let store = Self::open_postgres(url, options)?;
                *store.inner.folder.lock() = Some(lock);
                Ok(store)
            }
            None => Self::open(folder, options),
        }
    }

    /// A store in memory, gone with its last handle: for tests and dry runs.
    ///
    /// # Errors
    /// Those of the migrations.
    pub fn in_memory(options: &StoreOptions) -> Result<Self, OpenError> {
        Self::open_with("memory", MemoryBackend::factory(), options)
    }

    /// A store over storage of the caller's making, named `name` in messages. There is no lock on a
    /// folder: the storage must see to it that it is opened once. Appended blobs are kept in
    /// memory.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_with(
        name: &str,
        storage: BackendFactory,
        options: &StoreOptions,
    ) -> Result<Self, OpenError> {
        let segments = Arc::<SegmentsInMemory>::default();
        Self::open_over(name, (storage, segments), options)
    }

    /// [`Store::open_with`], with storage for appended blobs as well.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn open_over(
        name: &str,
        (storage, segments): (BackendFactory, Arc<dyn SegmentStorage>),
        options: &StoreOptions,
    ) -> Result<Self, OpenError> {
        let place = StoreLocation::Custom(name.to_owned(), storage);
        let engine = RedbEngine::open(place, segments, None, options)?;
        Self::start(Box::new(engine), options)
    }

    /// Brings the schema up to date and starts the threads.
    pub(crate) fn start(
        mut engine: Box<dyn Engine>,
        options: &StoreOptions,
    ) -> Result<Self, OpenError> {
        refuse_copied_or_moved(&mut *engine)?;
        migrate(&mut *engine, options.migrations)?;
        let (snapshots, health) = (engine.snapshots(), Arc::clone(engine.health()));
        let server = engine.server();
        let place = snapshots.place().to_owned();
        let (writes, queue) = bounded(options.queue.max(1));
        let (reads, read_queue) = bounded::<ReadJob>(options.queue.max(1));
        for n in 0..options.readers.max(1) {
            let (queue, slot) = (read_queue.clone(), Arc::clone(&snapshots));
            spawn(&place, format!("store-read-{n}"), move || {
                serve_reads(&queue, &*slot);
            })?;
        }
        let limits = GroupLimits {
            requests: options.group_requests.max(1),
            bytes: options.group_bytes.max(1),
            linger: options.linger,
        };
        let writer = StoreWriter::new(engine, queue, limits);
        let writer = spawn(&place, "store-write".to_owned(), || writer.run())?;
        let inner = Inner {
            writer: Mutex::new(Some(writer)),
            folder: Mutex::default(),
            queue: options.queue.max(1),
            snapshots,
            server,
            health,
            writes,
            closing: RwLock::new(false),
            reads,
        };
        let inner = Arc::new(inner);
        Ok(Self { inner })
    }

    /// Runs `work` in the next group's transaction. Resolves when that is durable.
    ///
    /// The request is queued by the call itself, so calls are carried out in their order even if
    /// their futures are not polled in it. `work` runs on the writer's thread: it should only
    /// look at rows and change them. A future dropped before it resolved may leave the request
    /// undone.
    ///
    /// # Errors
    /// What `work` returned, its changes undone; or [`StoreError`] as `E`: [`StoreError::Busy`] at
    /// once if the queue is full.
    pub fn write<T, E, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T, E>> + Send + 'static + use<T, E, F>
    where
        F: FnOnce(&mut WriteTxn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let queued = self.enqueue(Box::new(WriteJobRequest::new(
            work,
            ReplySender::Future(reply),
        )));
        async move {
            queued?;
            answer
                .await
                .unwrap_or_else(|_| Err(StoreError::Closed.into()))
        }
    }

    /// [`Store::write`] for threads that may block.
    ///
    /// # Errors
    /// As there; [`StoreError::Reentrant`] from within a read or a write.
    pub fn write_blocking<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut WriteTxn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        if reentrancy::is_in_request() {
            return Err(StoreError::Reentrant.into());
        }
        let (reply, answer) = bounded(1);
        self.enqueue(Box::new(WriteJobRequest::new(
            work,
            ReplySender::Thread(reply),
        )))?;
        answer
            .recv()
            .unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// A blob made ready on the caller's thread, as far as that is work: one writer serves all.
    #[must_use]
    pub fn prepared(&self, blob: Blob) -> Blob {
        match self.inner.snapshots.packs_blobs() {
            true => blob.packed(),
            false => blob,
        }
    }

    /// Runs `work` over a snapshot of the committed rows, on a reader's thread.
    ///
    /// # Errors
    /// What `work` returned; or [`StoreError`] as `E`.
    pub fn read<T, E, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T, E>> + Send + 'static + use<T, E, F>
    where
        F: FnOnce(&mut ReadTxn<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let writes = self.inner.writes.clone();
        let job: ReadJob = Box::new(move |snapshots| {
            let (result, found) = snapshot(snapshots, work);
            report(&writes, found);
            ReplySender::Future(reply).send(result);
        });
        let queued = self.admitted(&self.inner.reads.try_send(job));
        async move {
            queued?;
            answer
                .await
                .unwrap_or_else(|_| Err(StoreError::Closed.into()))
        }
    }

    /// [`Store::read`] on the calling thread, which may block for the disk.
    ///
    /// # Errors
    /// As there.
    pub fn read_blocking<T, E, F>(&self, work: F) -> Result<T, E>
    where
        F: FnOnce(&mut ReadTxn<'_>) -> Result<T, E>,
        E: From<StoreError>,
    {
        let (result, found) = snapshot(&*self.inner.snapshots, work);
        report(&self.inner.writes, found);
        result
    }

    /// Whether it can be used, as a condition of a server's readiness; the error says why not.
    pub fn condition(&self) -> impl Fn() -> Result<(), String> + Send + Sync + use<> {
        let store = self.clone();
        move || match store.health().state {
            StoreState::Ready => Ok(()),
            state => Err(state.to_string()),
        }
    }

    /// State and counters: what `/readyz` and `/metrics` ask.
    pub fn health(&self) -> StoreHealth {
        let HealthRecord { state, counters } = &*self.inner.health;
        StoreHealth {
            state: state.borrow().clone(),
            waiting: self.inner.writes.len(),
            requests: counters.requests.get(),
            groups: counters.groups.get(),
            refused_busy: counters.refused_busy.get(),
            reopened: counters.reopened.get(),
            last_commit_micros: counters.last_commit_micros.get(),
            quarantined: counters.quarantined.get(),
        }
    }

    /// The state, to be told of its changes.
    pub fn watch_state(&self) -> watch::Receiver<StoreState> {
        self.inner.health.state.subscribe()
    }

    /// What its database is called by, where it is in one.
    pub(crate) fn server(&self) -> &str {
        &self.inner.server
    }

    /// Whether another process has taken the store, as far as this one knows.
    #[must_use]
    pub fn is_taken_over(&self) -> bool {
        matches!(*self.inner.health.state.borrow(), StoreState::TakenOver(_))
    }

    /// Resolves with the process that has taken the store, once one has: this one has to end. Never
    /// resolves otherwise.
    pub fn taken_over(&self) -> impl Future<Output = String> + Send + 'static + use<> {
        let mut state = self.watch_state();
        async move {
            let taken = state.wait_for(|state| matches!(state, StoreState::TakenOver(_)));
            if let Ok(state) = taken.await.as_deref()
                && let StoreState::TakenOver(by) = state
            {
                return by.clone();
            }
            std::future::pending().await
        }
    }

    /// Carries out what is queued, closes the file and gives the folder free; blocks until then.
    /// All handles get [`StoreError::Closed`] afterwards. Does nothing the second time.
    ///
    /// Called from within a read or a write it returns at once, and the rest follows.
    pub fn close(&self) {
        self.inner.close();
    }

    fn enqueue(&self, job: Box<dyn WriteJob>) -> Result<(), StoreError> {
        let closing = self.inner.closing.read();
        if *closing {
            return Err(StoreError::Closed);
        }
        self.admitted(&self.inner.writes.try_send(WriterMessage::Job(job)))
    }

    fn admitted<M>(&self, sent: &Result<(), TrySendError<M>>) -> Result<(), StoreError> {
        match sent {
            Ok(()) => Ok(()),
            Err(TrySendError::Disconnected(_)) => Err(StoreError::Closed),
            Err(TrySendError::Full(_)) => {
                self.inner.health.counters.refused_busy.add(1);
                let waiting = self.inner.queue;
                Err(StoreError::Busy { waiting })
            }
        }
    }
}

impl Inner {
    fn close(&self) {
        // An error of sending means that the writer has ended already.
        if reentrancy::is_in_request() {
            // The writer would wait for this request to end, and this request for the writer.
            let mut closing = self.closing.write();
            *closing = !matches!(
                self.writes.try_send(WriterMessage::Close),
                Err(TrySendError::Full(_))
            );
            return;
        }
        *self.closing.write() = true;
        let _ = self.writes.send(WriterMessage::Close);
        if let Some(writer) = self.writer.lock().take() {
            // A panic of the writer was printed by the panic hook; there is nothing to add.
            let _ = writer.join();
        }
        *self.folder.lock() = None;
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

/// Whether there is a store in the folder.
pub(crate) fn holds_store(folder: &Path) -> bool {
    folder.join(FILE).exists()
}

/// A copy that did not end is no store, and one that was moved is no longer the store.
fn refuse_copied_or_moved(engine: &mut dyn Engine) -> Result<(), OpenError> {
    let marks = alone(engine, |txn| {
        Ok::<_, StoreError>((txn.raw_get(META, COPYING)?, txn.raw_get(META, MOVED)?))
    })?;
    let place = engine.place();
    match marks {
        (None, None) => Ok(()),
        (Some(_), _) => Err(OpenError::HalfCopied { place }),
        (None, Some(to)) => {
            let to = String::from_utf8_lossy(&to).into_owned();
            Err(OpenError::Moved { place, to })
        }
    }
}

/// The engine of a folder, which nobody else may have.
pub(crate) fn directory_engine(
    folder: &Path,
    options: &StoreOptions,
) -> Result<RedbEngine, OpenError> {
    let lock = DirectoryLock::take(folder, &options.program)?;
    let place = StoreLocation::file(folder.join(FILE));
    let segments = Arc::new(SegmentDirectory::new(folder.join(BLOB_DIRECTORY)));
    RedbEngine::open(place, segments, Some(lock), options)
}

fn spawn(
    place: &str,
    name: String,
    body: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, OpenError> {
    let thread = thread::Builder::new().name(name).spawn(body);
    thread.map_err(|source| OpenError::Io {
        path: place.into(),
        source,
    })
}

/// A reader's thread.
fn serve_reads(queue: &Receiver<ReadJob>, snapshots: &dyn SnapshotSource) {
    for job in queue {
        job(snapshots);
    }
}

/// Runs `work` over a snapshot; also gives the rows it could not decode.
fn snapshot<T, E: From<StoreError>>(
    snapshots: &dyn SnapshotSource,
    work: impl FnOnce(&mut ReadTxn<'_>) -> Result<T, E>,
) -> (Result<T, E>, Vec<UnreadableRow>) {
    let mut work = Some(work);
    let mut outcome = (Err(StoreError::Closed.into()), Vec::new());
    snapshots.snapshot(&mut |rows| {
        let (rows, work) = match (rows, work.take()) {
            (Ok(rows), Some(work)) => (rows, work),
            (Err(error), _) => {
                outcome.0 = Err(error.into());
                return;
            }
            (Ok(_), None) => return,
        };
        let result = reentrancy::run(|| catch_unwind(AssertUnwindSafe(|| work(rows))));
        let result = result.unwrap_or_else(|panic| {
            let message = panic_text(panic.as_ref());
            Err(StoreError::Panicked { message }.into())
        });
        outcome = (result, rows.take_found());
    });
    outcome
}

/// Has the writer move unreadable rows to quarantine. With a full queue it is left to the next
/// reader that meets them.
fn report(writes: &Sender<WriterMessage>, found: Vec<UnreadableRow>) {
    if found.is_empty() {
        return;
    }
    let (reply, _) = bounded(1);
    let work = move |txn: &mut WriteTxn<'_>| found.iter().try_for_each(|row| txn.quarantine(row));
    let request = WriteJobRequest::<_, (), StoreError>::new(work, ReplySender::Thread(reply));
    let _ = writes.try_send(WriterMessage::Job(Box::new(request)));
}

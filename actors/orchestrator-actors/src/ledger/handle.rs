//! The handle of the durable state.

use std::future::Future;
use std::sync::Arc;

use forge_actors::deliveries::{Deliveries, DeliveryRetention};
use orchestrator_core::Millis;
use orchestrator_core::config::Config;
use parking_lot::Mutex;
use store::{ReadTxn, Store, StoreError, WriteTxn};
use tokio::sync::watch;

use super::open_runs::OpenRunCache;
use super::txn::LedgerTxn;
use crate::journal::RecordedEvent;
use crate::live_config::LiveConfig;

/// The clock: milliseconds since the Unix epoch.
pub type WallClock = Arc<dyn Fn() -> Millis + Send + Sync>;

/// Snapshots of the durable state, and transactions under the configuration in force; clones are
/// the same.
#[derive(Clone)]
pub struct Ledger {
    store: Store,
    deliveries: Deliveries,
    config: LiveConfig,
    clock: WallClock,
    /// The open runs as they were read last.
    open_runs: Arc<Mutex<OpenRunCache>>,
    /// Counts transactions that wrote into the journal.
    journal_changes: watch::Sender<u64>,
}

impl Ledger {
    /// The ledger in this store. Blocks.
    ///
    /// # Errors
    /// The store's.
    pub fn open(store: Store, config: LiveConfig, clock: WallClock) -> Result<Self, StoreError> {
        Ok(Self {
            deliveries: Deliveries::open(&store, DeliveryRetention::default())?,
            store,
            config,
            clock,
            open_runs: Arc::default(),
            journal_changes: watch::channel(0).0,
        })
    }

    /// The store below.
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    /// The deliveries that were seen already.
    pub(crate) fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    /// The configuration in force.
    pub(crate) fn config(&self) -> Arc<Config> {
        self.config.current()
    }

    /// Now.
    pub(crate) fn now(&self) -> Millis {
        (self.clock)()
    }

    /// Changes whenever something new is in the journal.
    pub(crate) fn journal_changes(&self) -> watch::Receiver<u64> {
        self.journal_changes.subscribe()
    }

    /// Reads a snapshot.
    pub(crate) fn read<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static + use<T, F>
    where
        F: FnOnce(&mut ReadTxn<'_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        self.store.read(work)
    }

    /// Reads a snapshot with the cache of open runs.
    pub(crate) fn read_open_runs<T, F>(
        &self,
        work: F,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'static + use<T, F>
    where
        F: FnOnce(&mut ReadTxn<'_>, &mut OpenRunCache) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let open_runs = Arc::clone(&self.open_runs);
        self.store
            .read(move |rows| work(rows, &mut open_runs.lock()))
    }

    /// Reads a snapshot on a thread that may block.
    pub(crate) fn read_blocking<T>(
        &self,
        work: impl FnOnce(&mut ReadTxn<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.store.read_blocking(work)
    }

    /// One transaction; its journal entries are logged once it is durable.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut LedgerTxn<'_, '_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let (value, entries) = self.store.write(self.transaction(work)).await?;
        self.publish(&entries);
        Ok(value)
    }

    /// The same for threads that may block.
    pub(crate) fn write_blocking<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        F: FnOnce(&mut LedgerTxn<'_, '_>) -> Result<T, StoreError> + Send + 'static,
        T: Send + 'static,
    {
        let (value, entries) = self.store.write_blocking(self.transaction(work))?;
        self.publish(&entries);
        Ok(value)
    }

    fn transaction<T, F>(
        &self,
        work: F,
    ) -> impl FnOnce(&mut WriteTxn<'_>) -> Result<(T, Vec<RecordedEvent>), StoreError>
    + Send
    + 'static
    + use<T, F>
    where
        F: FnOnce(&mut LedgerTxn<'_, '_>) -> Result<T, StoreError> + Send + 'static,
    {
        let (config, now) = (self.config(), self.now());
        move |rows: &mut WriteTxn<'_>| {
            let mut txn = LedgerTxn::new(rows, &config, now);
            let value = work(&mut txn)?;
            Ok((value, txn.entries()))
        }
    }

    /// Logs entries that are durable, and notifies the followers of the journal.
    fn publish(&self, entries: &[RecordedEvent]) {
        entries.iter().for_each(RecordedEvent::log);
        if !entries.is_empty() {
            self.journal_changes.send_modify(|count| *count += 1);
        }
    }
}

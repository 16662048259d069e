//! A store that several processes stand beside, as they see it.

use crate::compared_settings::SettingDigests;
use crate::error::OpenError;
use crate::handle::Store;
use crate::options::StoreOptions;
use crate::postgres::{
    self, IntakeBacklog, IntakeHandle, Leadership, PostgresUrl, ServerSigns, SharedServer,
    StandbyCounts,
};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use tokio::sync::watch;

/// A store in PostgreSQL that this process may come to hold. Clones are the same.
#[derive(Clone)]
pub struct SharedStore {
    server: Arc<SharedServer>,
    url: PostgresUrl,
    options: StoreOptions,
    /// What this process says of its settings now.
    compared: Arc<Mutex<SettingDigests>>,
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedStore({})", self.place())
    }
}

impl SharedStore {
    /// The store at `url`; nothing is asked of the server yet. `address` is where the others reach
    /// this process once it holds the store (empty: nowhere), `forward_key` what they show there: a
    /// secret that whoever may read the database may know.
    ///
    /// # Errors
    /// When there can be no further thread.
    pub fn new(
        url: &PostgresUrl,
        options: &StoreOptions,
        reached: (&str, &str),
    ) -> Result<Self, OpenError> {
        let mut options = options.clone();
        // Whoever may read the key may compare settings with this process's.
        options.compared = options.compared.salted(reached.1);
        Ok(Self {
            server: Arc::new(postgres::shared_server(url, &options, reached)?),
            url: url.clone(),
            compared: Arc::new(Mutex::new(options.compared.clone())),
            options,
        })
    }

    /// Server, database and schema, without a password.
    #[must_use]
    pub fn place(&self) -> &str {
        self.server.place()
    }

    /// What the others show to this process once it holds the store.
    #[must_use]
    pub fn forward_key(&self) -> &str {
        self.server.forward_key()
    }

    /// Changes whenever the server hints that something did.
    #[must_use]
    pub fn hints(&self) -> watch::Receiver<u64> {
        self.server.hints()
    }

    /// What processes without the store take in, for the holder to decide.
    #[must_use]
    pub fn intake(&self) -> &IntakeHandle {
        self.server.intake()
    }

    /// Who holds the store. Makes its tables where there are none. Blocks, for some seconds at
    /// most.
    ///
    /// # Errors
    /// The server cannot be reached, or the tables are not known.
    pub fn leadership(&self) -> Result<Leadership, OpenError> {
        self.server.leadership()
    }

    /// How many other processes stand beside the store and could take it, as far as the server
    /// knows. Blocks, for some seconds at most.
    ///
    /// # Errors
    /// As [`SharedStore::leadership`].
    pub fn standby_counts(&self) -> Result<StandbyCounts, OpenError> {
        self.server.standby_counts()
    }

    /// Notes for the others whether something is wrong with this process: the store is not handed
    /// over to those of which something is. Blocks, for some seconds at most.
    ///
    /// # Errors
    /// As [`SharedStore::leadership`].
    pub fn record_fitness(&self, is_fit: bool) -> Result<(), OpenError> {
        self.server.record_fitness(is_fit)
    }

    /// What waits in the intake for a decision. Blocks, for some seconds at most.
    ///
    /// # Errors
    /// As [`SharedStore::leadership`].
    pub fn backlog(&self) -> Result<IntakeBacklog, OpenError> {
        self.server.backlog()
    }

    /// What the database says of itself, and of the holder's settings. Blocks, for some seconds at
    /// most.
    ///
    /// # Errors
    /// As [`SharedStore::leadership`].
    pub fn server_signs(&self) -> Result<ServerSigns, OpenError> {
        let compared = self.compared.lock().clone();
        self.server.signs(&compared)
    }

    /// Says these settings from now on: they were read again. Blocks, for some seconds at most.
    pub fn compare(&self, compared: SettingDigests) {
        let compared = compared.salted(self.forward_key());
        if *self.compared.lock() == compared {
            return;
        }
        self.server.set_compared_settings(&compared);
        *self.compared.lock() = compared;
    }

    /// Has all processes beside the store read their settings again. Blocks, for some seconds at
    /// most.
    ///
    /// # Errors
    /// As [`SharedStore::leadership`].
    pub fn broadcast_settings_reload(&self) -> Result<(), OpenError> {
        self.server.broadcast_settings_reload()
    }

    /// Changes whenever settings are to be read again, or somebody may have said so unheard.
    #[must_use]
    pub fn settings_changes(&self) -> watch::Receiver<u64> {
        self.server.settings_changes()
    }

    /// What is wrong where more than one server of the address accepts writes: one of them is a
    /// former primary, and somebody may take it for the right one. Blocks, for some seconds at
    /// most.
    #[must_use]
    pub fn two_primaries(&self) -> Option<String> {
        self.server.two_primaries()
    }

    /// Ends the session that has the store: what it had begun is undone, or was committed before.
    ///
    /// # Errors
    /// As [`SharedStore::leadership`].
    pub fn end_holder(&self) -> Result<(), OpenError> {
        self.server.end_holder()
    }

    /// Takes the store, if no session has it and `may_take` says so of the last holder as it is
    /// found then; its epoch with it. `None`: not this time. Blocks.
    ///
    /// # Errors
    /// See [`OpenError`].
    pub fn try_take(
        &self,
        may_take: impl FnOnce(&Leadership) -> bool,
    ) -> Result<Option<(Store, u64)>, OpenError> {
        let of = (&self.url, &self.options);
        let Some((engine, epoch)) = postgres::take(&self.server, of, may_take)? else {
            return Ok(None);
        };
        Ok(Some((
            Store::start(Box::new(engine), &self.options)?,
            epoch,
        )))
    }
}

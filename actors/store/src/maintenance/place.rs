//! Where a store is: a folder or a database.

use super::MaintenanceError;
use crate::engine::{Engine, SnapshotSource};
use crate::error::OpenError;
use crate::handle::{directory_engine, holds_store};
use crate::options::StoreOptions;
use crate::postgres::{self, PostgresEngine, PostgresUrl, TakenInEntries};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a leader is given to decide what standbys took in.
const DECISION_TIMEOUT: Duration = Duration::from_secs(2);

/// A folder with a store in redb, or the address of one in PostgreSQL. Printed without password.
#[derive(Debug, Clone)]
pub enum StorePlace {
    /// In redb.
    Directory(PathBuf),
    /// In PostgreSQL.
    Postgres(PostgresUrl),
}

impl fmt::Display for StorePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(folder) => folder.display().fmt(f),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

impl FromStr for StorePlace {
    type Err = OpenError;

    fn from_str(text: &str) -> Result<Self, OpenError> {
        match PostgresUrl::is_one(text) {
            true => text.parse().map(Self::Postgres),
            false => Ok(Self::Directory(text.into())),
        }
    }
}

/// A store that is read.
pub(super) struct StoreSource {
    pub(super) snapshots: Arc<dyn SnapshotSource>,
    /// Held so that nobody else writes meanwhile.
    pub(super) engine: Option<Box<dyn Engine>>,
}

impl StorePlace {
    /// Opens what is there to be read; nobody else may write until it is dropped.
    pub(super) fn source(&self, options: &StoreOptions) -> Result<StoreSource, MaintenanceError> {
        let engine: Box<dyn Engine> = match self {
            Self::Directory(folder) if !holds_store(folder) => return Err(self.missing()),
            Self::Directory(folder) => Box::new(directory_engine(folder, options)?),
            Self::Postgres(url) => {
                // It says whether there is one; taking a store would make it.
                postgres::read_only(url, options)?;
                self.all_decided(options)?;
                Box::new(PostgresEngine::open(url, options)?)
            }
        };
        Ok(StoreSource {
            snapshots: engine.snapshots(),
            engine: Some(engine),
        })
    }

    /// Opens what is there to be read as of now, while its program goes on writing if the engine
    /// lets it.
    pub(super) fn current_source(
        &self,
        options: &StoreOptions,
    ) -> Result<StoreSource, MaintenanceError> {
        match self {
            Self::Directory(_) => self.source(options),
            Self::Postgres(url) => Ok(StoreSource {
                snapshots: postgres::read_only(url, options)?,
                engine: None,
            }),
        }
    }

    /// The same, with all that was acknowledged before: what standbys took in is decided.
    pub(super) fn live_source(
        &self,
        options: &StoreOptions,
    ) -> Result<StoreSource, MaintenanceError> {
        let source = self.current_source(options)?;
        if let Self::Postgres(url) = self {
            let mut entries = TakenInEntries::open(url, options)?;
            // What comes from now on may be left out: standbys go on taking in.
            let newest = entries.newest()?;
            self.decided(&mut entries, newest)?;
        }
        Ok(source)
    }

    /// See [`Self::decided`], of all that there is: nobody takes anything in any more.
    ///
    /// # Errors
    /// Something waits.
    pub(super) fn all_decided(&self, options: &StoreOptions) -> Result<(), MaintenanceError> {
        match self {
            Self::Directory(_) => Ok(()),
            Self::Postgres(url) => {
                let mut entries = TakenInEntries::open(url, options)?;
                self.decided(&mut entries, u64::MAX)
            }
        }
    }

    /// See [`Self::all_decided`], of a store that has just been marked as moved: what a standby had
    /// begun to take in before is waited for, and counts.
    ///
    /// # Errors
    /// Something waits.
    pub(super) fn none_taken_in_since(
        &self,
        options: &StoreOptions,
    ) -> Result<(), MaintenanceError> {
        match self {
            Self::Directory(_) => Ok(()),
            Self::Postgres(url) => {
                let mut entries = TakenInEntries::open(url, options)?;
                entries.await_takers()?;
                self.decided(&mut entries, u64::MAX)
            }
        }
    }

    /// Reads what standbys took in, whether it was decided or not.
    ///
    /// # Errors
    /// The server cannot read it.
    pub(super) fn read_intake(&self, options: &StoreOptions) -> Result<(), MaintenanceError> {
        match self {
            Self::Directory(_) => Ok(()),
            Self::Postgres(url) => Ok(TakenInEntries::open(url, options)?.read()?),
        }
    }

    /// What standbys took in has to be part of the store before that is copied; a leader decides
    /// within milliseconds.
    fn decided(&self, entries: &mut TakenInEntries, up_to: u64) -> Result<(), MaintenanceError> {
        let until = Instant::now() + DECISION_TIMEOUT;
        loop {
            let count = entries.undecided(up_to)?;
            if count == 0 {
                return Ok(());
            }
            if Instant::now() > until {
                let place = self.to_string();
                return Err(MaintenanceError::Undecided { place, count });
            }
            std::thread::park_timeout(DECISION_TIMEOUT / 20);
        }
    }

    /// Opens or makes the store to be written.
    pub(super) fn target(
        &self,
        options: &StoreOptions,
    ) -> Result<Box<dyn Engine>, MaintenanceError> {
        Ok(match self {
            Self::Directory(folder) => Box::new(directory_engine(folder, options)?),
            Self::Postgres(url) => Box::new(PostgresEngine::open(url, options)?),
        })
    }

    pub(super) fn missing(&self) -> MaintenanceError {
        let place = self.to_string();
        MaintenanceError::Missing { place }
    }
}

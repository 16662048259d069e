//! How a store is opened.

use crate::compared_settings::SettingDigests;
use crate::error::StoreError;
use crate::extent_table::ExtentTable;
use crate::write::WriteTxn;
use std::time::Duration;

/// A step of the schema. It and the new version are one commit: it happens whole or not at all.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The version it leads to; the first is 1, and each is one more than the one before.
    pub version: u32,
    /// What it does, in a few words, for the log and for errors.
    pub name: &'static str,
    /// Changes the rows. An empty store runs all of them, too.
    pub run: fn(&mut WriteTxn<'_>) -> Result<(), StoreError>,
}

/// How a store is opened; [`StoreOptions::new`] has the defaults.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// The program's name, told to a second process that wants the same folder.
    pub program: String,
    /// Steps from an empty store to today's schema, in order.
    pub migrations: &'static [Migration],
    /// Tables whose rows hold extents: a check and a copy look whether their blobs are there.
    pub extents: &'static [ExtentTable],
    /// Requests that may wait for the writer; one more is `Busy`. The readers have as much again.
    pub queue: usize,
    /// Most requests that share one commit.
    pub group_requests: usize,
    /// A group is closed once its requests have written this many bytes: bounds memory and delay.
    pub group_bytes: usize,
    /// Size at which a segment of appended blobs is left for the next one: it is kept as long as
    /// any of its blobs.
    pub segment_bytes: u64,
    /// Longest wait for requests that are expected back after the last group's answers.
    /// Never waits for a lone writer.
    pub linger: Duration,
    /// Memory for cached pages, in bytes.
    pub cache_bytes: usize,
    /// Threads that serve [`crate::Store::read`].
    pub readers: usize,
    /// How often a full or failing disk is tried, or a server that is gone.
    pub probe_every: Duration,
    /// PostgreSQL: the schema with the store's tables, unless the address names one. The program's
    /// name with `_` in place of `-`.
    pub schema: String,
    /// PostgreSQL: what tells an installation from others, the same for all its processes; one
    /// whose holder says another is not stood beside. Empty: none is told from others.
    pub installation: String,
    /// PostgreSQL: what has to be as with the other processes that share the store.
    pub compared: SettingDigests,
    /// PostgreSQL: how long a holder that says nothing keeps the store, while its session lives on.
    pub lease: Duration,
    /// PostgreSQL: longest wait for a server that is gone before a request is told so; for one that
    /// does not answer, three times as long.
    pub patience: Duration,
}

impl StoreOptions {
    /// The defaults, for the program of this name.
    pub fn new(program: impl Into<String>) -> Self {
        let program = program.into();
        Self {
            schema: program.replace('-', "_"),
            program,
            migrations: &[],
            extents: &[],
            queue: 1024,
            group_requests: 512,
            group_bytes: 16 * 1024 * 1024,
            segment_bytes: 64 * 1024 * 1024,
            linger: Duration::from_micros(500),
            cache_bytes: 64 * 1024 * 1024,
            readers: 2,
            probe_every: Duration::from_millis(250),
            installation: String::new(),
            compared: SettingDigests::default(),
            lease: Duration::from_secs(8),
            patience: Duration::from_secs(5),
        }
    }

    /// With the tables in this schema, whatever the program's name: one part of a product may run
    /// in several programs.
    #[must_use]
    pub fn schema(mut self, schema: &str) -> Self {
        self.schema = schema.to_owned();
        self
    }

    /// Of this installation.
    #[must_use]
    pub fn installation(mut self, installation: String) -> Self {
        self.installation = installation;
        self
    }

    /// With these settings, which have to be equal on all processes.
    #[must_use]
    pub fn compared(mut self, compared: SettingDigests) -> Self {
        self.compared = compared;
        self
    }

    /// With these tables whose rows hold extents.
    #[must_use]
    pub fn extents(mut self, extents: &'static [ExtentTable]) -> Self {
        self.extents = extents;
        self
    }

    /// With these migrations.
    #[must_use]
    pub fn migrations(mut self, migrations: &'static [Migration]) -> Self {
        self.migrations = migrations;
        self
    }
}

//! What can go wrong: while opening ([`OpenError`]) and while serving ([`StoreError`]).

use crate::lock::LockError;
use std::io;
use std::path::PathBuf;

/// Why a request was not carried out. `Clone`, because all requests of a failed group get it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The queue in front of the writer or the readers is full. Nothing was done; try again soon.
    #[error("the store is busy: {waiting} requests are waiting already; try again in a moment")]
    Busy {
        /// Requests in the queue, which is its capacity.
        waiting: usize,
    },
    /// No space left. Nothing of the request was stored; the store recovers when space returns.
    #[error("no space left for the store in {place}; free some, it recovers by itself")]
    Full {
        /// The store's file.
        place: String,
    },
    /// Reading or writing failed for another reason. Nothing of the request was stored.
    #[error("the store in {place} failed: {reason}; it is reopened by itself")]
    Storage {
        /// The store's file.
        place: String,
        /// The operating system's or redb's words.
        reason: String,
    },
    /// The disk failed within the commit and could not be read back: stored or not, nobody knows.
    #[error("the store in {place} failed within a commit, outcome unknown: {reason}; look again")]
    Unknown {
        /// The store's file.
        place: String,
        /// The operating system's or redb's words.
        reason: String,
    },
    /// The request panicked. Its rows were undone, the others of its group were not touched.
    #[error("the request panicked: {message}")]
    Panicked {
        /// The panic's text.
        message: String,
    },
    /// A row or key is larger than the store takes ([`crate::MAX_ROW_BYTES`],
    /// [`crate::MAX_KEY_BYTES`]).
    #[error("a {what} of {bytes} bytes in table {table} is above the limit of {limit}")]
    TooLarge {
        /// `row` or `key`.
        what: &'static str,
        /// The table written to.
        table: &'static str,
        /// Its size.
        bytes: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// A row could not be turned into bytes, e.g. a map of unknown length.
    #[error("a row of table {table} cannot be encoded: {reason}")]
    Encode {
        /// The table written to.
        table: &'static str,
        /// What the encoder said.
        reason: String,
    },
    /// A read or a write asked the store to write, and would have waited for itself.
    #[error("a request to the store must not wait for another; use the rows it was given")]
    Reentrant,
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// Another process has taken the store since. Nothing of the request was stored, and this
    /// process stores nothing more: it has to end.
    #[error("the store in {place} was taken over by {by}; this process stores nothing more")]
    TakenOver {
        /// The store's place.
        place: String,
        /// Who has it now.
        by: String,
    },
}

impl StoreError {
    /// Whether asking again later can help: 503 with `Retry-After` at the edge.
    pub fn is_temporary(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. }
                | Self::Full { .. }
                | Self::Storage { .. }
                | Self::Unknown { .. }
                | Self::TakenOver { .. }
        )
    }

    /// Whether this process can never store anything again: whoever waits for the store has to give
    /// up.
    pub fn is_final(&self) -> bool {
        matches!(self, Self::Closed | Self::TakenOver { .. })
    }

    /// Whether the store never takes this request, however often it is asked: what is to be stored
    /// has to become another.
    pub fn is_refused(&self) -> bool {
        matches!(self, Self::TooLarge { .. } | Self::Encode { .. })
    }

    /// Sorts a failure of redb by what an operator can do about it.
    pub(crate) fn from_redb(place: &str, error: &redb::Error) -> Self {
        let place = place.to_owned();
        match error {
            redb::Error::Io(e) if is_full(e) => Self::Full { place },
            other => Self::Storage {
                place,
                reason: other.to_string(),
            },
        }
    }
}

/// No space, over quota, or over the file-size limit: all end when somebody makes room.
pub(crate) fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder is in use, or its lock file cannot be had.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The folder or file cannot be made or read.
    #[error("cannot open the store in {}: {source}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
    /// The file is there and holds nothing. A new store's file gets its name when it is whole.
    #[error(
        "the store {} is empty: it has lost what it held; restore a backup in its place, or remove the file to begin anew",
        path.display()
    )]
    Emptied {
        /// The store's file.
        path: PathBuf,
    },
    /// The file is not a store, or damaged beyond what recovery repairs.
    #[error(
        "the store in {place} cannot be read: {reason}; move the file away or restore a backup"
    )]
    Damaged {
        /// The store's file.
        place: String,
        /// What redb said.
        reason: String,
    },
    /// A later version of the program wrote this store.
    #[error(
        "the store in {place} has schema {stored}, this program knows {known}; \
         use the version that wrote it, or a later one"
    )]
    SchemaTooNew {
        /// The store's file.
        place: String,
        /// The version found.
        stored: u32,
        /// The newest version this program knows.
        known: u32,
    },
    /// The list of migrations is not 1, 2, 3, …: a mistake in the program.
    #[error("migration {name} has version {found}, expected {expected}; keep them in order")]
    MigrationOrder {
        /// The migration out of order.
        name: &'static str,
        /// Its version.
        found: u32,
        /// The version that should stand there.
        expected: u32,
    },
    /// A migration failed; the store is as it was before it.
    #[error("migration {version} ({name}) of the store in {place} failed: {source}")]
    Migration {
        /// The store's file.
        place: String,
        /// The version it should have reached.
        version: u32,
        /// The migration's name.
        name: &'static str,
        /// What went wrong within.
        source: StoreError,
    },
    /// The address of a PostgreSQL server is none.
    #[error("store.url: {reason}; write postgresql://user:password@host/database")]
    Url {
        /// What is wrong with it. The address itself may hold a password.
        reason: String,
    },
    /// The PostgreSQL server cannot be used as it is.
    #[error("cannot open the store in {place}: {reason}")]
    Server {
        /// The server, database and schema, without a password.
        place: String,
        /// What is wrong, and what to do.
        reason: String,
    },
    /// The PostgreSQL server does not answer, or cannot now.
    #[error("cannot open the store in {place}: {reason}")]
    Away {
        /// The server, database and schema, without a password.
        place: String,
        /// Why, and what to look at.
        reason: String,
    },
    /// Another process holds the store in PostgreSQL.
    #[error("the store in {place} is in use by {by}; stop it or choose another database")]
    InUse {
        /// The server, database and schema.
        place: String,
        /// Program, machine and process.
        by: String,
    },
    /// A copy into this store was begun and did not come to its end.
    #[error(
        "the store in {place} holds part of a copy that did not end; \
         repeat the `store migrate`, `store backup` or `store restore` that made it, which begins anew"
    )]
    HalfCopied {
        /// The store's place.
        place: String,
    },
    /// `store migrate` has moved it: what came since is in its new place only.
    #[error(
        "the store in {place} was moved to {to}: name that one in [store] (is a variable missing?); to use this older one again, copy it by `store migrate` into an empty place"
    )]
    Moved {
        /// The store's place.
        place: String,
        /// Where it was moved, without a password.
        to: String,
    },
    /// The first transaction failed: disk full or failing.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl OpenError {
    /// Whether it is the server that is away, and no setting that is wrong.
    #[must_use]
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }
}

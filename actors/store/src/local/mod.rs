//! Local state: keys and values in namespaces, behind one trait with four backends.
//!
//! | kind | where | after a crash | for |
//! |---|---|---|---|
//! | [`LocalStateKind::Memory`] | an ordered map | gone | tests |
//! | [`LocalStateKind::ConcurrentMap`] | a sharded map | gone | caches, many threads |
//! | [`LocalStateKind::Sqlite`] | `state.sqlite`, WAL, `synchronous=FULL` | complete | other tools read it |
//! | [`LocalStateKind::Redb`] | a [`Store`](crate::Store) with group commit | complete | default |
//!
//! All behave the same, errors and limits included: one test-suite (`tests/backends.rs`) runs
//! over the four, and against a model.
//!
//! ```
//! use store::{LocalState, LocalStateKind};
//! let folder = tempfile::tempdir()?;
//! let kind: LocalStateKind = "redb".parse()?;
//! let state = kind.open(folder.path(), "example")?;
//! state.put("sources", b"docs/a.md", b"hash 1")?;
//! assert_eq!(state.get("sources", b"docs/a.md")?.as_deref(), Some(&b"hash 1"[..]));
//! assert_eq!(state.scan("sources", b"docs/", None, 10)?.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod concurrent;
mod dump;
mod kind;
mod memory;
mod open;
mod redb;
mod sqlite;

pub use concurrent::ConcurrentMap;
pub use dump::{DumpError, read_dump, write_dump};
pub use kind::{LocalStateKind, UnknownKind};
pub use memory::LocalMemory;
pub use open::LocalOpenError;
pub use redb::RedbState;
pub use sqlite::SqliteState;

use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Longest namespace, in bytes.
pub const MAX_NAMESPACE_BYTES: usize = 64;
/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 1024;
/// Largest value, in bytes: 16 MiB.
pub const MAX_VALUE_BYTES: usize = 16 * 1024 * 1024;

/// A key with its value.
pub type KeyValue = (Vec<u8>, Vec<u8>);

/// Keys and values in namespaces. Calls block for as long as the backend's disk takes; what they
/// changed is durable when they return, as far as the backend keeps anything at all.
pub trait LocalState: fmt::Debug + Send + Sync {
    /// Which backend this is.
    fn kind(&self) -> LocalStateKind;

    /// The value of `key`.
    ///
    /// # Errors
    /// See [`LocalError`]; the same holds for all methods.
    fn get(&self, namespace: &str, key: &[u8]) -> Result<Option<Vec<u8>>, LocalError>;

    /// Up to `limit` pairs whose key begins with `prefix`, by ascending key, past `after` if given.
    fn scan(
        &self,
        namespace: &str,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValue>, LocalError>;

    /// Carries out all changes in order, or none: readers see all of them or none, a crash too.
    fn batch(&self, changes: &[LocalChange]) -> Result<(), LocalError>;

    /// Sets the value of `key`.
    fn put(&self, namespace: &str, key: &[u8], value: &[u8]) -> Result<(), LocalError> {
        self.batch(&[LocalChange::put(namespace, key, value)])
    }

    /// Removes `key`; `false` if it was not there.
    fn delete(&self, namespace: &str, key: &[u8]) -> Result<bool, LocalError>;

    /// The namespaces with at least one key, sorted.
    fn namespaces(&self) -> Result<Vec<String>, LocalError>;

    /// How much a namespace holds.
    fn size(&self, namespace: &str) -> Result<Size, LocalError>;

    /// Makes sure that all earlier changes are durable and, where the backend keeps a journal
    /// beside its file, that they are in the file: what a copy of the file needs.
    fn flush(&self) -> Result<(), LocalError>;
}

/// One change of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalChange {
    /// The namespace of the key.
    pub namespace: String,
    /// The key.
    pub key: Vec<u8>,
    /// The new value; `None` removes the key.
    pub value: Option<Vec<u8>>,
}

impl LocalChange {
    /// Sets a value.
    pub fn put(namespace: &str, key: &[u8], value: &[u8]) -> Self {
        Self {
            namespace: namespace.to_owned(),
            key: key.to_vec(),
            value: Some(value.to_vec()),
        }
    }

    /// Removes a key.
    pub fn delete(namespace: &str, key: &[u8]) -> Self {
        Self {
            namespace: namespace.to_owned(),
            key: key.to_vec(),
            value: None,
        }
    }

    fn check(&self) -> Result<(), LocalError> {
        check_key(&self.namespace, &self.key)?;
        let bytes = self.value.as_ref().map_or(0, Vec::len);
        limit("value", bytes, MAX_VALUE_BYTES)
    }
}

/// How much a namespace holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Number of keys.
    pub entries: u64,
    /// Bytes of keys and values together.
    pub bytes: u64,
}

impl Size {
    fn add(&mut self, key: usize, value: usize) {
        self.entries += 1;
        self.bytes += (key + value) as u64;
    }

    fn remove(&mut self, key: usize, value: usize) {
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub((key + value) as u64);
    }
}

/// Why a call on local state failed; nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocalError {
    /// A namespace with other characters, or none.
    #[error("namespace {0:?} is not made of 1 to {MAX_NAMESPACE_BYTES} of a-z, 0-9, - and _")]
    Namespace(String),
    /// A key or value above its limit.
    #[error("a {what} of {bytes} bytes is above the limit of {limit}")]
    TooLarge {
        /// `key` or `value`.
        what: &'static str,
        /// Its size.
        bytes: usize,
        /// The most that is taken.
        limit: usize,
    },
    /// No space left.
    #[error("no space left for the local state in {0}; free some")]
    Full(String),
    /// The SQLite file failed.
    #[error("the local state in {place} failed: {reason}")]
    Sqlite {
        /// The file.
        place: String,
        /// SQLite's words.
        reason: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(StoreError),
}

impl From<StoreError> for LocalError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full { place } => Self::Full(place),
            other => Self::Store(other),
        }
    }
}

fn check_namespace(namespace: &str) -> Result<(), LocalError> {
    let known = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
    let fits = (1..=MAX_NAMESPACE_BYTES).contains(&namespace.len());
    if fits && namespace.bytes().all(known) {
        return Ok(());
    }
    Err(LocalError::Namespace(namespace.chars().take(80).collect()))
}

fn check_key(namespace: &str, key: &[u8]) -> Result<(), LocalError> {
    check_namespace(namespace)?;
    limit("key", key.len(), MAX_KEY_BYTES)
}

fn check_all(changes: &[LocalChange]) -> Result<(), LocalError> {
    changes.iter().try_for_each(LocalChange::check)
}

fn limit(what: &'static str, bytes: usize, limit: usize) -> Result<(), LocalError> {
    if bytes <= limit {
        return Ok(());
    }
    Err(LocalError::TooLarge { what, bytes, limit })
}

/// Where a scan begins: the first key it may return, and whether that key itself is left out.
fn scan_from<'a>(prefix: &'a [u8], after: Option<&'a [u8]>) -> std::ops::Bound<&'a [u8]> {
    use std::ops::Bound::{Excluded, Included};
    match after {
        Some(after) if after >= prefix => Excluded(after),
        _ => Included(prefix),
    }
}

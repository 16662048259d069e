//! Local state in SQLite: one file that other tools can read.
//!
//! WAL with `synchronous=FULL`: each commit is synchronised
//! (<https://www.sqlite.org/pragma.html#pragma_synchronous>).

use super::{
    KeyValue, LocalChange, LocalError, LocalState, LocalStateKind, Size, check_all, check_key,
    check_namespace, scan_from,
};
use crate::DirectoryLock;
use crate::key::after_prefix;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Transaction, params};
use std::ops::Bound;
use std::path::Path;
use std::time::Duration;

const SETUP: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS state (
        namespace TEXT NOT NULL,
        key       BLOB NOT NULL,
        value     BLOB NOT NULL,
        PRIMARY KEY (namespace, key)
    );
";

/// Local state in an SQLite file.
#[derive(Debug)]
pub struct SqliteState {
    db: Mutex<Connection>,
    /// The file, for messages.
    place: String,
    /// The lock on the file's folder. Declared last: it goes after the connection.
    _lock: Option<DirectoryLock>,
}

impl SqliteState {
    /// Opens or creates the file; `lock` is held as long as it is open.
    ///
    /// # Errors
    /// [`LocalError::Sqlite`] if the file is not one, or cannot be made.
    pub fn open(file: &Path, lock: Option<DirectoryLock>) -> Result<Self, LocalError> {
        let place = file.display().to_string();
        let open = || {
            let db = Connection::open(file)?;
            db.busy_timeout(Duration::from_secs(5))?;
            db.execute_batch(SETUP)?;
            Ok(db)
        };
        let db = open().map_err(|e| failed(&place, &e))?;
        Ok(Self {
            db: Mutex::new(db),
            place,
            _lock: lock,
        })
    }

    /// Reads; a value, or nothing if there is no such row.
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LocalError> {
        work(&mut self.db.lock()).map_err(|e| failed(&self.place, &e))
    }
}

fn failed(place: &str, error: &rusqlite::Error) -> LocalError {
    let place = place.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => LocalError::Full(place),
        _ => LocalError::Sqlite {
            place,
            reason: error.to_string(),
        },
    }
}

impl LocalState for SqliteState {
    fn kind(&self) -> LocalStateKind {
        LocalStateKind::Sqlite
    }

    fn get(&self, namespace: &str, key: &[u8]) -> Result<Option<Vec<u8>>, LocalError> {
        check_key(namespace, key)?;
        self.with(|db| {
            db.prepare_cached("SELECT value FROM state WHERE namespace = ?1 AND key = ?2")?
                .query_row(params![namespace, key], |row| row.get(0))
                .optional()
        })
    }

    fn scan(
        &self,
        namespace: &str,
        prefix: &[u8],
        after: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<KeyValue>, LocalError> {
        check_namespace(namespace)?;
        let (from, skip) = match scan_from(prefix, after) {
            Bound::Excluded(key) => (key, Some(key)),
            Bound::Included(key) => (key, None),
            Bound::Unbounded => (prefix, None),
        };
        let end = after_prefix(prefix);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.with(|db| {
            let mut rows = db.prepare_cached(
                "SELECT key, value FROM state
                 WHERE namespace = ?1 AND key >= ?2 AND key IS NOT ?3 AND (?4 IS NULL OR key < ?4)
                 ORDER BY key LIMIT ?5",
            )?;
            let pair = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            rows.query_map(params![namespace, from, skip, end, limit], pair)?
                .collect()
        })
    }

    fn batch(&self, changes: &[LocalChange]) -> Result<(), LocalError> {
        check_all(changes)?;
        self.with(|db| {
            let txn = db.transaction()?;
            changes
                .iter()
                .try_for_each(|change| apply(&txn, change).map(drop))?;
            txn.commit()
        })
    }

    fn delete(&self, namespace: &str, key: &[u8]) -> Result<bool, LocalError> {
        check_key(namespace, key)?;
        self.with(|db| {
            let txn = db.transaction()?;
            let rows = apply(&txn, &LocalChange::delete(namespace, key))?;
            txn.commit()?;
            Ok(rows > 0)
        })
    }

    fn namespaces(&self) -> Result<Vec<String>, LocalError> {
        self.with(|db| {
            let mut names =
                db.prepare_cached("SELECT DISTINCT namespace FROM state ORDER BY namespace")?;
            names.query_map([], |row| row.get(0))?.collect()
        })
    }

    fn size(&self, namespace: &str) -> Result<Size, LocalError> {
        check_namespace(namespace)?;
        let (entries, bytes): (i64, i64) = self.with(|db| {
            db.prepare_cached(
                "SELECT count(*), coalesce(sum(length(key) + length(value)), 0)
                 FROM state WHERE namespace = ?1",
            )?
            .query_row([namespace], |row| Ok((row.get(0)?, row.get(1)?)))
        })?;
        // Counts and sums of lengths are never negative.
        let (entries, bytes) = (entries.cast_unsigned(), bytes.cast_unsigned());
        Ok(Size { entries, bytes })
    }

    fn flush(&self) -> Result<(), LocalError> {
        self.with(|db| db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())))
    }
}

/// Carries out one change; how many rows it touched.
fn apply(txn: &Transaction<'_>, change: &LocalChange) -> rusqlite::Result<usize> {
    let LocalChange {
        namespace,
        key,
        value,
    } = change;
    match value {
        Some(value) => txn
            .prepare_cached(
                "INSERT OR REPLACE INTO state (namespace, key, value) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![namespace, key, value]),
        None => txn
            .prepare_cached("DELETE FROM state WHERE namespace = ?1 AND key = ?2")?
            .execute(params![namespace, key]),
    }
}

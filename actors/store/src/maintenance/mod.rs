//! What operators do with a store while its program does not run, or, to copy one in PostgreSQL,
//! while it does: check it, move it to the other engine, save and restore it.

mod check;
mod copy;
mod lost_blobs;
mod place;

use crate::error::{OpenError, StoreError};
use crate::row_source::{RowSource, StoreSnapshot};
use crate::rows::raw::KeyRange;
use crate::table::MAX_ROW_BYTES;
use std::ops::Bound;

pub use self::check::{StoreCheckReport, check};
pub use self::copy::{CopyReport, backup, copy, migrate};
pub use self::place::StorePlace;

/// Rows read at a time.
const PAGE: usize = 256;

/// Why a store could not be checked or copied.
#[derive(Debug, thiserror::Error)]
pub enum MaintenanceError {
    /// A store could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no store to read.
    #[error("there is no store in {place}")]
    Missing {
        /// Folder or database.
        place: String,
    },
    /// Deliveries that were acknowledged are not part of the store yet.
    #[error(
        "{count} deliveries that standbys acknowledged wait in {place} to be decided; let the program lead for a moment, then copy again"
    )]
    Undecided {
        /// The database.
        place: String,
        /// How many.
        count: u64,
    },
    /// The store to be written holds something already.
    #[error(
        "the store in {place} is not empty ({found}); choose an empty folder, database or schema"
    )]
    NotEmpty {
        /// Folder or database.
        place: String,
        /// What it holds.
        found: String,
    },
    /// The copy is not what was copied. It stays marked as unfinished, so that no program starts
    /// with it.
    #[error("the copy in {place} differs from its source: {what}; it is not used, copy again")]
    Differs {
        /// Folder or database.
        place: String,
        /// Which table or segment, and in what.
        what: String,
    },
}

/// A table as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableDigest {
    /// Its name; those with `_` are the store's own.
    pub name: String,
    /// Rows found.
    pub rows: u64,
    /// Bytes of keys and rows.
    pub bytes: u64,
    /// BLAKE3 of all keys and rows with their lengths, in the order of the keys, as 64 digits.
    pub digest: String,
}

/// Reads a table from its first row to its last.
fn digest_table(
    rows: &mut dyn StoreSnapshot,
    name: &str,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<TableDigest, StoreError> {
    let mut hasher = blake3::Hasher::new();
    let (mut count, mut bytes) = (0, 0);
    for_each_row(rows, name, |key, row| {
        for part in [key, row] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
            bytes += part.len() as u64;
        }
        count += 1;
        each(key, row);
        Ok::<_, StoreError>(())
    })?;
    Ok(TableDigest {
        name: name.to_owned(),
        rows: count,
        bytes,
        digest: hasher.finalize().to_hex().to_string(),
    })
}

/// A key as it is named: not too much of it.
fn digits(key: &[u8]) -> String {
    hex::encode(&key[..key.len().min(32)])
}

/// Walks a table by ascending key.
fn for_each_row<E: From<StoreError>>(
    rows: &mut (impl RowSource + ?Sized),
    table: &str,
    mut each: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut range = KeyRange {
        from: Bound::Unbounded,
        to: Bound::Unbounded,
        backward: false,
    };
    loop {
        let page = rows.scan(table, &range, PAGE)?;
        let more = page.len() == PAGE;
        for (key, row) in page {
            each(&key, &row)?;
            range.advance(key);
        }
        if !more {
            return Ok(());
        }
    }
}

/// Walks the bytes of a segment, part by part.
fn for_each_part<E: From<StoreError>>(
    rows: &mut dyn StoreSnapshot,
    segment: u32,
    mut each: impl FnMut(&mut dyn StoreSnapshot, u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut from = 0;
    while let Some((at, bytes)) = rows.segment_part(segment, from)? {
        each(rows, at, &bytes)?;
        // A part of no bytes would be met for ever.
        from = at + (bytes.len() as u64).clamp(1, MAX_ROW_BYTES as u64);
    }
    Ok(())
}

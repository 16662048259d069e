//! Rows that cannot be decoded: moved aside, kept and counted, so that one bad row neither stops
//! the others nor brings the process down again at each start.

use crate::codec::{Blob, Row};
use crate::error::StoreError;
use crate::key::Key;
use crate::rows::raw::{Found, RawRead};
use crate::table::Table;
use crate::write::WriteTxn;
use serde::{Deserialize, Serialize};

/// Rows in quarantine, by table and encoded key.
pub(crate) const QUARANTINE: Table<QuarantineKey, QuarantinedRow> = Table::internal("_quarantine");

/// Where a row in quarantine came from: its table and its encoded key.
pub type QuarantineKey = (String, Vec<u8>);

/// A row that could not be decoded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuarantinedRow {
    /// Why, in words.
    pub why: String,
    /// The row as it was stored, head included.
    pub bytes: Blob,
    /// The commit that moved it here.
    pub group: u64,
}

impl Row for QuarantinedRow {
    const SCHEMA: u16 = 1;
}

impl WriteTxn<'_> {
    /// Moves a row to quarantine, unless it can be decoded by now.
    pub(crate) fn quarantine(&mut self, found: &Found) -> Result<(), StoreError> {
        let Some(bytes) = self.raw_get(found.table, &found.key)? else {
            return Ok(());
        };
        let Some(why) = (found.fault)(&found.key, &bytes) else {
            return Ok(());
        };
        tracing::error!(
            event = "row.quarantined",
            table = found.table,
            key = %hex(&found.key),
            %why,
            "a stored row cannot be read; it is kept in quarantine"
        );
        self.raw_delete(found.table, found.key.clone())?;
        let row = QuarantinedRow {
            why: why.to_string(),
            bytes: Blob(bytes),
            group: self.group(),
        };
        let key = (found.table.to_owned(), found.key.clone());
        self.put(&QUARANTINE, &key, &row)
    }

    /// Puts a row from quarantine back, if it can be decoded by now (a later version of the
    /// program knows its shape) and its place is free. `key` is as [`crate::ReadRows::quarantined`] gave it.
    ///
    /// # Errors
    /// The storage's.
    pub fn restore_quarantined<K: Key, V: Row>(
        &mut self,
        table: &Table<K, V>,
        key: &[u8],
    ) -> Result<bool, StoreError> {
        let at = (table.name().to_owned(), key.to_vec()).to_bytes();
        let Some(stored) = self.raw_get(QUARANTINE.name(), &at)? else {
            return Ok(false);
        };
        let Ok((_, row)) = Table::<QuarantineKey, QuarantinedRow>::decode(&at, &stored) else {
            return Ok(false);
        };
        let Blob(bytes) = row.bytes;
        let taken = self.raw_get(table.name(), key)?.is_some();
        if taken || Table::<K, V>::fault(key, &bytes).is_some() {
            return Ok(false);
        }
        self.raw_delete(QUARANTINE.name(), at)?;
        self.raw_put(table.name(), key.to_vec(), &bytes)?;
        Ok(true)
    }

    /// Throws a row in quarantine away; `false` if it is not there.
    ///
    /// # Errors
    /// The storage's.
    pub fn discard_quarantined(&mut self, table: &str, key: &[u8]) -> Result<bool, StoreError> {
        self.delete(&QUARANTINE, &(table.to_owned(), key.to_vec()))
    }
}

/// A key for the log: bytes of unknown meaning, so as digits, and not too many.
fn hex(key: &[u8]) -> String {
    use std::fmt::Write;
    key.iter().take(64).fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

//! Moving rows to quarantine and back.

use super::WriteTxn;
use crate::codec::{RawBytes, Row};
use crate::error::StoreError;
use crate::key::Key;
use crate::quarantine::{QUARANTINE, QuarantineKey, QuarantinedRow};
use crate::rows::raw::{RawRead, UnreadableRow};
use crate::table::Table;

impl WriteTxn<'_> {
    /// Moves a row to quarantine, unless it can be decoded by now.
    pub(crate) fn quarantine(&mut self, found: &UnreadableRow) -> Result<(), StoreError> {
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
            bytes: RawBytes(bytes),
            group: self.group(),
        };
        let key = (found.table.to_owned(), found.key.clone());
        self.put(&QUARANTINE, &key, &row)
    }

    /// Puts a row from quarantine back, if it can be decoded by now (a later version of the program
    /// knows its shape) and its place is free. `key` is as [`crate::ReadRows::quarantined`] gave
    /// it.
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
        let RawBytes(bytes) = row.bytes;
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

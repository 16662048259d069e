//! Moving rows to quarantine.

use super::WriteTxn;
use crate::codec::RawBytes;
use crate::error::StoreError;
use crate::quarantine::{QUARANTINE, QuarantinedRow};
use crate::rows::raw::{RawRead, UnreadableRow};

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
            // Bytes of unknown meaning, so as digits, and not too many.
            key = %hex::encode(&found.key[..found.key.len().min(64)]),
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
}

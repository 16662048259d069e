//! Rows that cannot be decoded: moved aside, kept and counted, so that one bad row neither stops
//! the others nor brings the process down again at each start.

use crate::codec::{RawBytes, Row};
use crate::table::Table;
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
    pub bytes: RawBytes,
    /// The commit that moved it here.
    pub group: u64,
}

impl Row for QuarantinedRow {
    const SCHEMA: u16 = 1;
}

//! Which rows of a program hold extents. The store does not know its programs' rows: this is for
//! those who look whether all blobs are there.

use crate::blobs::Extent;
use crate::codec::{Row, decode_row};
use crate::key::Key;
use crate::table::Table;

/// A row that holds extents.
pub trait HoldsExtents: Row {
    /// Its extents.
    fn extents(&self) -> Vec<Extent>;
}

impl HoldsExtents for Extent {
    fn extents(&self) -> Vec<Extent> {
        vec![*self]
    }
}

/// A table whose rows hold extents; see [`crate::StoreOptions::extents`].
#[derive(Debug, Clone, Copy)]
pub struct ExtentTable {
    pub(crate) name: &'static str,
    /// The extents of a row as it is stored; none of one that cannot be read.
    pub(crate) extents: fn(&[u8]) -> Vec<Extent>,
}

impl ExtentTable {
    /// That of this table.
    pub const fn new<K: Key, V: HoldsExtents>(table: Table<K, V>) -> Self {
        Self {
            name: table.name(),
            extents: |row| decode_row::<V>(row).map_or_else(|_| Vec::new(), |row| row.extents()),
        }
    }
}

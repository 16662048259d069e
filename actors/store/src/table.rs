//! Typed tables: a name with the types of its keys and rows.

use crate::codec::{Row, RowDecodeError, decode_row};
use crate::key::Key;
use std::marker::PhantomData;

/// Longest encoded key.
pub const MAX_KEY_BYTES: usize = 4 * 1024;

/// Largest encoded row: 64 MiB.
pub const MAX_ROW_BYTES: usize = 64 * 1024 * 1024;

/// A table's name, key type and row type. Made as a constant; comes into being with its first row.
///
/// ```
/// use store::{RawBytes, Table};
/// const BODIES: Table<(String, u64), RawBytes> = Table::new("bodies");
/// assert_eq!(BODIES.name(), "bodies");
/// ```
#[derive(Debug)]
pub struct Table<K, V> {
    name: &'static str,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K, V> Copy for Table<K, V> {}

impl<K: Key, V: Row> Table<K, V> {
    /// A table called `name`, unique in the store.
    ///
    /// # Panics
    /// While compiling, if the name is empty or begins with `_`, which the store's own tables do.
    pub const fn new(name: &'static str) -> Self {
        assert!(!name.is_empty(), "a table needs a name");
        assert!(name.as_bytes()[0] != b'_', "names with _ are the store's");
        Self::internal(name)
    }

    pub(crate) const fn internal(name: &'static str) -> Self {
        Self {
            name,
            types: PhantomData,
        }
    }

    /// The name.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Key and row as stored, decoded.
    pub(crate) fn decode(key: &[u8], row: &[u8]) -> Result<(K, V), RowDecodeError> {
        let key = K::from_bytes(key).ok_or(RowDecodeError::Key)?;
        Ok((key, decode_row(row)?))
    }

    /// Why key and row as stored are unreadable, if they are.
    pub(crate) fn fault(key: &[u8], row: &[u8]) -> Option<RowDecodeError> {
        Self::decode(key, row).err()
    }
}

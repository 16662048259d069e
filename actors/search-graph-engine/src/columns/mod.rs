//! Tables as columns of bytes, in a file that is mapped into memory or on the heap.
//!
//! ```text
//! MAGIC ─ column 0 ─ column 1 ─ … ─ where each begins and ends ─ hash of all before ─ MAGIC
//! ```
//! What is served is read where it lies: the system keeps in memory what is looked at, and may take
//! it back. A file is written beside its place and renamed, and never changed after that, so a map
//! of it stays what it was for as long as somebody holds it.

mod file;
mod marks;
mod texts;

use std::ops::{Deref, Range};
use std::sync::Arc;

pub use file::{ColumnError, content_hash};
pub(crate) use file::{ColumnWriter, Columns, hash_of, mapped};
pub(crate) use marks::RowSet;
pub(crate) use texts::{TextColumns, TextsBuilder};

/// Bytes that stay where they are.
enum Region {
    Heap(Vec<u8>),
    Mapped(memmap2::Mmap),
}

impl Deref for Region {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Heap(bytes) => bytes,
            Self::Mapped(map) => map,
        }
    }
}

/// Hashes on each side of the place where one should be that are looked at first.
const NEIGHBOURHOOD: usize = 32;

/// A part of a region. Cheap to clone; clones share the region.
#[derive(Clone)]
pub(crate) struct Column {
    region: Arc<Region>,
    range: Range<usize>,
}

impl Default for Column {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl From<Vec<u8>> for Column {
    fn from(mut bytes: Vec<u8>) -> Self {
        bytes.shrink_to_fit();
        let range = 0..bytes.len();
        Self {
            region: Arc::new(Region::Heap(bytes)),
            range,
        }
    }
}

impl Deref for Column {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.region[self.range.clone()]
    }
}

impl AsRef<[u8]> for Column {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl std::fmt::Debug for Column {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Column({} bytes)", self.range.len())
    }
}

impl Column {
    /// Some of its bytes; none where the range lies outside.
    pub(crate) fn part(&self, range: Range<usize>) -> Self {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        let at = self.range.start;
        Self {
            region: Arc::clone(&self.region),
            range: at + start..at + end.max(start),
        }
    }

    /// Rows of `N` bytes each; a rest that is no whole row is left out.
    #[inline]
    pub(crate) fn rows<const N: usize>(&self) -> &[[u8; N]] {
        self.as_chunks().0
    }

    /// The number at a place; 0 behind the end.
    #[inline]
    pub(crate) fn u32(&self, at: usize) -> u32 {
        self.rows()
            .get(at)
            .map_or(0, |row| u32::from_le_bytes(*row))
    }

    /// The number at a place; 0 behind the end.
    #[inline]
    pub(crate) fn f32(&self, at: usize) -> f32 {
        self.rows()
            .get(at)
            .map_or(0.0, |row| f32::from_le_bytes(*row))
    }

    /// The place of a hash in a column of ascending ones. Hashes are spread evenly, so it is looked
    /// for where it should be first: what is read lies close together.
    pub(crate) fn find_hash(&self, hash: u64) -> Option<usize> {
        let rows = self.rows::<8>();
        let value = |row: &[u8; 8]| u64::from_le_bytes(*row);
        let guess = ((u128::from(hash) * rows.len() as u128) >> 64) as usize;
        let (mut low, mut high, mut step) = (guess, guess, NEIGHBOURHOOD);
        while low > 0 && value(&rows[low]) > hash {
            low = low.saturating_sub(step);
            step *= 2;
        }
        step = NEIGHBOURHOOD;
        while high < rows.len() && value(&rows[high]) < hash {
            high = rows.len().min(high + step);
            step *= 2;
        }
        let near = rows.get(low..rows.len().min(high + 1))?;
        let found = near.binary_search_by_key(&hash, value).ok()?;
        Some(low + found)
    }

    /// The bytes on the heap that it holds alone or with its clones; none where it is mapped.
    pub(crate) fn heap_bytes(&self) -> usize {
        match &*self.region {
            Region::Heap(_) => self.range.len(),
            Region::Mapped(_) => 0,
        }
    }
}

/// A column of numbers.
pub(crate) fn u32_column(numbers: impl IntoIterator<Item = u32>) -> Column {
    let bytes: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
    bytes.into()
}

/// A column of numbers.
pub(crate) fn f32_column(numbers: impl IntoIterator<Item = f32>) -> Column {
    let bytes: Vec<u8> = numbers.into_iter().flat_map(f32::to_le_bytes).collect();
    bytes.into()
}

/// 64 bits of a strong hash of a key: two keys that share them are not to be found by chance.
#[must_use]
pub fn key_hash(key: &str) -> u64 {
    let bytes = blake3::hash(key.as_bytes());
    let first = bytes.as_bytes().first_chunk();
    u64::from_le_bytes(*first.expect("a hash of 32 bytes"))
}

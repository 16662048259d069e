//! Columns as a file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::{Column, Region};

/// First bytes of a file are those of its kind; the last ones are these. Change with the form.
const END: &[u8; 8] = b"sgcols01";

/// Columns begin at multiples of this, so that rows do not lie across more cache lines than needed.
const ALIGNMENT: usize = 64;

/// Bytes that are written at once.
const GATHERED: usize = 16 << 10;

/// Most columns of a file.
const MAX_COLUMNS: usize = 64;

/// Length of what stands behind the places: their number, the hash, the last bytes.
const TAIL: usize = 8 + 32 + END.len();

/// Why a file of columns could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// The disk refused.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file was cut short, altered, or is of another version.
    #[error("the file is damaged ({0})")]
    Damaged(&'static str),
}

/// Writes columns one after the other behind the 8 bytes that say what they are, and hashes what it
/// writes.
pub(crate) struct ColumnWriter<'o> {
    output: &'o mut dyn Write,
    hasher: blake3::Hasher,
    at: usize,
    places: Vec<u64>,
}

impl<'o> ColumnWriter<'o> {
    pub(crate) fn new(output: &'o mut dyn Write, kind: &[u8; 8]) -> std::io::Result<Self> {
        let mut writer = Self {
            output,
            hasher: blake3::Hasher::new(),
            at: 0,
            places: Vec::new(),
        };
        writer.write(kind)?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.hasher.update(bytes);
        self.at += bytes.len();
        self.output.write_all(bytes)
    }

    /// Writes the next column, of the pieces that it consists of.
    pub(crate) fn column(
        &mut self,
        pieces: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> std::io::Result<()> {
        let room = self.at.next_multiple_of(ALIGNMENT) - self.at;
        self.write(&[0; ALIGNMENT][..room])?;
        self.places.push(self.at as u64);
        // Hashing is fast by the kilobyte.
        let mut gathered = Vec::with_capacity(2 * GATHERED);
        for piece in pieces {
            gathered.extend_from_slice(piece.as_ref());
            if gathered.len() >= GATHERED {
                self.write(&gathered)?;
                gathered.clear();
            }
        }
        self.write(&gathered)?;
        self.places.push(self.at as u64);
        Ok(())
    }

    /// Writes the next column, of numbers.
    pub(crate) fn numbers(
        &mut self,
        numbers: impl IntoIterator<Item = u32>,
    ) -> std::io::Result<()> {
        self.column(numbers.into_iter().map(u32::to_le_bytes))
    }

    /// Writes the next two columns, of texts.
    pub(crate) fn texts<'t>(
        &mut self,
        texts: impl Iterator<Item = &'t str> + Clone,
    ) -> std::io::Result<()> {
        let mut end = 0;
        self.numbers(texts.clone().map(|text| {
            end += text.len() as u32;
            end
        }))?;
        self.column(texts)
    }

    /// Writes what says where the columns are.
    pub(crate) fn finish(mut self) -> std::io::Result<()> {
        let mut places: Vec<u8> = self.places.iter().flat_map(|at| at.to_le_bytes()).collect();
        places.extend_from_slice(&(self.places.len() as u64 / 2).to_le_bytes());
        self.write(&places)?;
        let hash = self.hasher.finalize();
        self.output.write_all(hash.as_bytes())?;
        self.output.write_all(END)?;
        self.output.flush()
    }
}

/// The hash of what a file of columns holds, as it stands in its tail; the file is not looked at
/// further.
///
/// # Errors
/// The file cannot be read, or is too short to be one.
pub fn content_hash(path: &Path) -> std::io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-((32 + END.len()) as i64)))?;
    let mut hash = [0; 32];
    file.read_exact(&mut hash)?;
    Ok(hash)
}

/// The columns of a file.
#[derive(Debug)]
pub(crate) struct Columns(Vec<Column>);

impl Columns {
    /// Maps a file into memory. All of it is read once before, to see that it is whole: a file of
    /// any content does no harm.
    pub(crate) fn open(path: &Path, kind: &[u8; 8]) -> Result<Self, ColumnError> {
        let file = File::open(path)?;
        let length = file.metadata()?.len() as usize;
        if length < kind.len() + TAIL {
            return Err(ColumnError::Damaged("it ends early"));
        }
        check_hash(&file, length)?;
        let map = map(&file)?;
        Self::from_region(Region::Mapped(map), kind)
    }

    fn from_region(region: Region, kind: &[u8; 8]) -> Result<Self, ColumnError> {
        let damaged = ColumnError::Damaged;
        if !region.starts_with(kind) {
            return Err(damaged("it is of another kind or version"));
        }
        let end = region.len().checked_sub(TAIL);
        let end = end.ok_or(damaged("it ends early"))?;
        let count = region[end..]
            .first_chunk()
            .map(|at| u64::from_le_bytes(*at));
        let count = count.map_or(usize::MAX, |count| count as usize);
        let start = end.checked_sub(16 * count.min(MAX_COLUMNS + 1));
        let Some(start) = start.filter(|_| count <= MAX_COLUMNS) else {
            return Err(damaged("its columns cannot be"));
        };
        let places: Vec<Range<usize>> = region[start..end]
            .as_chunks::<8>()
            .0
            .chunks_exact(2)
            .map(|place| {
                u64::from_le_bytes(place[0]) as usize..u64::from_le_bytes(place[1]) as usize
            })
            .collect();
        if places
            .iter()
            .any(|one| one.start > one.end || one.end > start)
        {
            return Err(damaged("a column lies outside"));
        }
        let region = Arc::new(region);
        let column = |range| Column {
            region: Arc::clone(&region),
            range,
        };
        Ok(Self(places.into_iter().map(column).collect()))
    }

    /// The columns, where there are as many as are asked for.
    pub(crate) fn take<const N: usize>(self) -> Result<[Column; N], ColumnError> {
        let columns = self.0.try_into();
        columns.map_err(|_| ColumnError::Damaged("it has other columns"))
    }
}

/// The hash of the first bytes of a file, read through a small buffer: what is only checked does
/// not stay in memory. The file is read on behind them.
pub(crate) fn hash_of(file: &File, length: usize) -> std::io::Result<blake3::Hash> {
    let mut content = file.take(length as u64);
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match content.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finalize()),
            Ok(read) => _ = hasher.update(&buffer[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Maps a file as one column.
pub(crate) fn mapped(file: &File) -> std::io::Result<Column> {
    let map = map(file)?;
    let range = 0..map.len();
    Ok(Column {
        region: Arc::new(Region::Mapped(map)),
        range,
    })
}

fn check_hash(file: &File, length: usize) -> Result<(), ColumnError> {
    let found = hash_of(file, length - END.len() - 32)?;
    let mut tail = [0; 32 + END.len()];
    let mut file = file;
    file.read_exact(&mut tail)
        .map_err(|_| ColumnError::Damaged("it ends early"))?;
    if tail[32..] != *END {
        return Err(ColumnError::Damaged("it is of another kind or version"));
    }
    if tail[..32] != *found.as_bytes() {
        return Err(ColumnError::Damaged("its hash differs"));
    }
    Ok(())
}

#[allow(
    unsafe_code,
    reason = "mapping a file is unsafe where somebody changes it meanwhile; nobody does"
)]
fn map(file: &File) -> std::io::Result<memmap2::Mmap> {
    // SAFETY: the files lie in the data folder, which belongs to this program alone (its lock is
    // held); they are written beside their place, renamed, and not written to again.
    unsafe { memmap2::Mmap::map(file) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ColumnError, ColumnWriter, Columns};
    use crate::columns::{Column, TextColumns};

    proptest! {
        /// However unevenly they are spread.
        #[test]
        fn every_hash_is_found_and_no_other(
            hashes in prop::collection::btree_set(prop_oneof![any::<u64>(), 0_u64..300, Just(u64::MAX)], 0..400),
            other in any::<u64>(),
        ) {
            let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect();
            let column = Column::from(bytes);
            for (place, hash) in hashes.iter().enumerate() {
                prop_assert_eq!(column.find_hash(*hash), Some(place));
            }
            for absent in [other, 301, u64::MAX - 1].into_iter().filter(|hash| !hashes.contains(hash)) {
                prop_assert_eq!(column.find_hash(absent), None);
            }
        }
    }

    #[test]
    fn columns_read_back_and_damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("columns");
        let mut bytes = Vec::new();
        let mut writer = ColumnWriter::new(&mut bytes, b"sgtest01").expect("memory");
        let numbers = [3, 7, 1 << 60].map(u64::to_le_bytes);
        writer.column(numbers).expect("memory");
        writer.texts(["wing", "", "é"].into_iter()).expect("memory");
        writer.finish().expect("memory");
        std::fs::write(&path, &bytes).expect("written");
        let columns = Columns::open(&path, b"sgtest01").expect("whole");
        let [numbers, ends, text] = columns.take().expect("three");
        assert_eq!(numbers.find_hash(1 << 60), Some(2));
        assert_eq!(numbers.find_hash(4), None);
        let read = TextColumns { ends, text };
        assert_eq!(read.len(), 3);
        assert_eq!(
            [0, 1, 2, 9].map(|at| read.get(at).to_owned()),
            ["wing", "", "é", ""]
        );
        assert_eq!(read.heap_bytes(), 0);
        assert!(Columns::open(&path, b"sgother1").is_err());
        for at in 0..bytes.len() {
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            std::fs::write(&path, altered).expect("written");
            let refused = Columns::open(&path, b"sgtest01");
            assert!(matches!(refused, Err(ColumnError::Damaged(_))), "{at}");
            std::fs::write(&path, &bytes[..at]).expect("written");
            let refused = Columns::open(&path, b"sgtest01");
            assert!(
                matches!(refused, Err(ColumnError::Damaged(_))),
                "cut at {at}"
            );
        }
    }
}

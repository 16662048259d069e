//! Which version of which document graph and space were made of, as it is kept: rows that are
//! searched where they lie in their file.
//!
//! ```text
//! MAGIC ─ thesaurus ─ rows in the order of the keys' hashes ─ hash of all before
//! ```

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::columns::{Column, hash_of, mapped};

/// First bytes of a manifest; changes with its form.
const MAGIC: &[u8; 8] = b"sgmanif4";

/// Bytes before the rows.
const HEAD: usize = MAGIC.len() + 32;

/// Bytes of a row: the hash of a key, the hash of a content.
const ROW: usize = 24;

/// Rows that are written at once.
const PIECE_ROWS: usize = 4_096;

/// First 16 bytes of the BLAKE3 hash of a file's content.
pub type ContentHash = [u8; 16];

/// Versions of documents by the hash of their key, in the order of these.
#[derive(Debug, Clone, Default)]
pub struct VersionRows(Column);

/// What a manifest says.
#[derive(Debug)]
pub struct GraphManifest {
    /// A hash of the thesaurus with which the documents were read.
    pub thesaurus: [u8; 32],
    /// The documents.
    pub rows: VersionRows,
}

fn key_of(row: &[u8; ROW]) -> u64 {
    u64::from_le_bytes(*row.first_chunk().expect("8 of 24 bytes"))
}

fn version_of(row: &[u8; ROW]) -> (u64, ContentHash) {
    (key_of(row), *row.last_chunk().expect("16 of 24 bytes"))
}

fn row_of((key, content): (u64, ContentHash)) -> [u8; ROW] {
    let mut row = [0; ROW];
    row[..8].copy_from_slice(&key.to_le_bytes());
    row[8..].copy_from_slice(&content);
    row
}

impl VersionRows {
    /// Of versions in any order, on the heap; of those of one key any counts.
    #[must_use]
    pub fn from_versions(versions: impl IntoIterator<Item = (u64, ContentHash)>) -> Self {
        let mut rows: Vec<[u8; ROW]> = versions.into_iter().map(row_of).collect();
        rows.sort_unstable_by_key(key_of);
        rows.dedup_by_key(|row| key_of(row));
        Self(rows.into_flattened().into())
    }

    fn rows(&self) -> &[[u8; ROW]] {
        self.0.rows()
    }

    /// Number of documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows().len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows().is_empty()
    }

    /// The place of a document, by the hash of its key.
    #[must_use]
    pub fn place(&self, key: u64) -> Option<usize> {
        self.rows().binary_search_by_key(&key, key_of).ok()
    }

    /// The content of the document at a place.
    #[must_use]
    pub fn content(&self, place: usize) -> Option<ContentHash> {
        self.rows().get(place).map(|row| version_of(row).1)
    }

    /// All of them in their order.
    pub fn iter(&self) -> impl Iterator<Item = (u64, ContentHash)> + '_ {
        self.rows().iter().map(version_of)
    }

    /// Bytes of the heap that they take; none where they lie in a file.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.0.heap_bytes()
    }
}

impl GraphManifest {
    /// Writes a manifest; the versions are in the order of the keys' hashes, one for each key.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(
        versions: impl Iterator<Item = (u64, ContentHash)>,
        thesaurus: &[u8; 32],
        output: &mut dyn Write,
    ) -> io::Result<()> {
        let mut hasher = blake3::Hasher::new();
        let mut piece = MAGIC.to_vec();
        piece.extend_from_slice(thesaurus);
        for version in versions {
            piece.extend_from_slice(&row_of(version));
            if piece.len() >= PIECE_ROWS * ROW {
                hasher.update(&piece);
                output.write_all(&piece)?;
                piece.clear();
            }
        }
        hasher.update(&piece);
        output.write_all(&piece)?;
        output.write_all(hasher.finalize().as_bytes())
    }

    /// Maps a manifest into memory; all of it is read once before. `None` where it is damaged, or
    /// of another form.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len() as usize;
        let Some(end) = length.checked_sub(32).filter(|end| *end >= HEAD) else {
            return Ok(None);
        };
        let found = hash_of(&file, end)?;
        let (mut written, mut head) = ([0; 32], [0; HEAD]);
        file.read_exact(&mut written)?;
        file.seek(SeekFrom::Start(0))?;
        file.read_exact(&mut head)?;
        let Some((MAGIC, thesaurus)) = head.split_first_chunk() else {
            return Ok(None);
        };
        let is_whole = *found.as_bytes() == written && (end - HEAD).is_multiple_of(ROW);
        let Some(thesaurus) = thesaurus.first_chunk().filter(|_| is_whole) else {
            return Ok(None);
        };
        Ok(Some(Self {
            thesaurus: *thesaurus,
            rows: VersionRows(mapped(&file)?.part(HEAD..end)),
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Kept or on the heap, they say what a table of them says.
        #[test]
        fn i16_versions_are_found_where_they_lie(
            versions in prop::collection::btree_map(
                prop_oneof![any::<u64>(), 0_u64..200, Just(u64::MAX)],
                any::<[u8; 16]>(),
                0..200,
            ),
            others in prop::collection::vec(any::<u64>(), 0..20),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("manifest");
            let heap = VersionRows::from_versions(versions.iter().rev().map(|(key, content)| (*key, *content)));
            let mut bytes = Vec::new();
            GraphManifest::write(heap.iter(), &[7; 32], &mut bytes).expect("memory");
            std::fs::write(&path, &bytes).expect("written");
            let kept = GraphManifest::open(&path).expect("reads").expect("is whole");
            prop_assert_eq!(kept.thesaurus, [7; 32]);
            prop_assert_eq!(kept.rows.heap_bytes(), 0);
            for rows in [&heap, &kept.rows] {
                prop_assert_eq!(&rows.iter().collect::<BTreeMap<_, _>>(), &versions);
                prop_assert_eq!(rows.len(), versions.len());
                prop_assert!(rows.iter().is_sorted_by_key(|(key, _)| key));
                for key in versions.keys().chain(&others).chain(&[0, 201]) {
                    let found = rows.place(*key).and_then(|place| rows.content(place));
                    prop_assert_eq!(found.as_ref(), versions.get(key));
                }
            }
        }
    }

    #[test]
    fn damage_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("manifest");
        let mut bytes = Vec::new();
        let versions = [(3, [1; 16]), (u64::MAX, [2; 16])];
        GraphManifest::write(versions.into_iter(), &[7; 32], &mut bytes).expect("memory");
        let opens = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            GraphManifest::open(&path).expect("reads").is_some()
        };
        assert!(opens(&bytes));
        for at in 0..bytes.len() {
            assert!(!opens(&bytes[..at]), "cut at {at}");
            let mut altered = bytes.clone();
            altered[at] ^= 1;
            assert!(!opens(&altered), "{at}");
        }
    }
}

//! What an image in object storage consists of, without I/O.
//!
//! A disk is cut into chunks of one size. A chunk that is all zeros is a hole and is not stored;
//! every other one is an object, named by its content.

use serde::{Deserialize, Serialize};

use crate::stored_name::StoredName;

/// Bytes of a chunk of a new image.
pub const CHUNK_BYTES: u64 = 4 << 20;
/// The largest chunk that is read.
const MOST_CHUNK_BYTES: u64 = 64 << 20;
/// The longest manifest that is read: a disk of some hundred TiB.
pub const MOST_MANIFEST_BYTES: u64 = 64 << 20;
const VERSION: u32 = 1;

/// What an image consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ImageManifest {
    version: u32,
    /// BLAKE3 of the disk, as 64 hexadecimal digits.
    pub digest: String,
    /// Bytes of the disk's file.
    pub bytes: u64,
    /// Bytes of each chunk but the last one.
    pub chunk_bytes: u64,
    /// Where the image came from, in words.
    pub origin: String,
    /// The chunks in order; `None` is a hole.
    pub chunks: Vec<Option<StoredName>>,
}

/// Why bytes are no manifest, or no index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoredImageError {
    /// They are no JSON of this form.
    #[error("{0}")]
    Json(String),
    /// A later program wrote them.
    #[error("it is of version {0}, which a later vm-manager wrote")]
    Version(u32),
    /// They contradict themselves.
    #[error("{0}")]
    Wrong(&'static str),
}

impl ImageManifest {
    /// Of a disk of so many bytes.
    #[must_use]
    pub fn new(
        digest: String,
        bytes: u64,
        origin: String,
        chunks: Vec<Option<StoredName>>,
    ) -> Self {
        Self {
            version: VERSION,
            digest,
            bytes,
            chunk_bytes: CHUNK_BYTES,
            origin,
            chunks,
        }
    }

    /// Reads and checks one.
    ///
    /// # Errors
    /// [`StoredImageError`].
    pub fn parse(json: &[u8]) -> Result<Self, StoredImageError> {
        let manifest: Self = read_version(json, VERSION)?;
        if !(1..=MOST_CHUNK_BYTES).contains(&manifest.chunk_bytes) {
            return Err(StoredImageError::Wrong("its chunks have no possible size"));
        }
        if manifest.bytes.div_ceil(manifest.chunk_bytes) != manifest.chunks.len() as u64 {
            return Err(StoredImageError::Wrong("its chunks are not its disk's"));
        }
        Ok(manifest)
    }

    /// As it is stored.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("texts and numbers are always JSON")
    }

    /// Where a chunk begins, and its length.
    #[must_use]
    pub fn range(&self, index: usize) -> (u64, u64) {
        chunk_range(self.bytes, self.chunk_bytes, index)
    }
}

/// Where a chunk of a disk begins, and its length.
#[must_use]
pub fn chunk_range(bytes: u64, chunk_bytes: u64, index: usize) -> (u64, u64) {
    let from = (index as u64).saturating_mul(chunk_bytes).min(bytes);
    (from, chunk_bytes.min(bytes - from))
}

/// Reads JSON of one version; the version is looked at first.
pub(crate) fn read_version<T: for<'de> Deserialize<'de>>(
    json: &[u8],
    version: u32,
) -> Result<T, StoredImageError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let failed = |error: serde_json::Error| StoredImageError::Json(error.to_string());
    let found: Versioned = serde_json::from_slice(json).map_err(failed)?;
    if found.version != version {
        return Err(StoredImageError::Version(found.version));
    }
    serde_json::from_slice(json).map_err(failed)
}

/// Bytes that a fetch would leave free fewer of than are to stay free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskShortage {
    /// Bytes that are to be written.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
    /// Bytes that are to stay free.
    pub keep_free: u64,
}

/// Whether so many bytes may be written.
///
/// # Errors
/// [`DiskShortage`] where too few would stay free.
pub fn disk_room(needed: u64, free: u64, keep_free: u64) -> Result<(), DiskShortage> {
    if free.saturating_sub(needed) >= keep_free {
        return Ok(());
    }
    Err(DiskShortage {
        needed,
        free,
        keep_free,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> StoredName {
        let text = format!("{}-{}", "a".repeat(64), "1".repeat(32));
        text.parse().unwrap()
    }

    #[test]
    fn i18_a_manifest_is_read_as_it_was_written_and_nothing_else_is() {
        let chunks = vec![Some(name()), None, Some(name())];
        let bytes = 2 * CHUNK_BYTES + 7;
        let manifest = ImageManifest::new("d".repeat(64), bytes, "built".to_owned(), chunks);
        let json = manifest.to_json();
        assert_eq!(ImageManifest::parse(&json).unwrap(), manifest);
        let ranges: Vec<_> = (0..3).map(|index| manifest.range(index)).collect();
        let expected = [
            (0, CHUNK_BYTES),
            (CHUNK_BYTES, CHUNK_BYTES),
            (2 * CHUNK_BYTES, 7),
        ];
        assert_eq!(ranges, expected);
        let text = String::from_utf8(json).unwrap();
        for (from, to, error) in [
            ("\"version\":1", "\"version\":2", "of version 2"),
            (
                "\"chunk_bytes\":4194304",
                "\"chunk_bytes\":0",
                "no possible size",
            ),
            (",null", "", "not its disk's"),
            ("aaaa-", "aaaz-", "no name of an object"),
            ("\"origin\"", "\"orgin\"", "orgin"),
        ] {
            let wrong = text.replacen(from, to, 1);
            assert_ne!(wrong, text, "{from}");
            let refused = ImageManifest::parse(wrong.as_bytes()).unwrap_err();
            assert!(refused.to_string().contains(error), "{refused}");
        }
    }

    #[test]
    fn i18_a_fetch_leaves_free_what_is_to_stay_free() {
        for (needed, free, keep_free, fits) in [
            (0, 0, 0, true),
            (10, 15, 5, true),
            (11, 15, 5, false),
            (20, 15, 0, true),
            (20, 15, 1, false),
            (0, 4, 5, false),
        ] {
            let room = disk_room(needed, free, keep_free);
            assert_eq!(room.is_ok(), fits, "{needed} {free} {keep_free}");
        }
    }
}

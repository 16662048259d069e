//! A disk as chunks: cut, compressed, and back.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use vm_core::image_manifest::chunk_range;

use super::store::digest_of;
use super::{ImageError, ImageStore, files};

/// How hard is compressed: some 300 MB a second and processor.
const LEVEL: i32 = 3;

/// The disk of a stored image, to be read in chunks.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    path: PathBuf,
    bytes: u64,
    origin: String,
}

impl ImageStore {
    /// The disk of the image of this digest, compared with it.
    ///
    /// # Errors
    /// [`ImageError::Unknown`], [`ImageError::OtherDisk`] when the disk was changed.
    pub fn open_disk(&self, digest: &str) -> Result<DiskFile, ImageError> {
        let image = self.by_digest(digest)?;
        let found = digest_of(&image.disk)?;
        if found != digest {
            let expected = digest.to_owned();
            return Err(ImageError::OtherDisk { expected, found });
        }
        let file = File::open(&image.disk).map_err(files("opening", &image.disk))?;
        let metadata = file.metadata().map_err(files("reading", &image.disk))?;
        Ok(DiskFile {
            file,
            path: image.disk.clone(),
            bytes: metadata.len(),
            origin: self.origin(digest).unwrap_or_default(),
        })
    }
}

impl DiskFile {
    /// The length of the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where it came from, in words.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// A chunk; `None` where it is all zeros.
    ///
    /// # Errors
    /// [`ImageError::Files`].
    pub fn chunk(&self, chunk_bytes: u64, index: usize) -> Result<Option<Vec<u8>>, ImageError> {
        let (from, length) = chunk_range(self.bytes, chunk_bytes, index);
        let bytes = read_range(&self.file, &self.path, (from, length))?;
        Ok((!is_zero(&bytes)).then_some(bytes))
    }
}

pub(super) fn read_range(
    file: &File,
    path: &Path,
    (from, length): (u64, u64),
) -> Result<Vec<u8>, ImageError> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
    let read = file.read_exact_at(&mut bytes, from);
    read.map_err(files("reading", path)).map(|()| bytes)
}

fn is_zero(bytes: &[u8]) -> bool {
    let is_zero = |block: &[u8]| block.iter().fold(0, |all, byte| all | byte) == 0;
    bytes.chunks(4096).all(is_zero)
}

/// A chunk as it is stored.
///
/// # Errors
/// What zstd says.
pub fn compressed(chunk: &[u8]) -> io::Result<Vec<u8>> {
    zstd::bulk::compress(chunk, LEVEL)
}

/// A stored chunk, if it becomes exactly `length` bytes of this BLAKE3 digest; `None`: it is
/// damaged. No more than that is unpacked, whatever it holds.
#[must_use]
pub fn decompressed(stored: &[u8], length: u64, digest: &str) -> Option<Vec<u8>> {
    let mut chunk = Vec::new();
    let unpacked = zstd::stream::read::Decoder::new(stored).ok()?;
    unpacked.take(length + 1).read_to_end(&mut chunk).ok()?;
    let is_whole = chunk.len() as u64 == length;
    (is_whole && blake3::hash(&chunk).to_hex().as_str() == digest).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_a_chunk_comes_back_as_it_was_or_not_at_all() {
        let chunk = b"some bytes ".repeat(1000);
        let digest = blake3::hash(&chunk).to_hex().to_string();
        let stored = compressed(&chunk).unwrap();
        assert!(stored.len() < chunk.len() / 10);
        let length = chunk.len() as u64;
        assert_eq!(decompressed(&stored, length, &digest), Some(chunk));
        assert_eq!(decompressed(&stored, length - 1, &digest), None);
        assert_eq!(decompressed(&stored, length + 1, &digest), None);
        assert_eq!(decompressed(&stored[..9], length, &digest), None);
        assert_eq!(decompressed(b"no zstd", length, &digest), None);
        for at in 0..stored.len() {
            let mut damaged = stored.clone();
            damaged[at] ^= 1;
            // A bit of the header that says nothing of the content may differ.
            let read = decompressed(&damaged, length, &digest);
            assert!(read.is_none_or(|read| blake3::hash(&read).to_hex().as_str() == digest));
        }
        // A bomb: what it says beyond the length is not unpacked.
        let bomb = compressed(&vec![0; 64 << 20]).unwrap();
        assert_eq!(decompressed(&bomb, 4096, &digest), None);
    }

    #[test]
    fn i18_only_zeros_are_a_hole() {
        let mut bytes = vec![0; 10_000];
        assert!(is_zero(&bytes) && is_zero(&[]));
        bytes[9_999] = 1;
        assert!(!is_zero(&bytes));
    }
}

//! A file of an index that is read piece by piece.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use tantivy::HasLen;
use tantivy::directory::{FileHandle, OwnedBytes};

/// A file read piece by piece. Posting lists and records are read from all over large files; a map
/// would make every page around them count as this process's memory.
pub(super) struct ChunkReader {
    file: File,
    length: usize,
    /// Long pieces read lately, by where they start.
    recent: quick_cache::sync::Cache<usize, OwnedBytes, ChunkWeight>,
    ahead: Mutex<ReadAhead>,
}

/// What was read beyond what was asked for. The posting lists of words that begin alike lie one
/// behind the other, and most of them are a few bytes.
#[derive(Default)]
struct ReadAhead {
    /// Where the last piece asked for has ended.
    end: usize,
    /// Where what was read begins.
    start: usize,
    bytes: Option<OwnedBytes>,
}

impl ReadAhead {
    /// A piece, if it is part of what was read.
    fn piece(&self, range: &Range<usize>) -> Option<OwnedBytes> {
        let bytes = self.bytes.as_ref()?;
        let start = range.start.checked_sub(self.start)?;
        let end = start + range.len();
        (end <= bytes.len()).then(|| bytes.slice(start..end))
    }
}

#[derive(Clone)]
struct ChunkWeight;

impl quick_cache::Weighter<usize, OwnedBytes> for ChunkWeight {
    fn weight(&self, _: &usize, piece: &OwnedBytes) -> u64 {
        piece.len() as u64
    }
}

/// The readers of a folder that are in use. Every state of an index opens all its files, and the
/// files of a segment never change: so each is opened once, and what was read of it lately outlives
/// the changes of other documents.
#[derive(Debug, Default)]
pub(super) struct ChunkReaders(Mutex<FxHashMap<PathBuf, Weak<ChunkReader>>>);

impl ChunkReaders {
    /// The reader of a file; `None` when it is so small that it is better mapped.
    pub(super) fn open(&self, path: &Path) -> io::Result<Option<Arc<ChunkReader>>> {
        let mut readers = self.0.lock();
        if let Some(reader) = readers.get(path).and_then(Weak::upgrade) {
            return Ok(Some(reader));
        }
        let Some(reader) = ChunkReader::open(path)?.map(Arc::new) else {
            return Ok(None);
        };
        readers.retain(|_, other| other.strong_count() > 0);
        readers.insert(path.to_owned(), Arc::downgrade(&reader));
        Ok(Some(reader))
    }
}

/// Bytes of recent pieces kept, a file.
const RECENT_BYTES: u64 = 4 << 20;

/// Smaller files are mapped like the others: small changes make many of them.
const SMALL_FILE: usize = 1 << 20;

/// Shorter pieces are as quickly read as found.
const LONG_CHUNK: usize = 8 << 10;

/// Bytes that are read at once where one piece follows the other.
const AHEAD_BYTES: usize = 64 << 10;

impl ChunkReader {
    /// Opens a file; `None` when it is so small that it is better mapped.
    fn open(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path)?;
        let length = file.metadata()?.len() as usize;
        if length < SMALL_FILE {
            return Ok(None);
        }
        let recent = quick_cache::sync::Cache::with_weighter(128, RECENT_BYTES, ChunkWeight);
        Ok(Some(Self {
            file,
            length,
            recent,
            ahead: Mutex::default(),
        }))
    }

    fn read(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        #[cfg(test)]
        tests::READ.set(tests::READ.get() + range.len());
        let mut bytes = Vec::with_capacity(range.len());
        while bytes.len() < range.len() {
            let at = (range.start + bytes.len()) as u64;
            if rustix::io::pread(&self.file, rustix::buffer::spare_capacity(&mut bytes), at)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        bytes.truncate(range.len());
        Ok(OwnedBytes::new(bytes))
    }

    /// Reads a short piece, and more where it follows the one before it.
    fn read_short(&self, range: Range<usize>, ahead: &mut ReadAhead) -> io::Result<OwnedBytes> {
        let is_next = range.start == ahead.end;
        ahead.end = range.end;
        if let Some(piece) = ahead.piece(&range) {
            return Ok(piece);
        }
        if !is_next {
            return self.read(range);
        }
        let end = (range.start + AHEAD_BYTES).min(self.length);
        let bytes = self.read(range.start..end.max(range.end))?;
        let piece = bytes.slice(0..range.len());
        (ahead.start, ahead.bytes) = (range.start, Some(bytes));
        Ok(piece)
    }
}

impl std::fmt::Debug for ChunkReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChunkReader")
            .field("length", &self.length)
            .finish_non_exhaustive()
    }
}

impl HasLen for ChunkReader {
    fn len(&self) -> usize {
        self.length
    }
}

impl FileHandle for ChunkReader {
    fn read_bytes(&self, range: Range<usize>) -> io::Result<OwnedBytes> {
        // Another thread that reads the file is not waited for.
        let ahead = self.ahead.try_lock();
        if range.len() < LONG_CHUNK {
            return match ahead {
                Some(mut ahead) => self.read_short(range, &mut ahead),
                None => self.read(range),
            };
        }
        if let Some(mut ahead) = ahead {
            ahead.end = range.end;
        }
        if let Some(piece) = self.recent.get(&range.start)
            && piece.len() == range.len()
        {
            return Ok(piece);
        }
        let piece = self.read(range.clone())?;
        self.recent.insert(range.start, piece.clone());
        Ok(piece)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// Bytes that were read of files.
        pub(super) static READ: Cell<usize> = const { Cell::new(0) };
    }

    /// Each change opens all files of the index again.
    #[test]
    fn i16_what_was_read_of_a_file_is_not_read_again_after_it_is_opened_once_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("segment.idx");
        let readers = ChunkReaders::default();
        for length in [SMALL_FILE, 4 * SMALL_FILE] {
            std::fs::write(&path, vec![7; length]).expect("written");
            let open = || readers.open(&path).expect("opens").expect("is large");
            let piece = length / 4..length / 4 + length / 16;
            let first = open();
            let bytes = first.read_bytes(piece.clone()).expect("is read");
            READ.set(0);
            let second = open();
            assert_eq!(second.read_bytes(piece.clone()).expect("is read"), bytes);
            assert_eq!(READ.get(), 0, "of {length}");
            // Nobody uses it any more: it is opened anew.
            drop((first, second));
            open().read_bytes(piece.clone()).expect("is read");
            assert_eq!(READ.get(), piece.len());
            assert_eq!(readers.0.lock().len(), 1);
        }
        std::fs::write(&path, b"small").expect("written");
        assert!(readers.open(&path).expect("opens").is_none());
    }

    #[test]
    fn i16_pieces_one_behind_the_other_are_read_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let bytes: Vec<u8> = (0..SMALL_FILE + 100).map(|at| (at * 7 / 3) as u8).collect();
        std::fs::write(&path, &bytes).expect("written");
        let reader = ChunkReader::open(&path).expect("opens").expect("is large");
        let last = bytes.len();
        let pieces = [
            5..9,
            9..20,
            20..25,
            25..25 + LONG_CHUNK,
            25 + LONG_CHUNK..60 + LONG_CHUNK,
            70_000..70_100,
            70_100..70_101,
            3..4,
            last - 9..last - 5,
            last - 5..last,
        ];
        for piece in pieces {
            let read = reader.read_bytes(piece.clone()).expect("is read");
            assert_eq!(read.as_slice(), &bytes[piece.clone()], "{piece:?}");
            if piece.start == 9 {
                let ahead = reader.ahead.lock();
                assert_eq!(
                    ahead.bytes.as_ref().map(|bytes| bytes.len()),
                    Some(AHEAD_BYTES)
                );
                assert!(ahead.piece(&(20..25)).is_some());
            }
        }
    }
}

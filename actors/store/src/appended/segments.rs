//! The files that pieces lie in.

use parking_lot::Mutex;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Numbered segments of bytes. One writer, any number of readers.
pub trait SegmentStorage: Debug + Send + Sync {
    /// Writes `parts` one behind the other from `at`, whatever stood there, into a segment that need not exist; durable
    /// on `Ok`. After an error anything may stand from `at` on, but nothing before it has changed.
    ///
    /// # Errors
    /// The disk's.
    fn write(&self, segment: u32, at: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Fills `out` from `at`.
    ///
    /// # Errors
    /// `NotFound` without the segment, `UnexpectedEof` if it is too short; otherwise the disk's.
    fn read(&self, segment: u32, at: u64, out: &mut [u8]) -> io::Result<()>;

    /// The segments there are.
    ///
    /// # Errors
    /// The disk's.
    fn list(&self) -> io::Result<Vec<u32>>;

    /// Removes a segment; one that is not there is no error.
    ///
    /// # Errors
    /// The disk's.
    fn remove(&self, segment: u32) -> io::Result<()>;
}

/// Segments as files of a folder, which comes into being with the first.
#[derive(Debug)]
pub struct SegmentFolder {
    folder: PathBuf,
    /// The segment written last. Forgotten after an error, so that the next write begins anew.
    current: Mutex<Option<(u32, File)>>,
}

const ENDING: &str = ".pieces";

impl SegmentFolder {
    /// The segments in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        let current = Mutex::new(None);
        Self { folder, current }
    }

    fn path(&self, segment: u32) -> PathBuf {
        self.folder.join(format!("{segment:010}{ENDING}"))
    }

    /// The segment's file. The name of a new one is made durable before anything is written to it.
    fn open(&self, segment: u32) -> io::Result<File> {
        let path = self.path(segment);
        let mut options = OpenOptions::new();
        options.write(true);
        match options.open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            known => return known,
        }
        if !self.folder.exists() {
            std::fs::create_dir_all(&self.folder)?;
            sync_folder(self.folder.parent().unwrap_or(Path::new(".")))?;
        }
        let file = options.create(true).truncate(true).open(&path)?;
        sync_folder(&self.folder)?;
        Ok(file)
    }
}

impl SegmentStorage for SegmentFolder {
    fn write(&self, segment: u32, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let mut current = self.current.lock();
        let mut file = match current.take() {
            Some((number, file)) if number == segment => file,
            _ => self.open(segment)?,
        };
        file.seek(SeekFrom::Start(at))?;
        write_all(&mut file, parts)?;
        file.sync_data()?;
        *current = Some((segment, file));
        Ok(())
    }

    fn read(&self, segment: u32, at: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = File::open(self.path(segment))?;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(out)
    }

    fn list(&self) -> io::Result<Vec<u32>> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut segments = Vec::new();
        for entry in entries {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| name.strip_suffix(ENDING));
            segments.extend(number.and_then(|number| number.parse::<u32>().ok()));
        }
        Ok(segments)
    }

    fn remove(&self, segment: u32) -> io::Result<()> {
        match std::fs::remove_file(self.path(segment)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Writes all parts, with as few calls as the system takes.
fn write_all(file: &mut File, parts: &[&[u8]]) -> io::Result<()> {
    let mut slices: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
    let mut left = slices.as_mut_slice();
    // Without parts of no bytes, so that nothing written is an error.
    IoSlice::advance_slices(&mut left, 0);
    while !left.is_empty() {
        match file.write_vectored(left) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut left, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stand_one_behind_the_other_and_what_stood_there_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let segments = SegmentFolder::new(folder.path().join("pieces"));
        assert_eq!(segments.list().unwrap(), []);
        let many: Vec<Vec<u8>> = (0..3000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
        let parts: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        segments.write(7, 0, &[b"long ago"]).unwrap();
        segments.write(7, 4, &parts).unwrap();
        segments.write(8, 0, &[b"", b"next", b""]).unwrap();
        segments.write(7, 0, &[b"here"]).unwrap();
        let mut out = vec![0; 4 + 12_000];
        segments.read(7, 0, &mut out).unwrap();
        assert!(out == [b"here".to_vec(), many.concat()].concat());
        let mut listed = segments.list().unwrap();
        listed.sort_unstable();
        assert_eq!(listed, [7, 8]);
    }

    #[test]
    fn what_is_not_there_is_said_by_kind() {
        let folder = tempfile::tempdir().unwrap();
        let segments = SegmentFolder::new(folder.path().join("pieces"));
        segments.write(1, 0, &[b"abc"]).unwrap();
        let kind = |segment, at| {
            let read = segments.read(segment, at, &mut [0; 2]);
            read.unwrap_err().kind()
        };
        assert_eq!(kind(1, 2), ErrorKind::UnexpectedEof);
        assert_eq!(kind(2, 0), ErrorKind::NotFound);
        segments.remove(2).unwrap();
        segments.remove(1).unwrap();
        assert_eq!(kind(1, 0), ErrorKind::NotFound);
    }
}

//! The files that blobs lie in.

use super::direct_io::{self, AlignedBuffer, PAGE_BYTES};
use crate::file_identity::FileIdentity;
use parking_lot::Mutex;
use std::fmt::Debug;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Numbered segments of bytes. One writer, any number of readers.
pub trait SegmentStorage: Debug + Send + Sync {
    /// Writes `parts` one behind the other from `at`, whatever stood there, into a segment that
    /// need not exist if it is written from its beginning; durable on `Ok`. Up to the end of the
    /// last page of 4 KiB, zeros may follow them. After an error anything may stand from `at` on,
    /// but nothing before it has changed.
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

    /// Bytes in a segment: needed to copy it into another store.
    ///
    /// # Errors
    /// `NotFound` without the segment, `Unsupported` where it cannot be told; otherwise the disk's.
    fn len(&self, segment: u32) -> io::Result<u64> {
        let _ = segment;
        Err(ErrorKind::Unsupported.into())
    }

    /// Looks whether what was written last is still there.
    ///
    /// # Errors
    /// What became of it.
    fn check(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Segments as files of a folder, which comes into being with the first.
#[derive(Debug)]
pub struct SegmentDirectory {
    folder: PathBuf,
    writer: Mutex<Writer>,
}

/// What writing needs.
#[derive(Debug, Default)]
struct Writer {
    /// The segment written last. Forgotten after an error, so that the next write begins anew.
    current: Option<(u32, SegmentFile)>,
    /// Of the segment that was written last, also after an error.
    last: Option<(u32, FileIdentity)>,
    buffer: AlignedBuffer,
}

/// A segment open for writing.
#[derive(Debug)]
struct SegmentFile {
    file: File,
    /// The same file for direct I/O writes, where its file system has such.
    direct: Option<File>,
}

const ENDING: &str = ".pieces";

impl SegmentDirectory {
    /// The segments in `folder`.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        let writer = Mutex::default();
        Self { folder, writer }
    }

    fn path(&self, segment: u32) -> PathBuf {
        self.folder.join(format!("{segment:010}{ENDING}"))
    }

    /// A segment that holds something already, since `at` is not its beginning, is not made anew.
    fn open(&self, segment: u32, at: u64) -> io::Result<SegmentFile> {
        let path = self.path(segment);
        let file = if at == 0 {
            self.open_or_create(&path)?
        } else {
            let file = OpenOptions::new().write(true).open(&path);
            file.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?
        };
        let direct = direct_io::open(&path).ok();
        Ok(SegmentFile { file, direct })
    }

    /// The name of a new file is made durable before anything is written to it.
    fn open_or_create(&self, path: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.write(true);
        match options.open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            known => return known,
        }
        if !self.folder.exists() {
            std::fs::create_dir_all(&self.folder)?;
            sync_directory(self.folder.parent().unwrap_or(Path::new(".")))?;
        }
        let file = options.create(true).truncate(true).open(path)?;
        sync_directory(&self.folder)?;
        Ok(file)
    }
}

impl SegmentFile {
    fn write(&mut self, at: u64, parts: &[&[u8]], buffer: &mut AlignedBuffer) -> io::Result<()> {
        if let Some(direct) = &self.direct
            && at.is_multiple_of(PAGE_BYTES)
        {
            match buffer.write(direct, at, parts) {
                // Its disk wants it otherwise.
                Err(error) if error.kind() == ErrorKind::InvalidInput => self.direct = None,
                written => return written,
            }
        }
        self.file.seek(SeekFrom::Start(at))?;
        write_all(&mut self.file, parts)
    }
}

impl SegmentStorage for SegmentDirectory {
    fn write(&self, segment: u32, at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let Writer {
            current,
            last,
            buffer,
        } = &mut *self.writer.lock();
        let same = last.as_ref().filter(|(number, _)| *number == segment);
        same.map_or(Ok(()), |(_, identity)| identity.check())?;
        let mut open = match current.take() {
            Some((number, open)) if number == segment => open,
            _ => self.open(segment, at)?,
        };
        open.write(at, parts, buffer)?;
        open.file.sync_data()?;
        let identity = match last.take() {
            Some((number, identity)) if number == segment => identity,
            _ => FileIdentity::from_file(&self.path(segment), &open.file)?,
        };
        let there = identity.check();
        *last = Some((segment, identity));
        there?;
        *current = Some((segment, open));
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        let writer = self.writer.lock();
        let last = writer.last.as_ref();
        last.map_or(Ok(()), |(_, identity)| identity.check())
    }

    fn read(&self, segment: u32, at: u64, out: &mut [u8]) -> io::Result<()> {
        let mut file = File::open(self.path(segment))?;
        file.seek(SeekFrom::Start(at))?;
        file.read_exact(out)
    }

    fn len(&self, segment: u32) -> io::Result<u64> {
        Ok(std::fs::metadata(self.path(segment))?.len())
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
        self.writer
            .lock()
            .last
            .take_if(|(last, _)| *last == segment);
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
fn sync_directory(folder: &Path) -> io::Result<()> {
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
        let segments = SegmentDirectory::new(folder.path().join("pieces"));
        assert!(segments.list().unwrap().is_empty());
        let many: Vec<Vec<u8>> = (0..3000_u32).map(|n| n.to_le_bytes().to_vec()).collect();
        let parts: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
        segments.write(7, 0, &[b"long ago"]).unwrap();
        segments.write(7, 4, &parts).unwrap();
        segments.write(8, 0, &[b"", b"next", b""]).unwrap();
        let mut out = vec![0; 4 + 12_000];
        segments.read(7, 0, &mut out).unwrap();
        assert!(out == [b"long".to_vec(), many.concat()].concat());
        segments.write(7, 0, &[b"here"]).unwrap();
        segments.read(7, 0, &mut out).unwrap();
        assert!(out[..4] == *b"here" && out[4096..] == many.concat()[4092..]);
        let mut listed = segments.list().unwrap();
        listed.sort_unstable();
        assert_eq!(listed, [7, 8]);
    }

    #[test]
    fn many_pages_come_back_even_if_the_cache_knew_others() {
        let folder = tempfile::tempdir().unwrap();
        let segments = SegmentDirectory::new(folder.path().join("pieces"));
        let sizes = [0, 1, 4095, 4096, 28_000, 1_048_576, 3_000_000, 7];
        let parts = sizes.map(|size| (0..size).map(|n| (n * 31 / 7) as u8).collect::<Vec<u8>>());
        let all = parts.concat();
        let mut out = vec![0; all.len()];
        segments.write(0, 0, &[&vec![1; 8192 + all.len()]]).unwrap();
        segments.read(0, 8192, &mut out).unwrap();
        segments
            .write(0, 8192, &parts.each_ref().map(Vec::as_slice))
            .unwrap();
        segments.read(0, 8192, &mut out).unwrap();
        assert!(out == all);
        // What was gathered is aligned: it was not refused where it was asked for.
        let is_open = direct_io::open(&segments.path(0)).is_ok();
        let current = &segments.writer.lock().current;
        let is_direct = current
            .as_ref()
            .is_some_and(|(_, open)| open.direct.is_some());
        assert_eq!(is_direct, is_open);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_disk_that_refuses_direct_io_is_written_through_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("segment");
        // A file whose writes are invalid arguments, whatever their alignment.
        let refusing = OpenOptions::new()
            .write(true)
            .open("/proc/self/oom_score_adj")
            .unwrap();
        let mut segment = SegmentFile {
            file: File::create(&path).unwrap(),
            direct: Some(refusing),
        };
        let mut buffer = AlignedBuffer::default();
        segment
            .write(4096, &[b"all ", b"of it"], &mut buffer)
            .unwrap();
        assert!(segment.direct.is_none(), "it is not asked again");
        assert_eq!(std::fs::read(&path).unwrap()[4096..], *b"all of it");
    }

    #[test]
    fn what_is_not_there_is_said_by_kind() {
        let folder = tempfile::tempdir().unwrap();
        let segments = SegmentDirectory::new(folder.path().join("pieces"));
        segments.write(1, 0, &[b"abc"]).unwrap();
        let kind = |segment, at| {
            let read = segments.read(segment, at, &mut [0; 2]);
            read.unwrap_err().kind()
        };
        assert_eq!(kind(1, PAGE_BYTES - 1), ErrorKind::UnexpectedEof);
        assert_eq!(kind(2, 0), ErrorKind::NotFound);
        segments.remove(2).unwrap();
        segments.remove(1).unwrap();
        assert_eq!(kind(1, 0), ErrorKind::NotFound);
    }
}

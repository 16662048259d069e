//! Reading one file: bounded, never blocking, and aware of writers.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::root::RootDirectory;
use super::skip::SkipReason;

/// Bytes that are looked at to tell text from other content.
pub(crate) const PROBE_BYTES: usize = 8 * 1024;

/// How often a file that changes while it is read is read again.
const ATTEMPTS: usize = 3;

/// The content of a file and the facts it had **before** it was read.
///
/// If a writer was faster than all attempts, these facts are older than the content: the next
/// comparison sees a change and reads again, so nothing is missed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileBytes {
    /// The whole content.
    pub bytes: Vec<u8>,
    /// Size in bytes, as the file system gave it.
    pub size: u64,
    /// Modification time in nanoseconds since the Unix epoch.
    pub mtime_ns: i64,
    /// A hash of the content that is known without reading it.
    pub hash: Option<[u8; 16]>,
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileFacts {
    /// Identity inside the source, see `encode_key`; [`RootDirectory::path_of`] leads back.
    pub key: String,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last modification in nanoseconds since the Unix epoch (negative before it).
    pub mtime_ns: i64,
    /// A hash of its content where that is known; it decides then, not size and time.
    pub hash: Option<[u8; 16]>,
}

impl RootDirectory {
    /// Reads a whole file of at most `limit` bytes; stops after the first 8 KiB where `reject`
    /// says that they are not worth the rest.
    ///
    /// # Errors
    /// The reason to skip the file.
    pub fn read(
        &self,
        key: &str,
        limit: u64,
        reject: impl Fn(&[u8]) -> bool,
    ) -> Result<FileBytes, SkipReason> {
        let mut file = self.open_file(key)?;
        let mut before = regular(&file)?;
        for attempt in 1.. {
            let bytes = read_once(&mut file, before.len(), limit, &reject)?;
            let after = regular(&file)?;
            let unchanged = stamp(&after) == stamp(&before);
            if unchanged || attempt == ATTEMPTS {
                let (size, mtime_ns) = stamp(&before);
                return Ok(FileBytes {
                    bytes,
                    size,
                    mtime_ns,
                    hash: None,
                });
            }
            before = after;
            std::io::Seek::rewind(&mut file).map_err(|error| SkipReason::from_io_error(&error))?;
        }
        unreachable!("the last attempt returns")
    }

    /// The current facts of a regular file: its size and modification time.
    ///
    /// # Errors
    /// The reason to skip the path.
    pub fn facts(&self, key: &str) -> Result<FileFacts, SkipReason> {
        let path = self.path_of(key).ok_or(SkipReason::Vanished)?;
        let data = path
            .symlink_metadata()
            .map_err(|error| SkipReason::from_io_error(&error))?;
        if data.is_symlink() {
            return Err(self.link_reason(&path));
        }
        if !data.is_file() {
            return Err(SkipReason::NotARegularFile);
        }
        let (size, mtime_ns) = stamp(&data);
        Ok(FileFacts {
            key: key.to_owned(),
            size,
            mtime_ns,
            hash: None,
        })
    }
}

fn regular(file: &File) -> Result<Metadata, SkipReason> {
    let data = file
        .metadata()
        .map_err(|error| SkipReason::from_io_error(&error))?;
    data.is_file()
        .then_some(data)
        .ok_or(SkipReason::NotARegularFile)
}

fn read_once(
    file: &mut File,
    size: u64,
    limit: u64,
    reject: &impl Fn(&[u8]) -> bool,
) -> Result<Vec<u8>, SkipReason> {
    if size > limit {
        return Err(SkipReason::TooLarge);
    }
    // One byte of room more than the file says it has: a read that leaves it free is the last one.
    let room = usize::try_from(size)
        .unwrap_or(usize::MAX)
        .saturating_add(1);
    let mut bytes = Vec::with_capacity(room);
    let failed = |error: std::io::Error| SkipReason::from_io_error(&error);
    file.by_ref()
        .take(PROBE_BYTES as u64)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if reject(&bytes) {
        return Err(SkipReason::Binary);
    }
    if bytes.len() == PROBE_BYTES {
        let more = (limit + 1).saturating_sub(PROBE_BYTES as u64);
        file.by_ref()
            .take(more)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    }
    if bytes.len() as u64 > limit {
        Err(SkipReason::TooLarge)
    } else {
        Ok(bytes)
    }
}

/// Whether a file may be read, as far as its permissions tell. The system is asked only where not
/// everybody may.
pub(super) fn may_read(path: &Path, data: &Metadata) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let refused = || accessat(CWD, path, Access::READ_OK, AtFlags::EACCESS);
    let is_for_all = data.mode() & 0o004 != 0;
    is_for_all || refused() != Err(rustix::io::Errno::ACCESS)
}

fn stamp(data: &Metadata) -> (u64, i64) {
    (data.len(), mtime_ns(data))
}

/// Modification time in nanoseconds since the Unix epoch, clamped to what 64 bits hold.
pub(super) fn mtime_ns(data: &Metadata) -> i64 {
    data.mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(data.mtime_nsec())
}

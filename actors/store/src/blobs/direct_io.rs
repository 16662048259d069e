//! Direct I/O writes.
//!
//! Blobs are written once and read seldom: a copy of them in the page cache costs more processor
//! time than everything else about their write, and takes the place of what is read often. The disk
//! takes whole pages out of aligned memory instead, so parts are gathered there first. See
//! `open(2)`, `O_DIRECT`.

/// Groups begin at multiples of this: the page of the page cache and of most disks.
pub(crate) const PAGE_BYTES: u64 = 4096;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

const PAGE: usize = PAGE_BYTES as usize;
/// Most bytes of one write.
const ROOM: usize = 1024 * 1024;

/// Opens a file that is there for such writes; an error where its file system has none.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    with_direct_io(options.write(true))?.open(path)
}

#[cfg(target_os = "linux")]
fn with_direct_io(options: &mut OpenOptions) -> io::Result<&mut OpenOptions> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let flag = rustix::fs::OFlags::DIRECT.bits();
    Ok(options.custom_flags(flag.cast_signed()))
}

#[cfg(not(target_os = "linux"))]
fn with_direct_io(_: &mut OpenOptions) -> io::Result<&mut OpenOptions> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Aligned memory that parts are gathered in, made with the first write.
#[derive(Debug, Default)]
pub(super) struct AlignedBuffer {
    memory: Vec<u8>,
    /// Where the aligned part of `memory` begins.
    start: usize,
    /// How much of it is filled.
    filled: usize,
}

impl AlignedBuffer {
    /// Writes `parts` one behind the other from `at`, a whole number of pages, and fills the last
    /// page with zeros.
    pub(super) fn write(&mut self, file: &File, mut at: u64, parts: &[&[u8]]) -> io::Result<()> {
        self.make_room();
        self.filled = 0;
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                rest = self.take(rest);
                if self.filled == ROOM {
                    at = self.flush(file, at)?;
                }
            }
        }
        self.flush(file, at).map(|_| ())
    }

    fn make_room(&mut self) {
        if self.memory.is_empty() {
            self.memory = vec![0; ROOM + PAGE];
            self.start = self.memory.as_ptr().align_offset(PAGE);
        }
    }

    /// Gathers what there is room for; the rest comes back.
    fn take<'a>(&mut self, part: &'a [u8]) -> &'a [u8] {
        let (now, later) = part.split_at(part.len().min(ROOM - self.filled));
        let from = self.start + self.filled;
        self.memory[from..from + now.len()].copy_from_slice(now);
        self.filled += now.len();
        later
    }

    /// Writes what was gathered; tells where the next write begins.
    fn flush(&mut self, file: &File, at: u64) -> io::Result<u64> {
        let whole = self.filled.next_multiple_of(PAGE);
        let pages = &mut self.memory[self.start..self.start + whole];
        pages[self.filled..].fill(0);
        write_all_at(file, pages, at)?;
        self.filled = 0;
        Ok(at + whole as u64)
    }
}

#[cfg(unix)]
fn write_all_at(file: &File, bytes: &[u8], at: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, at)
}

#[cfg(not(unix))]
fn write_all_at(_: &File, _: &[u8], _: u64) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

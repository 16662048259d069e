//! Which files of a work tree git tracks, read from its index without running git: a look at a
//! folder must not start a process, nor anything that a repository's configuration names.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Bytes of an entry before the name of its object: times, numbers, mode, size.
const STAT_BYTES: usize = 40;

/// Where the mode stands among them.
const MODE_AT: usize = 24;

/// Lengths of objects' names: SHA-1 and SHA-256.
const ID_BYTES: [usize; 2] = [20, 32];

/// A path is no longer.
const MAX_PATH_BYTES: usize = 64 * 1024;

/// A file that leads to a git folder holds no more.
const MAX_LINK_BYTES: u64 = 64 * 1024;

/// The index of a work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrackedFiles {
    /// The folder git keeps for the work tree, with the file `index` in it.
    git_folder: PathBuf,
}

impl TrackedFiles {
    /// The name of the file in [`git_folder`](Self::git_folder) that says what is tracked.
    pub const INDEX: &str = "index";

    /// The index of the work tree at `folder`, which holds `.git`: a folder, or a file that leads
    /// to one, as linked work trees and submodules have it. `None` where there is none.
    #[must_use]
    pub fn load(folder: &Path) -> Option<Self> {
        let dot_git = folder.join(".git");
        let kind = dot_git.symlink_metadata().ok()?.file_type();
        if kind.is_dir() {
            return Some(Self {
                git_folder: dot_git,
            });
        }
        let mut text = String::new();
        let file = open(&dot_git).ok()?;
        file.take(MAX_LINK_BYTES).read_to_string(&mut text).ok()?;
        let target = text.strip_prefix("gitdir:")?.trim();
        Some(Self {
            git_folder: folder.join(target),
        })
    }

    /// The folder git keeps for the work tree.
    #[must_use]
    pub fn git_folder(&self) -> &Path {
        &self.git_folder
    }

    /// Gives each file that is tracked, by its path from the top of the work tree. Links and
    /// commits of other repositories are none.
    ///
    /// # Errors
    /// The index cannot be read, or is of a kind that is not known.
    pub fn visit_all(&self, mut found: impl FnMut(&Path)) -> io::Result<()> {
        let shared = self.read(&self.git_folder.join(Self::INDEX), &mut found)?;
        match shared {
            Some(name) => self.read(&self.git_folder.join(name), &mut found).map(drop),
            None => Ok(()),
        }
    }

    /// Reads one index; gives the name of another that holds the rest of it.
    fn read(&self, path: &Path, found: &mut impl FnMut(&Path)) -> io::Result<Option<String>> {
        let mut shared = None;
        for (attempt, id_bytes) in ID_BYTES.into_iter().enumerate() {
            let mut index = Reader::open(path, id_bytes)?;
            // The length of the names is said in the configuration only; a wrong one shows at the
            // first entry, before anything was given.
            match index.entries(found) {
                Err(_) if index.given == 0 && attempt + 1 < ID_BYTES.len() => {}
                done => {
                    done?;
                    shared = index.shared()?;
                    break;
                }
            }
        }
        Ok(shared)
    }
}

/// A regular file, and nothing that could be waited for.
fn open(path: &Path) -> io::Result<File> {
    // O_NONBLOCK is the same on the platforms this is built for.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC;
    let file = File::options()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(invalid_index("not a file"))
}

fn invalid_index(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// An index that is being read.
struct Reader {
    bytes: BufReader<File>,
    id_bytes: usize,
    version: u32,
    entries: u32,
    /// How many files were given.
    given: u64,
    /// The path of the last entry, of which later versions keep the beginning.
    path: Vec<u8>,
}

impl Reader {
    fn open(path: &Path, id_bytes: usize) -> io::Result<Self> {
        let mut bytes = BufReader::with_capacity(64 * 1024, open(path)?);
        let mut head = [0; 12];
        bytes.read_exact(&mut head)?;
        let (version, entries) = (number(&head[4..8]), number(&head[8..12]));
        if !head.starts_with(b"DIRC") || !(2..=4).contains(&version) {
            return Err(invalid_index("no index of git that is known"));
        }
        Ok(Self {
            bytes,
            id_bytes,
            version,
            entries,
            given: 0,
            path: Vec::new(),
        })
    }

    fn entries(&mut self, found: &mut impl FnMut(&Path)) -> io::Result<()> {
        for _ in 0..self.entries {
            let (mode, length) = self.entry()?;
            if length != 0xfff && length != self.path.len() {
                return Err(invalid_index("an entry of another length"));
            }
            let is_file = mode & 0o170_000 == 0o100_000;
            // Those of a shared index that are replaced have no name.
            if is_file && !self.path.is_empty() {
                self.given += 1;
                found(Path::new(&OsString::from_vec(self.path.clone())));
            }
        }
        Ok(())
    }

    /// Reads the next entry: its mode, and how long it says that its path is.
    fn entry(&mut self) -> io::Result<(u32, usize)> {
        let mut head = [0; STAT_BYTES + 32 + 2];
        let mut size = STAT_BYTES + self.id_bytes + 2;
        self.bytes.read_exact(&mut head[..size])?;
        let mode = number(&head[MODE_AT..MODE_AT + 4]);
        let flags = u16::from_be_bytes([head[size - 2], head[size - 1]]);
        if flags & 0x4000 != 0 {
            self.bytes.read_exact(&mut [0; 2])?;
            size += 2;
        }
        if self.version == 4 {
            let dropped = self.varint()?;
            let kept = self.path.len().checked_sub(dropped);
            let kept =
                kept.ok_or_else(|| invalid_index("an entry that keeps more than there is"))?;
            self.path.truncate(kept);
        } else {
            self.path.clear();
        }
        let limit = MAX_PATH_BYTES as u64;
        let read = (&mut self.bytes)
            .take(limit)
            .read_until(0, &mut self.path)?;
        if self.path.pop() != Some(0) || self.path.len() > MAX_PATH_BYTES {
            return Err(invalid_index("a path without an end"));
        }
        if self.version < 4 {
            // One NUL is read; more of them fill up to a multiple of eight.
            let entry = size + read;
            let fill = entry.next_multiple_of(8) - entry;
            self.bytes.read_exact(&mut [0; 8][..fill])?;
        }
        Ok((mode, usize::from(flags & 0xfff)))
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.bytes.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    /// A number as git packs offsets.
    fn varint(&mut self) -> io::Result<usize> {
        let mut byte = self.byte()?;
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.byte()?;
            value = value
                .checked_add(1)
                .and_then(|value| value.checked_mul(128))
                .map(|value| value | usize::from(byte & 0x7f))
                .filter(|value| *value <= MAX_PATH_BYTES)
                .ok_or_else(|| invalid_index("a number too large"))?;
        }
        Ok(value)
    }

    /// The name of the file that holds the other entries, where the index is split in two. What was
    /// taken out of that since is given as well: such files are mostly gone.
    fn shared(&mut self) -> io::Result<Option<String>> {
        let mut head = [0; 8];
        loop {
            // Behind the extensions comes the hash of all, which is no longer than four of these.
            if self.bytes.read_exact(&mut head).is_err() || !head[..4].is_ascii() {
                return Ok(None);
            }
            let size = u64::from(number(&head[4..]));
            if &head[..4] == b"link" {
                let mut id = vec![0; self.id_bytes];
                self.bytes.read_exact(&mut id)?;
                let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
                return Ok(Some(format!("sharedindex.{hex}")));
            }
            // The end of the file ends this, whatever a wrong size says.
            let skipped = io::copy(&mut (&mut self.bytes).take(size), &mut io::sink())?;
            if skipped < size {
                return Ok(None);
            }
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index of version 2 or 4 with these paths and modes.
    fn index(version: u32, id_bytes: usize, entries: &[(&str, u32)]) -> Vec<u8> {
        let mut bytes = b"DIRC".to_vec();
        bytes.extend(version.to_be_bytes());
        bytes.extend((entries.len() as u32).to_be_bytes());
        for (path, mode) in entries {
            let begin = bytes.len();
            bytes.extend([0; MODE_AT]);
            bytes.extend(mode.to_be_bytes());
            bytes.resize(begin + STAT_BYTES + id_bytes, 7);
            bytes.extend((path.len() as u16).to_be_bytes());
            if version == 4 {
                // Nothing is kept but for the first, which keeps nothing.
                bytes.push(if begin == 12 { 0 } else { 1 });
                bytes.extend(path.as_bytes());
                bytes.push(0);
            } else {
                bytes.extend(path.as_bytes());
                let fill = 8 - (bytes.len() - begin) % 8;
                bytes.resize(bytes.len() + fill, 0);
            }
        }
        bytes.extend([0xff; 20]);
        bytes
    }

    fn read(bytes: &[u8]) -> io::Result<Vec<String>> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join(".git"))?;
        std::fs::write(folder.path().join(".git/index"), bytes)?;
        let mut paths = Vec::new();
        let tracked = TrackedFiles::load(folder.path()).expect("a work tree");
        tracked.visit_all(|path| paths.push(path.display().to_string()))?;
        Ok(paths)
    }

    #[test]
    fn i16_files_of_an_index_are_told_links_and_submodules_are_none() {
        let entries = [
            (".github/workflows/ci.yml", 0o100_644),
            ("a", 0o100_755),
            ("link", 0o120_000),
            ("module", 0o160_000),
            ("z/very/long/name/of/a/file", 0o100_644),
        ];
        let expected = [
            ".github/workflows/ci.yml",
            "a",
            "z/very/long/name/of/a/file",
        ];
        for id_bytes in ID_BYTES {
            let found = read(&index(2, id_bytes, &entries)).expect("an index");
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn i16_what_is_no_index_is_an_error_and_ends() {
        for id_bytes in ID_BYTES {
            let whole = index(2, id_bytes, &[("abc", 0o100_644), ("def", 0o100_644)]);
            for length in 0..whole.len() - 24 {
                assert!(read(&whole[..length]).is_err(), "{length}");
            }
        }
        assert!(read(b"DIRC\0\0\0\x09\0\0\0\x01").is_err());
        // A path that keeps more than there is.
        assert!(read(&index(4, 20, &[("a", 0o100_644)])).is_ok());
        let mut wrong = index(4, 20, &[("a", 0o100_644)]);
        wrong[12 + STAT_BYTES + 22] = 9;
        assert!(read(&wrong).is_err());
    }
}

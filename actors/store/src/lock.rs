//! One process per data folder: a lock that names its holder.
//!
//! The lock itself is the operating system's (it ends with the process, however that ends); the
//! file's text only says who holds it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The lock file's name within the data folder.
const FILE: &str = "orrery.lock";

/// The lock on a data folder, held until dropped.
#[derive(Debug)]
pub struct DirectoryLock {
    /// Kept open: closing the file is what releases the lock.
    _file: File,
    path: PathBuf,
}

/// Who holds a data folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// Program name.
    pub program: String,
    /// When it took the folder, RFC 3339.
    pub started: String,
}

/// Why a data folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it, or this one a second time.
    #[error(
        "the data folder {} is in use by {} (pid {}, since {}); stop it or choose another folder",
        folder.display(), holder.program, holder.pid, holder.started
    )]
    Held {
        /// The folder.
        folder: PathBuf,
        /// Who has it.
        holder: Holder,
    },
    /// Another process has it, but its lock file does not say which.
    #[error(
        "the data folder {} is in use by a process that left no name; stop it or choose another folder",
        folder.display()
    )]
    HeldByUnknown {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder or the lock file cannot be made or locked.
    #[error("cannot lock the data folder with {}: {source}", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

impl DirectoryLock {
    /// Takes `folder`, which is made if missing, for `program`.
    ///
    /// # Errors
    /// [`LockError::Held`] with the holder's name, at once; never waits.
    pub fn take(folder: &Path, program: &str) -> Result<Self, LockError> {
        let path = folder.join(FILE);
        let failed = |source| LockError::Io {
            path: path.clone(),
            source,
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut file = open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(held(folder, &mut file)),
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        Holder::current(program).write(&mut file).map_err(failed)?;
        Ok(Self { _file: file, path })
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
}

/// The error for a lock held elsewhere. Its holder may be between taking the lock and writing its
/// name, so an unreadable text is looked at again a few times.
fn held(folder: &Path, file: &mut File) -> LockError {
    let folder = folder.to_owned();
    for _ in 0..50 {
        if let Some(holder) = Holder::read(file) {
            return LockError::Held { folder, holder };
        }
        std::thread::park_timeout(std::time::Duration::from_millis(2));
    }
    LockError::HeldByUnknown { folder }
}

impl Holder {
    /// This process, now.
    pub(crate) fn current(program: &str) -> Self {
        Self {
            pid: std::process::id(),
            program: program.replace(['\n', '\r'], " "),
            started: jiff::Timestamp::now().strftime("%FT%TZ").to_string(),
        }
    }

    fn write(&self, file: &mut File) -> io::Result<()> {
        let Self {
            pid,
            program,
            started,
        } = self;
        // One write, and `end` last: a reader can tell a whole text from a part of one.
        let text = format!("pid {pid}\nprogram {program}\nstarted {started}\nend\n");
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        file.sync_data()
    }

    fn read(file: &mut File) -> Option<Self> {
        let mut text = String::new();
        file.rewind().ok()?;
        file.take(4096).read_to_string(&mut text).ok()?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix("\nend\n")?.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
        Some(Self {
            pid: field("pid")?.parse().ok()?,
            program: field("program")?.to_owned(),
            started: field("started")?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is() {
        let folder = tempfile::tempdir().unwrap();
        let first = DirectoryLock::take(folder.path(), "search-server").unwrap();
        let error = DirectoryLock::take(folder.path(), "platform").unwrap_err();
        let LockError::Held { holder, .. } = &error else {
            panic!("{error}");
        };
        assert_eq!(holder.pid, std::process::id());
        assert_eq!(holder.program, "search-server");
        assert!(holder.started.ends_with('Z'), "{}", holder.started);
        drop(first);
        DirectoryLock::take(folder.path(), "platform").unwrap();
    }

    #[test]
    fn text_that_is_not_ours_is_not_trusted() {
        for text in [
            "",
            "pid 1\nprogram x\nstarted y\n",
            "12\nend\n",
            "pid x\nend\n",
        ] {
            assert_eq!(Holder::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_holder_without_a_name_still_refuses() {
        let folder = tempfile::tempdir().unwrap();
        let file = open(&folder.path().join(FILE)).unwrap();
        file.try_lock().unwrap();
        let error = DirectoryLock::take(folder.path(), "platform").unwrap_err();
        assert!(matches!(error, LockError::HeldByUnknown { .. }), "{error}");
    }
}

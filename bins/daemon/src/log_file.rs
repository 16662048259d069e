//! A log in a file that does not grow without end: at its limit it becomes `NAME.1`, and a new one
//! begins.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Where a file ends, in bytes.
const LIMIT: u64 = 16 << 20;

/// The file that is written now.
pub(crate) struct LogFile {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
}

impl LogFile {
    /// Goes on with the file at `path`; makes its folder.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = append(path)?;
        Ok(Self {
            path: path.to_path_buf(),
            written: file.metadata()?.len(),
            file,
            limit: LIMIT,
        })
    }

    fn rotate(&mut self) -> io::Result<()> {
        let mut former = self.path.clone().into_os_string();
        former.push(".1");
        std::fs::rename(&self.path, former)?;
        self.file = append(&self.path)?;
        self.written = 0;
        Ok(())
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.written >= self.limit {
            // A file that cannot be moved is written on.
            let _ = self.rotate();
        }
        let written = self.file.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_its_limit_another_file_begins_and_one_former_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log/server.log");
        let mut log = LogFile::open(&path).expect("opened");
        log.limit = 8;
        for line in ["first 1\n", "second\n", "third\n", "fourth\n"] {
            log.write_all(line.as_bytes()).expect("written");
        }
        drop(log);
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert_eq!(read("log/server.log.1"), "second\nthird\n");
        assert_eq!(read("log/server.log"), "fourth\n");
        let mut log = LogFile::open(&path).expect("opened again");
        log.write_all(b"fifth\n").expect("written");
        assert_eq!(read("log/server.log"), "fourth\nfifth\n");
    }
}

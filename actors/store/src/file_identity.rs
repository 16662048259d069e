//! Whether an open file is still the one that its path names.
//!
//! Who removes or replaces a data folder under a running program does not stop it from writing:
//! what it writes goes to a file without a name, and is gone with the process. So the store looks
//! before it acknowledges.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// A file as it was opened. It is kept open: as long as the process lives, its bytes can be had
/// from there.
#[derive(Debug)]
pub(crate) struct FileIdentity {
    path: PathBuf,
    file: File,
}

impl FileIdentity {
    /// Of this open file, which `path` names now.
    pub(crate) fn from_file(path: &Path, file: &File) -> io::Result<Self> {
        let file = file.try_clone()?;
        let path = path.to_owned();
        Ok(Self { path, file })
    }

    /// Looks whether the path still names the file.
    ///
    /// # Errors
    /// What became of it, and what to do.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.is_there() {
            Ok(true) => Ok(()),
            Ok(false) => Err(io::Error::other(
                self.loss("another file stands in its place"),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::other(self.loss("it was removed")))
            }
            Err(error) => Err(error),
        }
    }

    /// What became of the file, and what to do.
    fn loss(&self, what: &str) -> String {
        format!(
            "{} is not there any more: {what} while it was in use, and nothing is taken in meanwhile; {}put it back, or restart to begin with what is there then",
            self.path.display(),
            self.rescue(),
        )
    }

    #[cfg(unix)]
    fn is_there(&self) -> io::Result<bool> {
        use std::os::unix::fs::MetadataExt as _;
        let open = self.file.metadata()?;
        let named = std::fs::metadata(&self.path)?;
        Ok(open.nlink() > 0 && (open.dev(), open.ino()) == (named.dev(), named.ino()))
    }

    #[cfg(not(unix))]
    fn is_there(&self) -> io::Result<bool> {
        std::fs::metadata(&self.path).map(|_| true)
    }

    #[cfg(target_os = "linux")]
    fn rescue(&self) -> String {
        use std::os::fd::AsRawFd as _;
        let (process, file) = (std::process::id(), self.file.as_raw_fd());
        format!(
            "its bytes are in /proc/{process}/fd/{file} until this process ends: copy them first; then "
        )
    }

    #[cfg(not(target_os = "linux"))]
    fn rescue(&self) -> String {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u2_a_file_that_was_removed_or_replaced_or_moved_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "bytes").unwrap();
        let identity = FileIdentity::from_file(&path, &File::open(&path).unwrap()).unwrap();
        identity.check().unwrap();
        let away = folder.path().join("b");
        std::fs::rename(&path, &away).unwrap();
        assert!(
            identity
                .check()
                .unwrap_err()
                .to_string()
                .contains("was removed")
        );
        std::fs::write(&path, "bytes").unwrap();
        let replaced = identity.check().unwrap_err().to_string();
        assert!(replaced.contains("another file"), "{replaced}");
        std::fs::rename(&away, &path).unwrap();
        identity.check().unwrap();
        std::fs::remove_file(&path).unwrap();
        let removed = identity.check().unwrap_err().to_string();
        let copy = removed
            .split("bytes are in ")
            .nth(1)
            .and_then(|it| it.split(' ').next());
        assert_eq!(std::fs::read_to_string(copy.unwrap()).unwrap(), "bytes");
    }
}

//! The admin bridge's Unix socket, and its file, which others can remove.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::error::ServerError;

/// A bound Unix socket; the file goes with its last clone.
#[derive(Debug, Clone)]
pub struct AdminSocket {
    pub(crate) listener: Arc<UnixListener>,
    bound: Arc<BoundFile>,
}

/// The file of a socket.
#[derive(Debug)]
struct BoundFile {
    path: PathBuf,
    id: FileId,
}

/// Device and number of a file: what stands there now may be another one of the same name.
type FileId = (u64, u64);

/// What stands where the socket's file should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketFile {
    /// The socket.
    Own,
    /// Nothing, or what a dead program left.
    Free,
    /// Somebody listens there, or it is no socket at all.
    Taken,
}

impl AdminSocket {
    /// Binds the socket, for this user only. A socket that nobody listens to any more is replaced;
    /// one that somebody listens to, and a file of any other kind, is left alone.
    ///
    /// # Errors
    /// When it is taken, or the operating system refuses.
    pub fn new(path: &Path) -> Result<Self, ServerError> {
        bind(path).map_err(|source| ServerError::Socket {
            path: path.to_owned(),
            source,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.bound.path
    }

    /// What stands at its place now.
    pub(crate) fn file_state(&self) -> SocketFile {
        self.bound.state()
    }
}

fn id(data: &std::fs::Metadata) -> FileId {
    (data.dev(), data.ino())
}

fn bind(path: &Path) -> io::Result<AdminSocket> {
    if let Some(reason) = taken(path) {
        return Err(io::Error::new(io::ErrorKind::AddrInUse, reason));
    }
    let directory = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(directory)?;
    // Under another name first: under its own it never stands there open to others, and takes a
    // dead one's place in one step.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = directory.join(format!(".{name}.{}", std::process::id()));
    let _ = std::fs::remove_file(&fresh);
    let listener = UnixListener::bind(&fresh)?;
    let ready = || -> io::Result<FileId> {
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o600))?;
        let file = id(&std::fs::symlink_metadata(&fresh)?);
        std::fs::rename(&fresh, path)?;
        Ok(file)
    };
    let file = ready().inspect_err(|_| {
        let _ = std::fs::remove_file(&fresh);
    })?;
    let path = path.to_owned();
    Ok(AdminSocket {
        listener: Arc::new(listener),
        bound: Arc::new(BoundFile { path, id: file }),
    })
}

/// Why the place cannot be used.
fn taken(path: &Path) -> Option<&'static str> {
    let data = std::fs::symlink_metadata(path).ok()?;
    if !data.file_type().is_socket() {
        return Some("a file that is no socket stands there; remove it, or name another place");
    }
    let listens = UnixStream::connect(path).is_ok();
    listens.then_some("another program listens there")
}

impl BoundFile {
    fn state(&self) -> SocketFile {
        match std::fs::symlink_metadata(&self.path) {
            Ok(data) if id(&data) == self.id => SocketFile::Own,
            _ if taken(&self.path).is_some() => SocketFile::Taken,
            _ => SocketFile::Free,
        }
    }
}

impl Drop for BoundFile {
    fn drop(&mut self) {
        // One that somebody else has put there is theirs.
        if self.state() == SocketFile::Own {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f14_a_dead_socket_is_replaced_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("deep/admin.sock");
        let first = AdminSocket::new(&path).expect("a socket");
        let mode = std::fs::metadata(&path).expect("it is there").mode();
        assert_eq!(mode & 0o777, 0o600);
        let said = AdminSocket::new(&path)
            .expect_err("it is taken")
            .to_string();
        assert!(said.contains("another program listens there"), "{said}");
        assert_eq!(
            first.file_state(),
            SocketFile::Own,
            "the first one is untouched"
        );
        // A dead one: its listener is gone, its file is not.
        let AdminSocket { listener, .. } = &first;
        let dead = listener.try_clone().expect("a descriptor");
        std::mem::forget(first);
        drop(dead);
        std::fs::remove_file(&path).expect("it is there");
        drop(UnixListener::bind(&path).expect("a socket"));
        let second = AdminSocket::new(&path).expect("a dead one is in nobody's way");
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(second.file_state(), SocketFile::Free);
        std::fs::write(&path, "a file of somebody's").expect("a file");
        assert_eq!(second.file_state(), SocketFile::Taken);
        drop(second);
        assert!(AdminSocket::new(&path).is_err());
        let kept = std::fs::read_to_string(&path).expect("it is still there");
        assert_eq!(kept, "a file of somebody's");
    }
}

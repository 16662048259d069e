//! The data directory of a manager: its paths, its lock and the key of its tokens.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use store::{OpenError, Store, StoreError, StoreOptions};
use vm_actors::image_storage::ImageStorageError;
use vm_core::token::{TokenKey, WeakKey};
use vm_engine::image::ImageError;

/// Bytes of a new token key.
const KEY_BYTES: usize = 32;

/// Why a manager cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ManagerBootError {
    /// A file or directory cannot be used.
    #[error("{what} {}: {source}", path.display())]
    File {
        /// What was tried.
        what: &'static str,
        /// On which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Others can read the key.
    #[error("{} can be read by others (mode {mode:o}): run `chmod 600` on it, and make new tokens if somebody may have", path.display())]
    OpenKey {
        /// The key's file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The key is too short.
    #[error("{}: {source}; remove the file, and a new key is made", path.display())]
    WeakKey {
        /// The key's file.
        path: PathBuf,
        /// How short.
        source: WeakKey,
    },
    /// The store cannot be opened, or another manager has it.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The directory of images cannot be used.
    #[error(transparent)]
    Images(#[from] ImageError),
    /// The storage of images cannot be opened.
    #[error("[objects]: {0}")]
    Objects(#[from] ImageStorageError),
}

pub(super) fn failed(
    what: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> ManagerBootError {
    let path = path.to_owned();
    move |source| ManagerBootError::File { what, path, source }
}

/// The data directory of a manager.
#[derive(Debug, Clone)]
pub struct DataDirectory {
    pub(super) data: PathBuf,
}

impl DataDirectory {
    /// This one, which is made for its owner alone when it is missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(data: &Path) -> Result<Self, ManagerBootError> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(data)
            .map_err(failed("cannot make the data folder", data))?;
        let data = data
            .canonicalize()
            .map_err(failed("cannot find the data folder", data))?;
        Ok(Self { data })
    }

    /// Images, by content.
    #[must_use]
    pub fn images(&self) -> PathBuf {
        self.data.join("images")
    }

    /// Kernels and what goes with them.
    #[must_use]
    pub fn kernels(&self) -> PathBuf {
        self.data.join("kernels")
    }

    /// What the canary said.
    #[must_use]
    pub fn canary(&self) -> PathBuf {
        self.data.join("kvm.json")
    }

    /// A directory for each VM.
    #[must_use]
    pub fn runtime(&self) -> PathBuf {
        self.data.join("vms")
    }

    /// The directory for this process alone, as long as what is returned is held.
    ///
    /// # Errors
    /// When a manager runs on it.
    pub fn alone(&self) -> Result<Store, ManagerBootError> {
        Ok(Store::open(&self.data, &StoreOptions::new("vm-manager"))?)
    }

    /// The key that tokens are signed with; made at the first call.
    ///
    /// # Errors
    /// When it cannot be read or made, or others can read it.
    pub fn token_key(&self) -> Result<TokenKey, ManagerBootError> {
        let path = self.data.join("token.key");
        let bytes = match File::open(&path) {
            Ok(file) => read_key(file, &path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.make_key(&path)?,
            Err(error) => return Err(failed("cannot open the token key", &path)(error)),
        };
        TokenKey::new(&bytes).map_err(|source| ManagerBootError::WeakKey { path, source })
    }

    /// Made beside and linked into place: of two programs that begin at once, one makes the key.
    fn make_key(&self, path: &Path) -> Result<Vec<u8>, ManagerBootError> {
        let mut bytes = vec![0; KEY_BYTES];
        getrandom::fill(&mut bytes).expect("Linux gives random bytes to whoever asks");
        let beside = self.data.join(format!("token.key.{}", std::process::id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)
            .and_then(|mut file| {
                file.write_all(&bytes)?;
                file.sync_all()
            })
            .and_then(|()| fs::hard_link(&beside, path));
        // It has its name, or is of no use.
        let _ = fs::remove_file(&beside);
        match written {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let file = File::open(path).map_err(failed("cannot open the token key", path))?;
                read_key(file, path)
            }
            Err(error) => Err(failed("cannot write the token key", path)(error)),
        }
    }
}

fn read_key(mut file: File, path: &Path) -> Result<Vec<u8>, ManagerBootError> {
    let metadata = file
        .metadata()
        .map_err(failed("cannot read the token key", path))?;
    let mode = metadata.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        let path = path.to_owned();
        return Err(ManagerBootError::OpenKey { path, mode });
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)
        .map_err(failed("cannot read the token key", path))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_for_its_owner_alone() {
        let home = tempfile::tempdir().unwrap();
        let directory = DataDirectory::open(&home.path().join("data")).unwrap();
        let path = home.path().join("data/token.key");
        directory.token_key().unwrap();
        let first = fs::read(&path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!((first.len(), mode & 0o777), (KEY_BYTES, 0o600));
        directory.token_key().unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let refused = directory.token_key().unwrap_err();
        assert!(refused.to_string().contains("chmod 600"), "{refused}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        let refused = directory.token_key().unwrap_err();
        assert!(refused.to_string().contains("5 bytes"), "{refused}");
    }
}

//! A folder that is a share: while that is not mounted, it is empty, and not the place.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::ObjectError;

/// The file in the folder that says that it is the place.
const PLACE_FILE: &str = ".orrery-place";

/// What of the folder is remembered elsewhere.
#[derive(Debug)]
pub(crate) struct RememberedFolder {
    folder: PathBuf,
    /// That the folder was the place.
    memory: PathBuf,
}

impl RememberedFolder {
    /// A folder, remembered in a folder of this machine, which is made.
    pub(crate) fn new(folder: &Path, memory: &Path) -> Result<Self, ObjectError> {
        let name = blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex();
        fs::create_dir_all(memory).map_err(failed(memory))?;
        Ok(Self {
            folder: folder.to_owned(),
            memory: memory.join(format!("{}.place", &name[..16])),
        })
    }

    /// Whether the folder is the place, which is remembered from then on.
    pub(crate) fn check(&self, place: &str) -> Result<(), ObjectError> {
        let file = self.folder.join(PLACE_FILE);
        let is_known = self.memory.exists();
        if is_known && file.exists() {
            return Ok(());
        }
        if is_known && is_empty(&self.folder) {
            return Err(ObjectError::NotMounted {
                place: place.to_owned(),
                memory: self.memory.display().to_string(),
            });
        }
        // Who may only read there leaves it to those who write.
        match fs::write(&file, "") {
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
                ) => {}
            Err(error) => return Err(failed(&file)(error)),
        }
        let shown = format!("{}\n", self.folder.display());
        fs::write(&self.memory, shown).map_err(failed(&self.memory))
    }
}

fn failed(file: &Path) -> impl Fn(std::io::Error) -> ObjectError {
    let file = file.display().to_string();
    move |source| ObjectError::File {
        file: file.clone(),
        source,
    }
}

fn is_empty(folder: &Path) -> bool {
    match fs::read_dir(folder) {
        // A new file system has nothing else.
        Ok(entries) => entries
            .flatten()
            .all(|entry| entry.file_name() == "lost+found"),
        Err(_) => true,
    }
}

//! A folder that is a share: while that is not mounted, it is empty, and not the place.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::objects::error::ObjectError;

/// The file in the folder that says that it is the place, by an id: the disk below an unmounted
/// share may have one as well.
const PLACE_FILE: &str = ".orrery-place";

/// So long is an id.
const ID_LENGTH: usize = 32;

/// What of the folder is remembered elsewhere.
#[derive(Debug)]
pub(crate) struct RememberedFolder {
    folder: PathBuf,
    /// That the folder was the place, and the id of its mark.
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
        let not_mounted = || {
            Err(ObjectError::NotMounted {
                place: place.to_owned(),
                memory: self.memory.display().to_string(),
            })
        };
        let known = self.load()?;
        match (known.as_deref(), self.mark()?) {
            (Some(known), Some(mark)) if known == mark => Ok(()),
            // It was remembered without an id.
            (None | Some(""), Some(mark)) => self.store(&mark),
            (Some(_), Some(_)) => not_mounted(),
            (Some(_), None) if is_empty(&self.folder) => not_mounted(),
            (_, None) => match self.create_marker()? {
                Some(mark) => self.store(&mark),
                None if known.is_none() => self.store(""),
                None => Ok(()),
            },
        }
    }

    /// The id that is remembered; empty: none, but the folder.
    fn load(&self) -> Result<Option<String>, ObjectError> {
        let text = read(&self.memory)?;
        Ok(text.map(|text| text.lines().nth(1).unwrap_or_default().to_owned()))
    }

    /// The id in the folder; empty: of a mark that has none, or not yet.
    fn mark(&self) -> Result<Option<String>, ObjectError> {
        let text = read(&self.folder.join(PLACE_FILE))?;
        let id = |text: String| match text.trim_end() {
            id if id.len() == ID_LENGTH => id.to_owned(),
            _ => String::new(),
        };
        Ok(text.map(id))
    }

    fn store(&self, mark: &str) -> Result<(), ObjectError> {
        let shown = format!("{}\n{mark}\n", self.folder.display());
        fs::write(&self.memory, shown).map_err(failed(&self.memory))
    }

    /// Marks the folder, where nobody else has just done so; nothing: whoever may only read there
    /// leaves it to those who write.
    fn create_marker(&self) -> Result<Option<String>, ObjectError> {
        let file = self.folder.join(PLACE_FILE);
        let made = File::options().write(true).create_new(true).open(&file);
        let mut made = match made {
            Ok(made) => made,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Ok(None),
                    // Where it is still being written, the next look finds its id.
                    ErrorKind::AlreadyExists => self.mark(),
                    _ => Err(failed(&file)(error)),
                };
            }
        };
        let mark = uuid::Uuid::new_v4().simple().to_string();
        made.write_all(mark.as_bytes()).map_err(failed(&file))?;
        Ok(Some(mark))
    }
}

/// The text of a file; nothing where there is none.
fn read(file: &Path) -> Result<Option<String>, ObjectError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(file)(error)),
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

//! The role file on disk: read, compared, written in one step.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::SystemTime;

/// What tells one state of a file from another without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileStamp {
    modified: Option<SystemTime>,
    size: u64,
    /// A file that was renamed into place is another one.
    number: u64,
}

impl FileStamp {
    pub(super) fn from_path(path: &Path) -> io::Result<Self> {
        let data = fs::metadata(path)?;
        Ok(Self {
            modified: data.modified().ok(),
            size: data.len(),
            number: data.ino(),
        })
    }
}

/// Writes a file beside its place and renames it: a reader, or a crash, sees the former one or the
/// new one. The file keeps its mode; a new one is its owner's alone, because it may hold secrets. A
/// link stays a link.
///
/// # Errors
/// Those of the file system; the former file is as it was.
pub fn write_in_one_step(path: &Path, text: &[u8]) -> io::Result<()> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mode = fs::metadata(&place).map_or(0o600, |data| data.permissions().mode() & 0o7777);
    store::replace_file(&place, Some(mode), |file| file.write_all(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_keeps_its_mode_and_a_link_stays_one() {
        let home = tempfile::tempdir().expect("a folder");
        let (file, link) = (home.path().join("roles.json"), home.path().join("link"));
        fs::write(&file, "old").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let before = FileStamp::from_path(&link).expect("there");
        // What a crash may have left.
        fs::write(home.path().join("roles.json.new"), "half").expect("written");
        write_in_one_step(&link, b"new").expect("written");
        assert_eq!(fs::read(&file).expect("read"), b"new");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_ne!(FileStamp::from_path(&link).expect("there"), before);
        let names = fs::read_dir(home.path()).expect("a folder").count();
        assert_eq!(names, 2, "nothing is left beside it");
        write_in_one_step(&home.path().join("fresh"), b"x").expect("written");
        let mode = fs::metadata(home.path().join("fresh"))
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(write_in_one_step(&home.path().join("no/where"), b"x").is_err());
    }
}

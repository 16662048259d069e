//! The role file on disk: read, compared, written in one step.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
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
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let data = fs::metadata(path)?;
        Ok(Self {
            modified: data.modified().ok(),
            size: data.len(),
            number: number(&data),
        })
    }
}

#[cfg(unix)]
fn number(data: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(data)
}

#[cfg(not(unix))]
fn number(_: &fs::Metadata) -> u64 {
    0
}

/// Writes a file beside its place and renames it: a reader, or a crash, sees the former one or the
/// new one. The file keeps its mode; a new one is its owner's alone, because it may hold secrets. A
/// link stays a link.
///
/// # Errors
/// Those of the file system; the former file is as it was.
pub fn write_in_one_step(path: &Path, text: &[u8]) -> io::Result<()> {
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let beside = beside(&place);
    // What an earlier crash has left there.
    let _ = fs::remove_file(&beside);
    let written = write_new(&place, &beside, text).and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
        return written;
    }
    match place.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

fn beside(place: &Path) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!(".{name}.new"))
}

fn write_new(place: &Path, beside: &Path, text: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(beside)?;
    if let Ok(data) = fs::metadata(place) {
        file.set_permissions(data.permissions())?;
    }
    file.write_all(text)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_mode_and_a_link_stays_one() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().expect("a folder");
        let (file, link) = (home.path().join("roles.json"), home.path().join("link"));
        fs::write(&file, "old").expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("set");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        let before = FileStamp::of(&link).expect("there");
        // What a crash may have left.
        fs::write(home.path().join(".roles.json.new"), "half").expect("written");
        write_in_one_step(&link, b"new").expect("written");
        assert_eq!(fs::read(&file).expect("read"), b"new");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        let mode = fs::metadata(&file).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_ne!(FileStamp::of(&link).expect("there"), before);
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

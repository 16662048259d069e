//! Which folders of a source were mounts: kept beside its index, because an unmounted file system
//! leaves an empty folder behind that looks as if all files had been removed.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use search_core::role::FileFilter;
use search_engine::walk::{RootDirectory, decode_key};

/// How the root itself is written.
const ROOT: &str = ".";

/// The mounts of a source as they were last seen, by the keys of their folders; the root has the
/// empty one.
#[derive(Debug)]
pub(crate) struct Mounts {
    file: PathBuf,
    keys: BTreeSet<String>,
}

impl Mounts {
    /// What an earlier run has kept in `file`.
    ///
    /// # Errors
    /// It is there and cannot be read.
    pub(crate) fn open(file: PathBuf) -> io::Result<Self> {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(error),
        };
        let lines = text.lines().filter(|line| !line.is_empty());
        let keys = lines.map(|line| if line == ROOT { "" } else { line }.to_owned());
        Ok(Self {
            keys: keys.collect(),
            file,
        })
    }

    /// Those that the glob does not exclude.
    pub(crate) fn matching(&self, filter: &FileFilter) -> BTreeSet<String> {
        let is_excluded =
            |key: &str| decode_key(key).is_some_and(|folder| filter.skips_directory(&folder));
        let keys = self.keys.iter().filter(|key| !is_excluded(key));
        keys.cloned().collect()
    }

    /// Keeps what a comparison has found.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn save(&mut self, keys: BTreeSet<String>) -> io::Result<()> {
        if keys == self.keys {
            return Ok(());
        }
        let mut text = String::new();
        for key in &keys {
            text.push_str(if key.is_empty() { ROOT } else { key });
            text.push('\n');
        }
        store::replace_file(&self.file, None, |file| file.write_all(text.as_bytes()))?;
        self.keys = keys;
        Ok(())
    }

    /// What is away now, for people: the root, or a file system below it.
    pub(crate) fn missing(&self, root: &RootDirectory) -> Option<String> {
        let away = |path: &Path, why: &str| {
            let path = path.display();
            Some(format!(
                "{path} {why}; what it held last is searched until it is back"
            ))
        };
        if !root.path().is_dir() {
            return away(root.path(), "is not there any more");
        }
        let lost = self.keys.iter().find(|key| !root.is_mount(key))?;
        let path = match lost.as_str() {
            "" => Some(root.path().to_owned()),
            key => root.path_of(key),
        };
        away(&path?, "is not mounted any more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u8_mounts_are_known_after_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("12345678.mounts");
        let mut mounts = Mounts::open(file.clone()).expect("none yet");
        assert!(mounts.keys.is_empty());
        let keys: BTreeSet<String> = ["", "a/b c", "é"].map(str::to_owned).into();
        mounts.save(keys.clone()).expect("kept");
        let mounts = Mounts::open(file).expect("read");
        assert_eq!(mounts.keys, keys);
        let files = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(files, 1);
    }

    #[test]
    fn u8_a_folder_that_was_a_mount_and_is_none_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("stick")).expect("a folder");
        let root = RootDirectory::open(folder.path()).expect("a folder");
        let mut mounts = Mounts::open(folder.path().join("x.mounts")).expect("none yet");
        assert_eq!(mounts.missing(&root), None);
        mounts.save(["stick".to_owned()].into()).expect("kept");
        let missing = mounts.missing(&root).expect("it is no mount");
        assert!(
            missing.contains("stick is not mounted any more"),
            "{missing}"
        );
    }
}

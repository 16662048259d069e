//! What a source's files are read from: a folder, or a commit of a repository.

use std::fmt::Debug;
use std::fs::File;

use url::Url;

use crate::walk::{FileBytes, RootDirectory, SkipReason};

/// Where a file is, for people and programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileLocation {
    /// Its address.
    pub url: String,
    /// Its absolute path, where it is a file that can be opened.
    pub path: Option<String>,
}

/// The files of a source.
pub trait SourceFiles: Debug + Send + Sync {
    /// Reads a whole file of at most `limit` bytes; `reject` looks at the first 8 KiB.
    ///
    /// # Errors
    /// The reason to skip the file.
    fn read(
        &self,
        key: &str,
        limit: u64,
        reject: &dyn Fn(&[u8]) -> bool,
    ) -> Result<FileBytes, SkipReason>;

    /// Opens a file for reading.
    ///
    /// # Errors
    /// The reason to skip the file.
    fn open_file(&self, key: &str) -> Result<File, SkipReason>;

    /// Where a file is; `None` for text that is no key.
    fn location(&self, key: &str) -> Option<FileLocation>;

    /// Whether each file tells when it was last changed.
    fn has_times(&self) -> bool;

    /// Names of the files and folders at the top.
    fn top_names(&self) -> Vec<String>;
}

impl SourceFiles for RootDirectory {
    fn read(
        &self,
        key: &str,
        limit: u64,
        reject: &dyn Fn(&[u8]) -> bool,
    ) -> Result<FileBytes, SkipReason> {
        self.read(key, limit, reject)
    }

    fn open_file(&self, key: &str) -> Result<File, SkipReason> {
        self.open_file(key)
    }

    fn location(&self, key: &str) -> Option<FileLocation> {
        let path = self.path_of(key)?;
        let url = Url::from_file_path(&path).map(String::from);
        Some(FileLocation {
            url: url.unwrap_or_default(),
            path: Some(path.to_string_lossy().into_owned()),
        })
    }

    fn has_times(&self) -> bool {
        true
    }

    fn top_names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        names
            .map(|name| name.to_string_lossy().into_owned())
            .collect()
    }
}

//! A folder to search, and the role that searches it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// A folder to search, and the place of what belongs to it.
pub(crate) struct Home(tempfile::TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().expect("a temporary folder"));
        std::fs::create_dir(home.files()).expect("a folder for files");
        home
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// The folder that is searched.
    pub(crate) fn files(&self) -> PathBuf {
        self.path().join("files")
    }

    /// Writes a file into the folder that is searched.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.files().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }

    /// A role that searches the folder.
    pub(crate) fn role(&self, function: &str) -> Value {
        json!({"name": "Test", "relevance_function": function, "theme": "spacelab",
               "haystacks": [{"name": "Files", "service": "LocalFiles", "location": self.files()}]})
    }
}

//! Which folder the role of the first start searches.

use std::path::{Path, PathBuf};

use config_core::Environment;

/// The first of these that holds anything: the documents folder, the folder the server was started
/// in, the system's documentation. A first search should find something.
pub(crate) fn first_directory(environment: &Environment, current: Option<PathBuf>) -> PathBuf {
    let variable = |name| environment.text(name).map(PathBuf::from);
    let documents = variable("XDG_DOCUMENTS_DIR")
        .or_else(|| variable("HOME").map(|home| home.join("Documents")));
    let candidates = [documents, current, Some(PathBuf::from("/usr/share/doc"))];
    let found = candidates
        .into_iter()
        .flatten()
        .find(|folder| has_documents(folder));
    found.unwrap_or_else(|| PathBuf::from("."))
}

fn has_documents(folder: &Path) -> bool {
    // The root folder and the home folder's parents hold everything: not what anybody means.
    folder.parent().is_some()
        && std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    #[test]
    fn documents_come_first_then_where_the_server_was_started() {
        let home = tempfile::tempdir().unwrap();
        let started = tempfile::tempdir().unwrap();
        std::fs::write(started.path().join("a.txt"), "a").unwrap();
        let environment =
            Environment::from_os([(OsString::from("HOME"), home.path().as_os_str().to_owned())]);
        let pick = || first_directory(&environment, Some(started.path().to_owned()));
        assert_eq!(pick(), started.path());
        let documents = home.path().join("Documents");
        std::fs::create_dir(&documents).unwrap();
        assert_eq!(pick(), started.path(), "an empty folder finds nothing");
        std::fs::write(documents.join("b.txt"), "b").unwrap();
        assert_eq!(pick(), documents);
    }
}

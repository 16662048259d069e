//! Which files a haystack's index is made of, for the services that are folders of a special kind.

use std::path::Path;

use super::filter::FileFilter;
use super::haystack::{Haystack, HiddenFiles, LocalFiles, Source};
use super::source_location::{CommunitySite, FolderOrUrl};

/// Notes; what Logseq and Obsidian keep beside them is told apart when the folder is open.
const NOTES: &str = "*.md,*.org";
/// Pages by rustdoc: not its search, settings and help, nor its scripts. Source pages repeat what
/// is documented elsewhere.
const RUSTDOC: &str =
    "*.html,!search.html,!settings.html,!help.html,!all.html,!print.html,!src/,!static.files/";
/// Pages by Sphinx: not its search, indexes and copies of sources.
const SPHINX: &str =
    "*.html,!search.html,!genindex*.html,!py-modindex.html,!_sources/,!_static/,!_modules/";

impl Haystack {
    /// The folder and the files in it that are to be indexed, of a repository those of its
    /// [`revision`](Self::revision); none for sources that are no folder.
    pub fn indexed_files(&self) -> Option<LocalFiles> {
        match &self.source {
            Source::LocalFiles(files) => Some(files.clone()),
            Source::GitRepository(git) => Some(LocalFiles {
                filter: git.filter.clone(),
                max_file_size: git.max_file_size,
                respect_gitignore: false,
                hidden: git.hidden,
                ..LocalFiles::new(&git.folder)
            }),
            Source::NotesGraph { folder } => Some(chosen(folder, NOTES)),
            Source::CommunityDocs(CommunitySite::Rustdoc(FolderOrUrl::Folder(folder))) => {
                Some(chosen(folder, RUSTDOC))
            }
            Source::CommunityDocs(CommunitySite::Sphinx(FolderOrUrl::Folder(folder))) => {
                Some(chosen(folder, SPHINX))
            }
            _ => None,
        }
    }

    /// Whether its files are notes that refer to one another.
    pub fn holds_notes(&self) -> bool {
        matches!(self.source, Source::NotesGraph { .. })
    }
}

/// Made by a program or written as notes: no version control decides what is read of them.
fn chosen(folder: &Path, patterns: &str) -> LocalFiles {
    LocalFiles {
        filter: FileFilter::parse(patterns).expect("the patterns are constants that are tested"),
        respect_gitignore: false,
        hidden: HiddenFiles::None,
        ..LocalFiles::new(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_notes_are_chosen_their_furniture_is_not() {
        for (patterns, meant, not) in [
            (
                NOTES,
                "pages/a.md journals/2026_01_01.org",
                "a.png logseq/config.edn",
            ),
            (
                RUSTDOC,
                "std/vec/struct.Vec.html index.html book/ch01-00.html",
                "search.html src/std/lib.rs.html static.files/main.js std/all.html",
            ),
            (
                SPHINX,
                "library/os.html index.html",
                "genindex-A.html search.html _sources/x.html objects.inv",
            ),
        ] {
            let files = chosen(Path::new("/x"), patterns);
            let matches = |path: &&str| files.filter.matches(Path::new(path));
            assert!(meant.split(' ').all(|path| matches(&path)), "{patterns}");
            assert!(!not.split(' ').any(|path| matches(&path)), "{patterns}");
        }
    }
}

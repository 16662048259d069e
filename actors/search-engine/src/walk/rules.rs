//! Which rules keep files out: the `ignore` crate, set up once for walking and watching alike.

use std::ffi::OsStr;
use std::path::Path;

use ignore::WalkBuilder;

use super::root::RootDirectory;

/// A walker over the root with the project's rules.
///
/// Inside a git work tree the rules are git's own, those of the folders above the root included.
/// Elsewhere `.gitignore` files count from the root downwards only: a stray `*` in somebody's home
/// folder must not empty an index. Nor must one that came with an unpacked archive: where the
/// rules would leave nothing of a root outside a work tree (packagers ignore everything but their
/// own folder), they are not meant for it and `.gitignore` files do not count. The user's global
/// git settings are not part of the folder and are not consulted.
pub(crate) fn walk_builder(root: &RootDirectory) -> WalkBuilder {
    let in_git = root.path().ancestors().any(is_work_tree);
    let mut builder = WalkBuilder::new(root.path());
    builder
        .follow_links(false)
        .hidden(true)
        .ignore(true)
        .git_ignore(root.respects_gitignore())
        .git_exclude(root.respects_gitignore())
        .git_global(false)
        .require_git(in_git)
        .parents(in_git)
        .current_dir(root.path());
    if !in_git && root.respects_gitignore() && leaves_nothing(&builder, root.path()) {
        builder.git_ignore(false);
    }
    builder
}

fn is_work_tree(folder: &Path) -> bool {
    folder.join(".git").exists()
}

/// Whether the rules exclude every visible entry of the root.
fn leaves_nothing(builder: &WalkBuilder, root: &Path) -> bool {
    if !root.join(".gitignore").exists() {
        return false;
    }
    let mut rules = builder.build_matchers().remove(0);
    let mut entries = std::fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    entries.all(|entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        rules
            .matched(Path::new(&entry.file_name()), is_directory)
            .is_ignore()
    })
}

/// Whether a change of the file of this name changes what is indexed.
pub(crate) fn is_ignore_file(name: &OsStr) -> bool {
    name == ".gitignore" || name == ".ignore"
}

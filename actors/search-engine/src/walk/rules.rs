//! Which rules keep files out: the `ignore` crate, set up once for walking and watching alike.

use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::Path;

use ignore::WalkBuilder;
use ignore::gitignore::GitignoreBuilder;
use search_core::role::HiddenFiles;

use super::root::RootDirectory;

/// The project's rules for walking a folder.
pub(super) struct WalkRules {
    pub(super) builder: WalkBuilder,
    /// Whether `.gitignore` files hide anything of the root.
    pub(super) follows_gitignore: bool,
}

/// The rules for a root. What is hidden is left out where the source wants none of it; otherwise
/// whoever walks has to look at it.
///
/// Inside a git work tree the rules are git's own, those of the folders above the root included.
/// Elsewhere `.gitignore` files count from the root downwards only: a stray `*` in somebody's home
/// folder must not empty an index. Nor must one that came with an unpacked archive: where the
/// rules would leave nothing of a root outside a work tree (packagers ignore everything but their
/// own folder), they are not meant for it and `.gitignore` files do not count. The user's global
/// git settings are not part of the folder and are not consulted.
pub(super) fn walk_rules(root: &RootDirectory) -> WalkRules {
    let respects = root.respects_gitignore();
    let in_git = work_tree_of(root.path()).is_some();
    let mut builder = WalkBuilder::new(root.path());
    builder
        .follow_links(false)
        .hidden(root.hidden_files() == HiddenFiles::None)
        .ignore(true)
        .git_ignore(respects)
        .git_exclude(respects)
        .git_global(false)
        .require_git(in_git)
        .parents(in_git)
        .current_dir(root.path());
    let follows_gitignore = respects && (in_git || !leaves_nothing(&builder, root.path()));
    builder.git_ignore(follows_gitignore);
    WalkRules {
        builder,
        follows_gitignore,
    }
}

/// The work tree that a folder is, or lies in.
pub(super) fn work_tree_of(folder: &Path) -> Option<&Path> {
    folder
        .ancestors()
        .find(|folder| folder.join(".git").exists())
}

/// Whether the rules exclude every visible entry of the root.
fn leaves_nothing(builder: &WalkBuilder, root: &Path) -> bool {
    if !root.join(".gitignore").exists() {
        return false;
    }
    let mut rules = builder.build_matchers().remove(0);
    visible_entries(root).all(|entry| {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        rules
            .matched(Path::new(&entry.file_name()), is_directory)
            .is_ignore()
    })
}

/// Whether a folder's own `.gitignore` hides every visible entry of it, as those of virtual
/// environments and caches do: rules of git, and worth a word to whoever misses something.
pub(super) fn hides_all(folder: &Path) -> bool {
    let file = folder.join(".gitignore");
    if !file.exists() {
        return false;
    }
    let mut rules = GitignoreBuilder::new(folder);
    // What cannot be read is told of by the walk.
    rules.add(&file);
    let Ok(rules) = rules.build() else {
        return false;
    };
    let mut visible = visible_entries(folder).peekable();
    visible.peek().is_some()
        && visible.all(|entry| {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            rules.matched(entry.file_name(), is_directory).is_ignore()
        })
}

pub(super) fn visible_entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
}

/// Whether a change of the file of this name changes what is indexed.
pub(crate) fn is_ignore_file(name: &OsStr) -> bool {
    name == ".gitignore" || name == ".ignore"
}

//! Which files of a folder are seen: those that the rules leave, and those that git tracks although
//! they are hidden or ignored. What is git's own, or secret by its name, never is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use git_engine::TrackedFiles;
use ignore::{IncrementalIgnore, WalkBuilder};
use search_core::role::HiddenFiles;
use search_core::secret_files::is_secret;

use super::root::RootDirectory;
use super::rules::WalkRules;

/// A work tree at, above or below the root.
#[derive(Debug)]
struct WorkTree {
    folder: PathBuf,
    index: TrackedFiles,
}

/// What of a folder is seen. Paths are relative to its root.
#[derive(Debug)]
pub(crate) struct WalkFilter {
    root: PathBuf,
    hidden: HiddenFiles,
    /// Whether anything but a dot can hide what git tracks.
    follows_gitignore: bool,
    /// All rules.
    rules: IncrementalIgnore,
    /// Those that were written for searching alone, which hide what git tracks as well.
    for_searching: IncrementalIgnore,
    trees: Vec<WorkTree>,
    /// What is tracked although the rules hide it.
    files: BTreeSet<PathBuf>,
    /// The folders that these files lie in.
    folders: BTreeSet<PathBuf>,
    /// What of it is secret.
    secrets: BTreeSet<PathBuf>,
}

/// What git tracks now of what the rules hide, compared with before.
#[derive(Debug, Default)]
pub(crate) struct TrackedChanges {
    pub(crate) added: Vec<PathBuf>,
    pub(crate) removed: Vec<PathBuf>,
    /// Folders of files that were added.
    pub(crate) folders: Vec<PathBuf>,
}

impl WalkFilter {
    /// With what git tracks in the work tree that the root lies in; others are
    /// [entered](Self::load_tracked) as they are met.
    pub(crate) fn new(root: &RootDirectory) -> Self {
        Self::from_rules(root, &super::rules::walk_rules(root))
    }

    pub(super) fn from_rules(root: &RootDirectory, rules: &WalkRules) -> Self {
        let matcher = |builder: &WalkBuilder| builder.build_matchers().remove(0);
        let (mut all, mut own) = (rules.builder.clone(), rules.builder.clone());
        all.hidden(root.hidden_files() != HiddenFiles::All);
        own.hidden(false).git_ignore(false).git_exclude(false);
        let mut admission = Self {
            root: root.path().to_owned(),
            hidden: root.hidden_files(),
            follows_gitignore: rules.follows_gitignore,
            rules: matcher(&all),
            for_searching: matcher(&own),
            trees: Vec::new(),
            files: BTreeSet::new(),
            folders: BTreeSet::new(),
            secrets: BTreeSet::new(),
        };
        if let Some(folder) = super::rules::work_tree_of(root.path()) {
            admission.load_tracked(folder);
        }
        admission
    }

    /// Notes what git tracks in a folder, if that is a work tree.
    pub(crate) fn load_tracked(&mut self, folder: &Path) {
        let Some(index) = TrackedFiles::load(folder) else {
            return;
        };
        if self.trees.iter().any(|tree| tree.folder == folder) {
            return;
        }
        self.trees.push(WorkTree {
            folder: folder.to_owned(),
            index,
        });
        self.read_tree(self.trees.len() - 1);
    }

    fn read_tree(&mut self, number: usize) {
        let (folder, index) = {
            let tree = &self.trees[number];
            (tree.folder.clone(), tree.index.clone())
        };
        let below = folder.strip_prefix(&self.root).map(Path::to_owned);
        let above = self.root.strip_prefix(&folder).map(Path::to_owned);
        let read = index.visit_all(|path| match (&below, &above) {
            (Ok(below), _) if below.as_os_str().is_empty() => self.record_tracked(path),
            (Ok(below), _) => self.record_tracked(&below.join(path)),
            (_, Ok(above)) => {
                if let Ok(path) = path.strip_prefix(above) {
                    self.record_tracked(path);
                }
            }
            _ => {}
        });
        match read {
            Ok(()) => {}
            // A repository without a commit has no index yet.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => {
                let folder = folder.display();
                tracing::warn!(event = "tracked.unreadable", %folder, %error);
            }
        }
    }

    /// Notes a file that git tracks, if the rules hide it.
    fn record_tracked(&mut self, path: &Path) {
        let is_hidden = has_hidden(path);
        if !is_hidden && !self.follows_gitignore || is_of_git(path) {
            return;
        }
        if is_hidden && self.hidden == HiddenFiles::None {
            return;
        }
        if !self.rules.matched(path, false).is_ignore()
            || self.for_searching.matched(path, false).is_ignore()
        {
            return;
        }
        if is_secret(&path.to_string_lossy()) {
            self.secrets.insert(path.to_owned());
            return;
        }
        self.folders.extend(
            path.ancestors()
                .skip(1)
                .filter(|folder| !folder.as_os_str().is_empty())
                .take_while(|folder| !self.folders.contains(*folder))
                .map(Path::to_owned)
                .collect::<Vec<_>>(),
        );
        self.files.insert(path.to_owned());
    }

    /// Whether the rules leave a path, whatever git tracks.
    pub(crate) fn is_left(&mut self, path: &Path, is_dir: bool) -> bool {
        let is_secret = has_hidden(path) && is_secret(&path.to_string_lossy());
        let is_refused = is_of_git(path) || is_secret;
        !is_refused && !self.rules.matched(path, is_dir).is_ignore()
    }

    /// Whether a file is seen, or a folder that some lie in.
    pub(crate) fn is_admitted(&mut self, path: &Path, is_dir: bool) -> bool {
        self.is_left(path, is_dir) || self.is_tracked(path)
    }

    /// Whether git tracks a file that the rules hide, or files in such a folder.
    pub(crate) fn is_tracked(&self, path: &Path) -> bool {
        self.files.contains(path) || self.folders.contains(path)
    }

    /// The same of what is secret as well.
    pub(super) fn knows(&self, path: &Path) -> bool {
        let mut secrets = self.secrets.range(path.to_owned()..);
        self.is_tracked(path)
            || secrets
                .next()
                .is_some_and(|secret| secret.starts_with(path))
    }

    /// Takes what is tracked although the rules hide it: files, and those that are secret.
    pub(super) fn take(&mut self) -> (BTreeSet<PathBuf>, BTreeSet<PathBuf>) {
        (
            std::mem::take(&mut self.files),
            std::mem::take(&mut self.secrets),
        )
    }

    /// Folders whose changes matter though the rules hide them, and those in which git keeps what
    /// it tracks.
    pub(crate) fn further_folders(&self) -> impl Iterator<Item = PathBuf> {
        let of_git = self.trees.iter().map(|tree| tree.index.git_folder());
        let hidden = self.folders.iter().map(|folder| self.root.join(folder));
        hidden.chain(of_git.map(Path::to_owned))
    }

    /// Whether a path lies in a folder that git keeps for a work tree.
    pub(crate) fn is_in_git(&self, path: &Path) -> bool {
        let mut trees = self.trees.iter();
        trees.any(|tree| path.parent() == Some(tree.index.git_folder()))
    }

    /// Whether a path is a file in which git says what it tracks.
    pub(crate) fn is_index(&self, path: &Path) -> bool {
        path.file_name() == Some(OsStr::new(TrackedFiles::INDEX)) && self.is_in_git(path)
    }

    /// Reads again what git tracks.
    pub(crate) fn renew(&mut self) -> TrackedChanges {
        let files = std::mem::take(&mut self.files);
        let folders = std::mem::take(&mut self.folders);
        self.secrets.clear();
        for number in 0..self.trees.len() {
            self.read_tree(number);
        }
        TrackedChanges {
            added: self.files.difference(&files).cloned().collect(),
            removed: files.difference(&self.files).cloned().collect(),
            folders: self.folders.difference(&folders).cloned().collect(),
        }
    }
}

/// Whether the name of a file, or of a folder it lies in, begins with a dot.
pub(super) fn has_hidden(path: &Path) -> bool {
    path.iter()
        .any(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Whether a path is that of a folder of git's own, or lies in one.
fn is_of_git(path: &Path) -> bool {
    path.iter().any(|name| name == ".git")
}

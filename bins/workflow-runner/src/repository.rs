//! Where workflows are looked for, and the files beside them.

use std::path::{Path, PathBuf};

use runner_core::limits::MAX_FILE_BYTES;
use runner_core::workflow::{Dialect, WORKFLOW_DIRECTORIES};

/// A directory with workflows.
#[derive(Debug)]
pub(crate) struct WorkflowDirectory {
    root: PathBuf,
    /// The workflow files, relative to the root, sorted.
    pub(crate) workflows: Vec<String>,
}

impl WorkflowDirectory {
    /// A file, a directory of files, or a repository.
    pub(crate) fn open(path: &Path) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        let path = path.canonicalize().map_err(wrong)?;
        if path.is_file() {
            let root = root_of(&path);
            let file = relative(&root, &path);
            return Ok(Self {
                root,
                workflows: vec![file],
            });
        }
        let directory = WORKFLOW_DIRECTORIES
            .iter()
            .map(|directory| path.join(directory))
            .find(|directory| directory.is_dir());
        let directory = directory.unwrap_or_else(|| path.clone());
        let root = root_of(&directory.join("x"));
        let workflows = workflows_in(&root, &directory).map_err(wrong)?;
        if workflows.is_empty() {
            return Err(format!(
                "{} holds no .yml or .yaml files",
                directory.display()
            ));
        }
        Ok(Self { root, workflows })
    }

    /// All repositories below a folder, those whose workflows are elsewhere left out: each with the
    /// files of every folder that workflows are read from. A folder without any such repository
    /// holds collected files: each folder with YAML files counts as one repository.
    pub(crate) fn find_all(path: &Path) -> Result<Vec<Self>, String> {
        let wrong = |error: std::io::Error| format!("{}: {error}", path.display());
        let top = path.canonicalize().map_err(wrong)?;
        let mut folders = Vec::new();
        let mut open = vec![(top, 0)];
        while let Some((folder, depth)) = open.pop() {
            if depth < MAX_DEPTH {
                let inner = subfolders(&folder);
                open.extend(inner.into_iter().map(|inner| (inner, depth + 1)));
            }
            folders.push(folder);
        }
        folders.sort();
        let mut found = Vec::new();
        for root in &folders {
            let mut workflows = Vec::new();
            for known in WORKFLOW_DIRECTORIES {
                let directory = root.join(known);
                if directory.is_dir() {
                    workflows.extend(workflows_in(root, &directory).map_err(wrong)?);
                }
            }
            found.push((root, workflows));
        }
        if found.iter().all(|(_, workflows)| workflows.is_empty()) {
            found.clear();
            for folder in &folders {
                found.push((folder, workflows_in(folder, folder).map_err(wrong)?));
            }
        }
        let found = found
            .into_iter()
            .filter(|(_, workflows)| !workflows.is_empty());
        let found = found.map(|(root, workflows)| Self {
            root: root.clone(),
            workflows,
        });
        Ok(found.collect())
    }

    /// Where it is.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether the file is where workflows of a commit are.
    pub(crate) fn is_workflow(&self, file: &str) -> bool {
        let directory = Path::new(file).parent();
        directory.is_some_and(|directory| {
            WORKFLOW_DIRECTORIES.iter().any(|known| {
                directory == Path::new(known) || is_deep(known) && directory.starts_with(known)
            })
        })
    }

    /// A file of the repository; nothing outside of it, nothing too large.
    pub(crate) fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.root.join(path).canonicalize().ok()?;
        let metadata = file.metadata().ok()?;
        let fits = usize::try_from(metadata.len()).is_ok_and(|length| length <= MAX_FILE_BYTES);
        (file.starts_with(&self.root) && metadata.is_file() && fits)
            .then(|| std::fs::read(file).ok())?
    }
}

/// How deep repositories may lie below the folder that is counted.
const MAX_DEPTH: usize = 12;

/// The folders in a folder, links left out; one that cannot be read has none. What git keeps and
/// what package managers bring is no repository of its own.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| {
        let name = entry.file_name();
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        is_folder && name != ".git" && name != "node_modules"
    });
    folders.map(|entry| entry.path()).collect()
}

/// Whether the forges that read this directory of workflows read its subfolders, too: Gitea and
/// Forgejo do, GitHub does not.
fn is_deep(known: &str) -> bool {
    Dialect::of_file(known).is_forge()
}

/// The YAML files of a folder, relative to the root, sorted; those below it, too, where forges read
/// them.
fn workflows_in(root: &Path, directory: &Path) -> std::io::Result<Vec<String>> {
    let mut known = WORKFLOW_DIRECTORIES.iter();
    let is_deep = known.any(|known| is_deep(known) && directory.ends_with(known));
    let mut workflows = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let entry = entry?;
            let file = entry.path();
            let yaml = file
                .extension()
                .is_some_and(|extension| extension == "yml" || extension == "yaml");
            if yaml && file.is_file() {
                workflows.push(relative(root, &file));
            } else if is_deep && entry.file_type()?.is_dir() {
                open.push(file);
            }
        }
    }
    workflows.sort();
    Ok(workflows)
}

/// The repository a workflow file is in: above its workflow directory, else its own directory.
fn root_of(file: &Path) -> PathBuf {
    let directory = file.parent().unwrap_or(Path::new("/"));
    let above = |known: &&str| {
        let depth = if is_deep(known) { usize::MAX } else { 1 };
        let mut folders = directory.ancestors().take(depth);
        folders.find(|it| it.ends_with(known))?.parent()?.parent()
    };
    let root = WORKFLOW_DIRECTORIES.iter().find_map(above);
    root.unwrap_or(directory).to_owned()
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root)
        .unwrap_or(file)
        .to_string_lossy()
        .into_owned()
}

//! The files of the checkout: what git tracks, and what it would track after `git add`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;

/// The checkout's files by their path from the root, with `/` between the parts.
#[derive(Debug)]
pub(super) struct FileTree {
    paths: BTreeSet<String>,
    texts: BTreeMap<String, String>,
}

impl FileTree {
    /// Reads every file that git tracks or would track; binary files are only listed.
    ///
    /// # Errors
    /// When `root` is no git checkout.
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut git = shell::command("git", root);
        // quotePath off: names outside ASCII as they are.
        git.args([
            "-c",
            "core.quotePath=off",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let listed = shell::quiet(&mut git)?;
        if !listed.status.success() {
            bail!("git ls-files failed: {}", listed.err.trim());
        }
        let exists = |path: &&str| root.join(path).is_file();
        let paths: BTreeSet<String> = listed
            .out
            .lines()
            .filter(exists)
            .map(str::to_owned)
            .collect();
        let text = |path: &String| {
            let text = std::fs::read(root.join(path))
                .ok()
                .and_then(|bytes| String::from_utf8(bytes).ok())?;
            Some((path.clone(), text))
        };
        let texts = paths.iter().filter_map(text).collect();
        Ok(Self { paths, texts })
    }

    /// All files.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.iter().map(String::as_str)
    }

    /// All text files with their text.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.texts
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// Whether `path` is a file, or a folder with files in it.
    pub(super) fn holds(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.paths.contains(path)
            || self
                .paths
                .range(folder.clone()..)
                .next()
                .is_some_and(|next| next.starts_with(&folder))
    }

    #[cfg(test)]
    pub(super) fn from_files(files: &[(&str, &str)]) -> Self {
        let texts = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
        Self {
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            texts: texts.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_hold_files_and_nothing_else_does() {
        let tree = FileTree::from_files(&[("docs/adr/0001.md", ""), ("docs-old.md", "")]);
        for (path, expected) in [
            ("docs", true),
            ("docs/adr/", true),
            ("docs/adr/0001.md", true),
            ("doc", false),
            ("docs-old", false),
        ] {
            assert_eq!(tree.holds(path), expected, "{path}");
        }
    }
}

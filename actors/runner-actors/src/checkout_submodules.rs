//! Submodules of what is checked out: as many, as deep and as large as one checkout may have.

use std::path::{Path, PathBuf};

use config_core::quoted;
use forge_core::CommitSha;
use git_engine::{GitError, Submodule, TreeLimits, TreeSize, WorkTree};
use runner_core::checkout::{ReadBy, Submodules, is_ssh, submodule_address, submodule_url};

use crate::checkout_key::hint;
use crate::checkout_source::Checkout;

/// Submodules of one checkout, and how deep they lie in one another.
const MAX_SUBMODULES: usize = 200;
const MAX_SUBMODULE_DEPTH: usize = 10;

/// What submodules may still take.
struct SubmoduleBudget {
    limits: TreeLimits,
    left: usize,
    taken: TreeSize,
}

impl Checkout {
    /// Lays the submodules of a commit out, which itself takes `size`; gives what they take.
    pub(crate) fn submodules(
        &self,
        of: (&WorkTree, &CommitSha),
        base: &str,
        size: &TreeSize,
    ) -> Result<TreeSize, String> {
        let limits = self.source.repositories.tree_limits();
        let mut budget = SubmoduleBudget {
            limits: left_of(limits, size),
            left: MAX_SUBMODULES,
            taken: TreeSize::default(),
        };
        self.add_submodules(of, base, &mut budget, 1)?;
        Ok(budget.taken)
    }

    fn add_submodules(
        &self,
        (tree, commit): (&WorkTree, &CommitSha),
        base: &str,
        budget: &mut SubmoduleBudget,
        depth: usize,
    ) -> Result<(), String> {
        let found = tree.submodules(commit).map_err(|error| error.to_string())?;
        for submodule in found {
            let path = quoted(&submodule.path).to_string();
            let wrong = |reason: String| format!("the submodule {path}: {reason}");
            if depth > MAX_SUBMODULE_DEPTH || budget.left == 0 {
                return Err(wrong(format!(
                    "there are more than {MAX_SUBMODULES}, or they lie deeper than {MAX_SUBMODULE_DEPTH}"
                )));
            }
            budget.left -= 1;
            let (child, url) = self
                .add_submodule(tree, &submodule, base, budget)
                .map_err(wrong)?;
            if self.request.submodules == Submodules::Recursive {
                self.add_submodules((&child, &submodule.commit), &url, budget, depth + 1)?;
            }
        }
        Ok(())
    }

    fn add_submodule(
        &self,
        tree: &WorkTree,
        submodule: &Submodule,
        base: &str,
        budget: &mut SubmoduleBudget,
    ) -> Result<(WorkTree, String), String> {
        let text = |error: GitError| error.to_string();
        if submodule.url.is_empty() {
            return Err("`.gitmodules` gives no URL for this path".to_owned());
        }
        let url = match self.ssh {
            Some(_) => submodule_address(base, &submodule.url),
            None => submodule_url(base, &submodule.url),
        };
        // A folder of this machine is nothing that a repository may name.
        let url = url.filter(|url| !url.starts_with("file:") || submodule.url.starts_with('.'));
        let url = url.ok_or_else(|| {
            format!("its URL {} is not fetched from: HTTPS, or a path relative to the repository's own address, is", quoted(&submodule.url))
        })?;
        let folder = folder_in(tree.folder(), &submodule.path)?;
        let (remote, by) = self.remote(&url).map_err(|error| error.to_string())?;
        let child = self
            .source
            .repositories
            .work_tree(&folder, &url)
            .map_err(text)?;
        let wanted = self.wanted(&submodule.commit, None);
        child
            .fetch_from_remote(&remote, &wanted)
            .map_err(|error| match by {
                ReadBy::Everybody => format!(
                    "{error}. It is asked for without a token: {}",
                    self.way_in()
                ),
                ReadBy::Step if is_ssh(&url) => format!("{error}{}", hint(&error.to_string())),
                ReadBy::Runner | ReadBy::Step => error.to_string(),
            })?;
        let size = child
            .size(&submodule.commit, &budget.limits)
            .map_err(text)?;
        budget.limits = left_of(&budget.limits, &size);
        budget.taken.entries += size.entries;
        budget.taken.bytes += size.bytes;
        child
            .check_out(&submodule.commit, None, None)
            .map_err(text)?;
        self.keep_command(&child)?;
        tree.activate(&submodule.name, &url).map_err(text)?;
        Ok((child, url))
    }
}

fn left_of(limits: &TreeLimits, size: &TreeSize) -> TreeLimits {
    TreeLimits {
        entries: limits.entries.saturating_sub(size.entries),
        bytes: limits.bytes.saturating_sub(size.bytes),
        depth: limits.depth,
    }
}

/// A folder below `top` on whose way there are no links: what is written there stays there.
fn folder_in(top: &Path, path: &str) -> Result<PathBuf, String> {
    let mut folder = top.to_owned();
    for part in path.split('/') {
        if matches!(part, "" | "." | ".." | ".git") {
            return Err("its path leads out of the repository".to_owned());
        }
        folder.push(part);
        match std::fs::symlink_metadata(&folder) {
            Ok(found) if !found.is_dir() => {
                return Err("its path leads through a link or a file".to_owned());
            }
            Ok(_) | Err(_) => {}
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_submodules_are_written_nowhere_but_below_their_repository() {
        let top = tempfile::tempdir().unwrap();
        std::fs::create_dir(top.path().join("real")).unwrap();
        std::os::unix::fs::symlink("/tmp", top.path().join("link")).unwrap();
        assert!(folder_in(top.path(), "real/sub").is_ok());
        assert!(folder_in(top.path(), "new/sub").is_ok());
        for path in [
            "link/sub",
            "link",
            "../x",
            "a/../../x",
            ".git/hooks",
            "/etc",
            "",
        ] {
            assert!(folder_in(top.path(), path).is_err(), "{path}");
        }
    }
}

//! The working tree as a commit of a repository of its own: with what is not committed, without
//! what is ignored; the tree's own repository is not touched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use forge_core::GitRef;

use crate::repository::Repository;

/// The snapshot.
pub(crate) struct Snapshot {
    git: PathBuf,
    branch: String,
    /// Its commit.
    pub(crate) sha: String,
}

impl Snapshot {
    /// Of the tree at `root`, kept below `directory`.
    pub(crate) fn of(root: &Path, directory: &Path) -> anyhow::Result<Self> {
        let git = directory.join("snapshot.git");
        let branch = branch(root).unwrap_or_else(|| "main".to_owned());
        let run = |arguments: &[&str]| {
            let mut command = Command::new("git");
            command
                .current_dir(root)
                .arg(format!("--git-dir={}", git.display()))
                .args([
                    "-c",
                    "core.hooksPath=/dev/null",
                    "-c",
                    "core.bare=false",
                    "-c",
                    "user.name=exec",
                    "-c",
                    "user.email=exec@localhost",
                ])
                .args(arguments);
            output(command)
        };
        let init = format!("--initial-branch={branch}");
        run(&["init", "--quiet", "--bare", &init])?;
        let tree = format!("--work-tree={}", root.display());
        run(&[&tree, "add", "--all", "."])?;
        run(&[
            &tree,
            "commit",
            "--quiet",
            "--allow-empty",
            "--no-verify",
            "-m",
            "the working tree",
        ])?;
        let sha = run(&["rev-parse", "HEAD"])?;
        Ok(Self { git, branch, sha })
    }

    /// Where it is fetched from.
    pub(crate) fn url(&self) -> String {
        format!("file://{}", self.git.display())
    }

    /// The branch that the tree is on.
    pub(crate) fn reference(&self) -> anyhow::Result<GitRef> {
        let reference = format!("refs/heads/{}", self.branch);
        reference
            .parse()
            .with_context(|| format!("the branch {}", self.branch))
    }
}

/// The workflow's file in the snapshot: only files in the directories of workflows are workflows of
/// a commit.
pub(crate) fn workflow_path(file: &str, repository: &Repository) -> anyhow::Result<String> {
    if !repository.is_workflow(file) {
        bail!("{file} is in none of the folders of workflows, such as .github/workflows");
    }
    Ok(file.to_owned())
}

fn branch(root: &Path) -> Option<String> {
    let mut command = Command::new("git");
    command
        .current_dir(root)
        .args(["symbolic-ref", "--quiet", "--short", "HEAD"]);
    output(command).ok().filter(|branch| !branch.is_empty())
}

fn output(mut command: Command) -> anyhow::Result<String> {
    // Variables of a hook that started this would lead elsewhere.
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
    ] {
        command.env_remove(name);
    }
    let output = command.output().context("git cannot be started")?;
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

//! The working tree as a commit of a repository of its own: with what is not committed, without
//! what is ignored, after the tree's own history, which it borrows; the tree's own repository is
//! not touched.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use forge_core::GitRef;

use crate::repository::WorkflowDirectory;

/// The snapshot.
pub(crate) struct CommitSnapshot {
    git: PathBuf,
    branch: String,
    /// Its commit.
    pub(crate) sha: String,
}

impl CommitSnapshot {
    /// Of the tree at `root`, kept below `directory`.
    pub(crate) fn create(root: &Path, directory: &Path) -> anyhow::Result<Self> {
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
        let head = borrow(root, &git, &run)?;
        if let Some(head) = &head {
            run(&["update-ref", &format!("refs/heads/{branch}"), head])?;
        }
        let tree = format!("--work-tree={}", root.display());
        run(&[&tree, "add", "--all", "."])?;
        let written = run(&["write-tree"])?;
        let committed = head.map(|head| run(&["rev-parse", &format!("{head}^{{tree}}")]));
        // A tree without changes is the commit itself.
        if committed.transpose()? != Some(written) {
            run(&[
                &tree,
                "commit",
                "--quiet",
                "--allow-empty",
                "--no-verify",
                "-m",
                "the working tree",
            ])?;
        }
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

/// Branches, tags and objects of the tree's own repository; gives the commit it is at. `None`: it
/// is none, or has no commit.
fn borrow(
    root: &Path,
    git: &Path,
    run: &dyn Fn(&[&str]) -> anyhow::Result<String>,
) -> anyhow::Result<Option<String>> {
    let ask = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command.current_dir(root).args(arguments);
        output(command).ok()
    };
    let Some(head) = ask(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"]) else {
        return Ok(None);
    };
    let objects = ask(&[
        "rev-parse",
        "--path-format=absolute",
        "--git-path",
        "objects",
    ]);
    let own = ask(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let (Some(objects), Some(own)) = (objects, own) else {
        return Ok(None);
    };
    let alternates = git.join("objects/info/alternates");
    std::fs::write(&alternates, format!("{objects}\n"))
        .with_context(|| alternates.display().to_string())?;
    // All objects are here already: only names are written down.
    run(&[
        "-c",
        "protocol.file.allow=always",
        "fetch",
        "--quiet",
        "--no-tags",
        "--update-shallow",
        "--update-head-ok",
        "--no-write-fetch-head",
        "--no-recurse-submodules",
        "--no-auto-maintenance",
        "--",
        &own,
        "+HEAD:refs/exec/head",
        "+refs/heads/*:refs/heads/*",
        "+refs/tags/*:refs/tags/*",
    ])?;
    Ok(Some(head))
}

/// The workflow's file in the snapshot: only files in the directories of workflows are workflows of
/// a commit.
pub(crate) fn workflow_path(file: &str, repository: &WorkflowDirectory) -> anyhow::Result<String> {
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

pub(super) fn output(mut command: Command) -> anyhow::Result<String> {
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

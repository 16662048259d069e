//! The repository of one run: an agent's own, made from the mirror before it starts and read back
//! after it has ended.

use std::fs;
use std::path::{Path, PathBuf};

use forge_core::CommitSha;
use git_engine::Git;

use super::error::WorktreeError;
use super::guard;
use super::mirror::{ProjectMirror, write_config};
use super::tree::Worktree;

/// The configuration of a fresh clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CloneConfig {
    /// The address of `origin`, without any secret.
    pub(super) origin: Option<String>,
    /// `user.name` and `user.email` of the project's checkout, where it has its own.
    pub(super) user: [Option<String>; 2],
    /// Branches of `origin` as the mirror knows them.
    pub(super) branches: Vec<(String, CommitSha)>,
}

/// The inner folder of a worktree.
pub(super) fn inner(worktree: &Worktree) -> PathBuf {
    worktree.folder.join(".git")
}

/// Makes the clone and checks its files out. Objects are those of the mirror, which the agent reads
/// and does not write.
pub(super) fn make(
    git: &Git,
    mirror: &ProjectMirror,
    worktree: &Worktree,
    facts: &CloneConfig,
) -> Result<(), WorktreeError> {
    let folder = &worktree.folder;
    fs::create_dir(folder).map_err(WorktreeError::at_path(folder))?;
    let format = if worktree.start.as_str().len() > 40 {
        "sha256"
    } else {
        "sha1"
    };
    let init = git.call(folder, "init").args(["--quiet"]);
    init.args([&format!("--object-format={format}")])
        .arg(".")
        .output()?;
    let inner = inner(worktree);
    write_config(&inner, &config(format, facts))?;
    share_objects(&inner, mirror)?;
    let write = |name: &str, text: String| {
        let path = inner.join(name);
        fs::write(&path, text).map_err(WorktreeError::at_path(&path))
    };
    write("packed-refs", references(worktree, facts))?;
    write("HEAD", format!("ref: refs/heads/{}\n", worktree.branch))?;
    let checkout = git.call(folder, "checkout");
    checkout.args(["--quiet", "--force"]).output()?;
    Ok(())
}

/// Writes every reference of a fresh clone, with all that it reaches, into a bundle.
pub(super) fn bundle(git: &Git, worktree: &Worktree, file: &Path) -> Result<(), WorktreeError> {
    let call = git.call(&worktree.folder, "bundle");
    call.args(["create", "--quiet"])
        .arg(file)
        .arg("--all")
        .output()?;
    Ok(())
}

/// Shows a commit of the mirror as the run's branch, in a clone that no agent has touched.
pub(super) fn show(
    git: &Git,
    worktree: &Worktree,
    commit: &CommitSha,
) -> Result<(), WorktreeError> {
    let call = git.call(&worktree.folder, "reset");
    call.args(["--hard", "--quiet", commit.as_str()]).output()?;
    Ok(())
}

/// Before anything is read from a clone whose agent has ended: a real folder, our configuration,
/// our objects. `false` when it is no repository any more.
pub(super) fn tame(
    mirror: &ProjectMirror,
    worktree: &Worktree,
    facts: &CloneConfig,
) -> Result<bool, WorktreeError> {
    let inner = inner(worktree);
    let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|data| data.is_dir());
    let parts = [
        inner.clone(),
        inner.join("objects"),
        inner.join("objects/info"),
        inner.join("refs"),
    ];
    if !is_folder(&worktree.folder) || !parts.iter().all(|path| is_folder(path)) {
        return Ok(false);
    }
    guard::real_folder_below(&worktree.folder, &inner)?;
    let format = if worktree.start.as_str().len() > 40 {
        "sha256"
    } else {
        "sha1"
    };
    write_config(&inner, &config(format, facts))?;
    share_objects(&inner, mirror)?;
    Ok(true)
}

/// Objects of the mirror are found in the clone, and of no other repository.
fn share_objects(inner: &Path, mirror: &ProjectMirror) -> Result<(), WorktreeError> {
    let info = inner.join("objects/info");
    fs::create_dir_all(&info).map_err(WorktreeError::at_path(&info))?;
    guard::remove_tree(&info.join("http-alternates"))?;
    let path = info.join("alternates");
    guard::remove_tree(&path)?;
    let text = format!("{}\n", mirror.folder().join("objects").display());
    fs::write(&path, text).map_err(WorktreeError::at_path(&path))
}

fn config(format: &str, facts: &CloneConfig) -> String {
    let mut text =
        "[core]\n\tbare = false\n\tfilemode = true\n\tlogallrefupdates = true\n".to_owned();
    text += if format == "sha256" {
        "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
    } else {
        "\trepositoryformatversion = 0\n"
    };
    if let Some(origin) = &facts.origin {
        text += &format!(
            "[remote \"origin\"]\n\turl = {}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            quoted(origin)
        );
    }
    for (key, value) in ["name", "email"].iter().zip(&facts.user) {
        if let Some(value) = value {
            text += &format!("[user]\n\t{key} = {}\n", quoted(value));
        }
    }
    text
}

/// A value of a configuration file that is nothing but this value.
fn quoted(value: &str) -> String {
    let plain: String = value.chars().filter(|c| !c.is_control()).collect();
    format!("\"{}\"", plain.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The run's branch, and those of `origin`, for comparisons like `origin/main...HEAD`.
fn references(worktree: &Worktree, facts: &CloneConfig) -> String {
    let mut rows = vec![(
        format!("refs/heads/{}", worktree.branch),
        worktree.start.clone(),
    )];
    for (name, commit) in &facts.branches {
        rows.push((format!("refs/remotes/origin/{name}"), commit.clone()));
        rows.push((format!("refs/heads/{name}"), commit.clone()));
    }
    rows.sort();
    rows.dedup_by(|a, b| a.0 == b.0);
    let rows = rows
        .iter()
        .map(|(name, commit)| format!("{commit} {name}\n"));
    rows.collect()
}

//! Removes the worktrees of runs that have ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use orchestrator_core::Millis;
use orchestrator_core::worktree::is_stale;

use super::error::WorktreeError;
use super::tree::Worktree;
use super::{Worktrees, clone, guard};

/// Most entries looked at to find out when a worktree was last modified; one with more is taken to
/// be as old as what was looked at.
const MAX_ENTRIES: usize = 200_000;

/// What the run table says of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorktreeRun {
    /// It is queued, starting or running: its worktree stays.
    Live,
    /// It has ended; this is its worktree.
    Ended(Worktree),
    /// There is no such run.
    Unknown,
}

/// What became of one directory below the root.
#[derive(Debug, PartialEq, Eq)]
pub enum GcOutcome {
    /// It was removed; its commits stay on their branch.
    Removed(PathBuf),
    /// It was modified lately, or its run goes on.
    Kept(PathBuf),
    /// The run table does not know it; it is left alone, for a person to look at.
    Unknown(PathBuf),
    /// It could not be removed.
    Failed(PathBuf, String),
}

impl Worktrees {
    /// Goes over all worktrees: `state` tells what the run table knows of a run, by the name of its
    /// folder. Before one is removed, its commits are settled.
    pub fn collect_garbage(
        &self,
        state: &dyn Fn(&str) -> WorktreeRun,
        now: SystemTime,
    ) -> Vec<GcOutcome> {
        let folders = |path: &Path| -> Vec<PathBuf> {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let mut paths: Vec<PathBuf> = real.map(|entry| entry.path()).collect();
            paths.sort();
            paths
        };
        let all = folders(&self.root)
            .into_iter()
            .flat_map(|project| folders(&project));
        all.map(|folder| self.collect_one(folder, state, now))
            .collect()
    }

    fn collect_one(
        &self,
        folder: PathBuf,
        state: &dyn Fn(&str) -> WorktreeRun,
        now: SystemTime,
    ) -> GcOutcome {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        match state(&name) {
            WorktreeRun::Live => GcOutcome::Kept(folder),
            WorktreeRun::Unknown => GcOutcome::Unknown(folder),
            WorktreeRun::Ended(_) if !is_stale(last_modified(&folder, now), millis(now)) => {
                GcOutcome::Kept(folder)
            }
            // The table's folder and this one must be the same before anything is deleted.
            WorktreeRun::Ended(worktree) if worktree.folder != folder => GcOutcome::Unknown(folder),
            WorktreeRun::Ended(worktree) => match self.remove(&worktree) {
                Ok(()) => GcOutcome::Removed(folder),
                Err(error) => GcOutcome::Failed(folder, error.to_string()),
            },
        }
    }

    /// Removes a worktree at once. Its commits are settled first, and stay.
    ///
    /// # Errors
    /// When the disk refuses, or the folder is not where it should be.
    pub fn remove(&self, worktree: &Worktree) -> Result<(), WorktreeError> {
        let parent = worktree.folder.parent().unwrap_or(&self.root);
        if parent.exists() {
            guard::real_folder_below(&self.root, parent)?;
        }
        if clone::inner(worktree)
            .symlink_metadata()
            .is_ok_and(|data| data.is_dir())
        {
            self.settle(worktree)?;
            let mirror = self.mirror(&worktree.project, &worktree.repository)?;
            mirror.forget(&worktree.staged(""))?;
        }
        guard::remove_tree(&worktree.folder)?;
        // What a worktree of the earlier kind left in the checkout; its commits are on a branch
        // there.
        let administration = worktree.administration();
        if administration.symlink_metadata().is_err() {
            return Ok(());
        }
        let all = worktree.repository.join("worktrees");
        guard::real_folder_below(&worktree.repository, &all)?;
        guard::remove_tree(&administration)
    }
}

/// When anything in the tree was modified last, as far as it matters: the first thing that is not
/// stale at `now` ends the look. Links are not followed.
fn last_modified(folder: &Path, now: SystemTime) -> Millis {
    let modified = |path: &Path| {
        let modified = path.symlink_metadata().and_then(|data| data.modified());
        modified.map_or(0, millis)
    };
    let now = millis(now);
    let mut newest = modified(folder);
    let mut open = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            seen += 1;
            newest = newest.max(modified(&entry.path()));
            if !is_stale(newest, now) {
                return newest;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
        if seen > MAX_ENTRIES {
            break;
        }
    }
    newest
}

fn millis(time: SystemTime) -> Millis {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Millis::try_from(since.as_millis()).unwrap_or(Millis::MAX)
}

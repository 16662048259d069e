//! Where an agent works: a worktree of its own, or the project's checkout.

use std::path::{Path, PathBuf};

use forge_core::RunId;
use orchestrator_core::config::WorktreeMode;
use orchestrator_core::run::{Run, WorktreeRecord};
use orchestrator_engine::worktree::{Worktree, WorktreePurpose, Worktrees};

use super::assignment::Assignment;
use super::base_commit::{lend_head, start_commit};
use super::prepare_error::RunPrepareError;
use crate::host::WorktreeRoots;
use crate::journal::{JournalEvent, RecordedEvent};

/// The directory of an agent, and what is made for it.
pub(super) struct Workspace {
    directory: PathBuf,
    own: Option<OwnWorktree>,
}

/// Where the commits of a run are once it has ended.
#[derive(Debug)]
pub(super) enum Commits {
    /// In its worktree.
    InWorktree,
    /// In a bundle of a VM.
    Bundle(PathBuf),
    /// There are none.
    None,
}

/// A worktree that was made for the run.
struct OwnWorktree {
    worktrees: Worktrees,
    tree: Worktree,
    record: WorktreeRecord,
}

impl Workspace {
    /// Fetches the commit that the run begins at, and checks it out where the agent has a worktree.
    pub(super) fn prepare(
        roots: &WorktreeRoots,
        assignment: &Assignment<'_>,
    ) -> Result<Self, RunPrepareError> {
        let Assignment {
            agent,
            project,
            run,
            ..
        } = assignment;
        if agent.worktree == WorktreeMode::None {
            lend_head(roots, assignment)?;
            return Ok(Self {
                directory: project.working_dir.clone(),
                own: None,
            });
        }
        let worktrees = roots.worktrees(&project.worktree_root)?;
        let start = start_commit(roots, assignment)?;
        let purpose = WorktreePurpose {
            project: run.project.clone(),
            agent: run.agent.clone(),
            run: run.id.clone(),
        };
        let made = worktrees.create(&project.working_dir, &purpose, &start);
        let tree = made.map_err(|error| error.to_string())?;
        let branch = tree.branch.parse().map_err(|error| format!("{error}"))?;
        let record = WorktreeRecord {
            path: tree.folder.display().to_string(),
            branch,
            present: true,
        };
        Ok(Self {
            directory: tree.folder.clone(),
            own: Some(OwnWorktree {
                worktrees,
                tree,
                record,
            }),
        })
    }

    /// Where the agent works.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The worktree that was made for the run.
    pub(super) fn tree(&self) -> Option<&Worktree> {
        self.own.as_ref().map(|own| &own.tree)
    }

    /// The worktree as the run's row has it.
    pub(super) fn record(&self) -> Option<WorktreeRecord> {
        self.own.as_ref().map(|own| own.record.clone())
    }

    /// The journal entry of the worktree.
    pub(super) fn created_entry(&self, run: &Run) -> Option<RecordedEvent> {
        let path = self.own.as_ref()?.record.path.clone();
        Some(RecordedEvent::new(run, JournalEvent::WorktreeCreated(path)))
    }

    /// Lays the worktree, where there is one, ready to be put into a VM: its repository as a
    /// bundle, its configuration, and the name of its branch, as these files.
    pub(super) fn pack(&self, [repository, config, branch]: [PathBuf; 3]) -> Result<(), String> {
        let Some(OwnWorktree {
            worktrees, tree, ..
        }) = &self.own
        else {
            return Ok(());
        };
        let packed = worktrees.pack(tree, &repository, &config);
        packed.map_err(|error| error.to_string())?;
        std::fs::write(&branch, &tree.branch)
            .map_err(|error| format!("{}: {error}", branch.display()))
    }

    /// After the run: no commit of it is left without a branch. `made` says where they are. The
    /// second is why they are where they were made.
    pub(super) fn settle(
        self,
        run: &RunId,
        made: &Commits,
    ) -> (Option<WorktreeRecord>, Option<String>) {
        let Some(OwnWorktree {
            worktrees,
            tree,
            mut record,
        }) = self.own
        else {
            return (None, None);
        };
        let mut left_behind = None;
        let settled = match made {
            Commits::InWorktree => worktrees.settle(&tree),
            Commits::Bundle(bundle) => worktrees.settle_bundle(&tree, bundle),
            Commits::None => return (Some(record), None),
        };
        match settled {
            Ok(settled) => {
                if let Ok(branch) = settled.branch.parse() {
                    record.branch = branch;
                }
                if let Commits::Bundle(bundle) = made {
                    // It is in the mirror.
                    let _ = std::fs::remove_file(bundle);
                }
            }
            Err(error) => {
                tracing::warn!(
                    event = "worktree.not_settled", run = %run, error = %error,
                    "the commits of a run could not be looked after; its worktree stays"
                );
                left_behind = Some(error.to_string());
            }
        }
        (Some(record), left_behind)
    }

    /// Removes the worktree of a run that did not begin.
    pub(super) fn discard(self) {
        let Some(OwnWorktree {
            worktrees, tree, ..
        }) = self.own
        else {
            return;
        };
        if let Err(error) = worktrees.remove(&tree) {
            tracing::warn!(
                event = "worktree.not_removed", path = %tree.folder.display(), error = %error,
                "the worktree of a run that did not begin stays"
            );
        }
    }
}

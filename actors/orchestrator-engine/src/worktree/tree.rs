//! One worktree, and what it is for.

use std::path::PathBuf;

use forge_core::{AgentName, CommitSha, ProjectId, RunId};

use crate::names::safe_name;

/// What a worktree is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePurpose {
    /// The project.
    pub project: ProjectId,
    /// The agent.
    pub agent: AgentName,
    /// The run.
    pub run: RunId,
}

/// A worktree that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worktree {
    /// The folder the agent works in.
    pub folder: PathBuf,
    /// The repository of the project's checkout, which gets the run's branch: its `.git` folder, or
    /// a bare one.
    pub repository: PathBuf,
    /// The project.
    pub project: ProjectId,
    /// Its branch, `orch/<agent>/<run>`.
    pub branch: String,
    /// The commit it began with.
    pub start: CommitSha,
    /// The run.
    pub run: RunId,
}

impl WorktreePurpose {
    /// The branch that all work of the run is on.
    pub fn branch(&self) -> String {
        format!("orch/{}/{}", self.agent, self.run)
    }
}

impl Worktree {
    /// A reference of the mirror that is about this run alone, until its worktree is removed.
    pub(super) fn staged(&self, name: &str) -> String {
        format!("refs/orch/runs/{}/{name}", safe_name(self.run.as_str()))
    }

    /// What the checkout keeps about a worktree of the kind that was made before there was a
    /// mirror. Named by git after the folder.
    pub(super) fn administration(&self) -> PathBuf {
        self.repository
            .join("worktrees")
            .join(safe_name(self.run.as_str()))
    }
}

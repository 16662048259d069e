//! What reconciliation decides; actors carry it out.

use forge_core::{AgentName, CommitSha, ProjectId, RepoName, RunId};

use crate::Millis;
use crate::intake::AgentKey;
use crate::reconcile::ScheduleMark;
use crate::run::{Hold, Reason, StatusKey};

/// One decision. Carrying it out twice does no harm: the run table says what was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReconcileAction {
    /// Start a queued run: its state becomes `starting`, then worktree, prompt and process are
    /// made.
    Start {
        /// The run.
        run: RunId,
    },
    /// Remember why a queued run waits; only when it differs from what is remembered.
    Hold {
        /// The run.
        run: RunId,
        /// Why.
        hold: Hold,
    },
    /// End a queued run without a process, and its status with it.
    Reject {
        /// The run.
        run: RunId,
        /// Why.
        reason: Reason,
    },
    /// End the process of a run.
    Kill {
        /// The run.
        run: RunId,
        /// Why.
        reason: Reason,
    },
    /// A run is recorded as active, but no process of it is known: record its end.
    Lost {
        /// The run.
        run: RunId,
    },
    /// Queue a scheduled run.
    Schedule {
        /// The agent's project.
        project: ProjectId,
        /// The agent.
        agent: AgentName,
        /// The due time it is for.
        due: Millis,
    },
    /// Remember how far a schedule was followed.
    MarkSchedule {
        /// The agent.
        agent: AgentKey,
        /// How far.
        mark: ScheduleMark,
    },
    /// A status is pending, but its run has ended or is gone: give it its terminal state.
    CloseStatus {
        /// Which.
        status: StatusKey,
        /// The run.
        run: RunId,
    },
    /// Compare the statuses of a commit with what the forge has, and post what it misses.
    VerifyStatuses {
        /// The repository.
        repository: RepoName,
        /// The commit.
        sha: CommitSha,
    },
    /// Ask the forge for comments and pull requests since the cursor.
    Poll {
        /// The project.
        project: ProjectId,
    },
    /// Ask the forge whether the author of a queued run may write to the repository.
    CheckAuthor {
        /// The run.
        run: RunId,
    },
}

//! Messages of the runner.

use actix::Message;
use runner_core::protection::ProtectionVerdict;
use store::StoreError;

use crate::event::StoredEvent;
use crate::kept::ShellOpenError;

/// Stores a run that no webhook started, and starts it; gives its id. Sent by
/// `workflow-runner exec`.
#[derive(Debug, Message)]
#[rtype(result = "Result<String, StoreError>")]
pub struct StartEvent {
    /// What it is of.
    pub event: StoredEvent,
    /// Only this workflow file; `None`: all that the event starts.
    pub workflow: Option<String>,
    /// Only this job and those it needs.
    pub job: Option<String>,
    /// In place of a delivery's id.
    pub cause: String,
}

/// Starts a workflow that says `workflow_dispatch`; gives the run's id. Sent by the HTTP edge and
/// for jobs, handled by [`crate::RunCoordinator`].
#[derive(Debug, Message)]
#[rtype(result = "Result<Result<String, DispatchFailure>, StoreError>")]
pub struct DispatchWorkflow {
    /// `owner/repo`.
    pub repository: String,
    /// The branch or tag; `None`: the default branch.
    pub branch: Option<String>,
    /// The workflow's file, by its path or its name alone.
    pub workflow: String,
    /// Its inputs.
    pub inputs: Vec<(String, String)>,
    /// Who asks.
    pub actor: String,
    /// VMs of jobs that fail are kept for a while.
    pub keep: bool,
    /// Snapshots are taken between their steps; `keep` is part of it.
    pub snapshots: bool,
}

/// Why nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DispatchFailure {
    /// It has not pushed yet.
    #[error("no push of this repository has been run, so it is not known where it is; push once")]
    Repository,
    /// It has no such branch or tag.
    #[error("the repository has no such branch or tag")]
    Branch,
    /// There is no such file there.
    #[error("the newest commit has no workflow file {0}")]
    Workflow(String),
    /// The workflow cannot be started so: why.
    #[error("{0}")]
    Inputs(String),
    /// Which commit is its newest cannot be asked now; an older one is not taken in its place.
    #[error("the repository cannot be asked for the branch's newest commit: {0}")]
    Unreachable(String),
}

/// Runs an ended run again, from its stored event; gives the new run's id. Sent by the HTTP edge,
/// handled by [`crate::RunCoordinator`].
#[derive(Debug, Message)]
#[rtype(result = "Result<Result<String, RepeatError>, StoreError>")]
pub struct RepeatRun {
    /// Its id.
    pub run: String,
    /// Only the jobs that did not succeed, and what needs them; the others keep their ends, outputs
    /// and artifacts.
    pub failed_only: bool,
    /// Only this job, by its name or key, and what needs it, however it ended; the others keep
    /// theirs.
    pub job: Option<String>,
    /// VMs of jobs that fail are kept for a while.
    pub keep: bool,
    /// Snapshots are taken between their steps; `keep` is part of it.
    pub snapshots: bool,
    /// One of its jobs begins in the VM that is kept of it; the others are those that failed.
    pub from_step: Option<FromStep>,
}

/// Before which step of which job a re-run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FromStep {
    /// The job's name or key; the only one that is kept without it.
    pub job: Option<String>,
    /// The step's number.
    pub step: u32,
}

/// Why a run was not started again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RepeatError {
    /// It is not known, or its event is not.
    #[error("there is no run with this id")]
    Unknown,
    /// It runs, or the last attempt of it does.
    #[error("the run {0} has not ended")]
    Runs(String),
    /// All its jobs succeeded.
    #[error("no job of the run {0} failed; run all of it again")]
    NothingFailed(String),
    /// It has no such job.
    #[error("the run {0} has no job {job}", job = config_core::quoted(.1))]
    UnknownJob(String, String),
    /// The VM of another attempt is kept.
    #[error("the run {0} is a newer attempt: only the newest goes on in its VM")]
    NotNewest(String),
    /// There is no such VM, or no such snapshot.
    #[error("it cannot begin there: {0}")]
    NoSnapshot(ShellOpenError),
    /// It is not known what needs what failed.
    #[error("the run {0} was never planned, or by a former version; run all of it again")]
    NoPlan(String),
}

/// Approves or rejects what a run waits for; gives the environments it is of, none for a pull
/// request from a fork. Sent by the HTTP edge, handled by [`crate::RunCoordinator`].
#[derive(Debug, Message)]
#[rtype(result = "Result<Result<Vec<String>, ReviewError>, StoreError>")]
pub struct ReviewRun {
    /// Its id.
    pub run: String,
    /// Only these environments; none: all that it waits for.
    pub environments: Vec<String>,
    /// What is said.
    pub verdict: ProtectionVerdict,
    /// By whom.
    pub by: Option<String>,
    /// Why.
    pub comment: Option<String>,
}

/// Why a review was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReviewError {
    /// It is not known.
    #[error("there is no run with this id")]
    Unknown,
    /// Nothing waits for somebody.
    #[error("the run waits for no approval")]
    NotWaiting,
    /// Not for this one.
    #[error("the run waits for no approval of an environment {0}")]
    Environment(String),
}

/// Ends a run. Sent by the HTTP edge, handled by [`crate::RunCoordinator`]; the reply says whether
/// the run was under way.
#[derive(Debug, Message)]
#[rtype(result = "bool")]
pub struct CancelRun {
    /// Its id.
    pub run: String,
    /// Who asks, for the record.
    pub reason: String,
}

//! What steps see of each other, and how one ended.

use std::collections::BTreeMap;
use std::time::Duration;

use http_clients::vmm::VmmError;
use runner_core::context::WORKSPACE;
use runner_core::expr::{Contexts, IfCondition, Object, StatusFlags};
use runner_core::plan::StoredLocation;
use runner_core::state::StepEnd;

use super::step_user::StepUser;

/// Steps that see each other: those of the job, or of one composite action.
#[derive(Clone)]
pub(super) struct Frame {
    pub(super) contexts: Contexts,
    pub(super) steps: Object,
    /// Variables of the composite step itself.
    pub(super) env: Vec<(String, String)>,
    pub(super) failed: bool,
    /// The job had failed when the composite action began whose steps they are.
    pub(super) job_failed: bool,
    /// `github.action_path`.
    pub(super) action_path: Option<String>,
    /// The repository and version of the action whose steps they are.
    pub(super) action: Option<StoredLocation>,
}

/// Who a process is started for: what of its environment is not the job's.
#[derive(Clone)]
pub(super) struct ProcessOwner {
    /// The step's id, or what stands for one.
    pub(super) id: String,
    pub(super) action_path: Option<String>,
    pub(super) action: Option<StoredLocation>,
    /// Variables of the composite step around it.
    pub(super) env: Vec<(String, String)>,
}

/// A process of a step: what is put into the machine for it, and how it is started.
pub(super) struct StepProcess {
    /// Where its files lie in the machine.
    pub(super) directory: String,
    /// Its script: name and text.
    pub(super) script: Option<(String, String)>,
    pub(super) argv: Vec<String>,
    pub(super) cwd: String,
    pub(super) env: BTreeMap<String, String>,
    pub(super) limit: Option<Duration>,
    /// What it finds itself in, where that is a container which the command enters.
    pub(super) within: Option<ProcessStart>,
}

/// What a process of a step finds itself in.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessStart {
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: String,
    pub(super) container: Option<StepContainer>,
    /// Who it is, unless root or in a container.
    pub(super) user: Option<StepUser>,
}

/// The container that the steps of a job run in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepContainer {
    pub(super) id: String,
    /// Whom they run as there, `uid:gid`.
    pub(super) user: String,
}

/// How one step ended.
pub(super) struct StepResult {
    pub(super) end: StepEnd,
    pub(super) reason: Option<String>,
    pub(super) outputs: Vec<(String, String)>,
    pub(super) summary: Option<String>,
    /// State that an action keeps for what runs after the job's steps.
    pub(super) state: Vec<(String, String)>,
    /// The image of the machine does not have what it asks for.
    pub(super) absent: bool,
}

impl StepResult {
    /// Its condition does not hold, or, where it says nothing of it, a step before it failed.
    pub(super) fn skipped(condition: Option<&IfCondition>, status: StatusFlags) -> Self {
        let by_status = !status.success && condition.is_none_or(IfCondition::needs_success);
        let reason = match by_status {
            true if status.cancelled => "the job was cancelled",
            true => "a step before it failed",
            false => "its condition does not hold",
        };
        Self {
            end: StepEnd::Skipped,
            ..Self::error(reason)
        }
    }

    pub(super) fn success(outputs: Vec<(String, String)>) -> Self {
        Self {
            end: StepEnd::Exited(0),
            reason: None,
            outputs,
            summary: None,
            state: Vec::new(),
            absent: false,
        }
    }

    pub(super) fn error(reason: impl Into<String>) -> Self {
        Self {
            end: StepEnd::Error,
            reason: Some(reason.into()),
            outputs: Vec::new(),
            summary: None,
            state: Vec::new(),
            absent: false,
        }
    }

    /// It was ended before it began.
    pub(super) fn cancelled() -> Self {
        Self {
            end: StepEnd::Cancelled,
            ..Self::error("cancelled")
        }
    }

    /// Files that a VM did not take: what it refuses of them is the step's failure, and everything
    /// else the VM's.
    pub(super) fn not_put(error: &VmmError, reason: String) -> Self {
        match error {
            VmmError::Refused(_) => Self::error(reason),
            _ => Self::lost(reason),
        }
    }

    pub(super) fn lost(reason: impl Into<String>) -> Self {
        Self {
            end: StepEnd::Lost,
            ..Self::error(reason)
        }
    }
}

/// A cache entry to be saved when the job has succeeded.
#[derive(Clone)]
pub(super) struct CacheToSave {
    /// How many stages of actions were to run after the job when it was restored: it is saved
    /// before them, as the action's own stage would be.
    pub(super) posts: usize,
    pub(super) key: String,
    pub(super) paths: Vec<String>,
}

/// Sets a variable, in place of an older one of its name.
pub(super) fn set(pairs: &mut Vec<(String, String)>, (name, value): (String, String)) {
    match pairs.iter_mut().find(|(known, _)| *known == name) {
        Some((_, old)) => *old = value,
        None => pairs.push((name, value)),
    }
}

/// The processor of the VMs, which is the host's.
pub(super) const ARCH: &str = if cfg!(target_arch = "aarch64") {
    "ARM64"
} else {
    "X64"
};

/// An absolute directory: a relative one is meant from the workspace.
pub(super) fn in_workspace(directory: &str) -> String {
    let directory = directory.trim().trim_end_matches('/');
    match directory.strip_prefix("./").unwrap_or(directory) {
        "" | "." => WORKSPACE.to_owned(),
        absolute if absolute.starts_with('/') => absolute.to_owned(),
        relative => format!("{WORKSPACE}/{relative}"),
    }
}

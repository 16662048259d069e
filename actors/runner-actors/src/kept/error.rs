//! Why nobody gets into a kept VM.

use http_clients::vmm::VmmError;

/// Why there is no shell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShellOpenError {
    /// No VM of the run is kept.
    #[error(
        "no VM of the run {0} is kept: run it again with `keep`, or set `failed = true` in [keep]; after its time a VM is given back"
    )]
    NoRun(String),
    /// None of this job is.
    #[error("no VM of the job `{job}` of the run {run} is kept")]
    NoVm {
        /// The run.
        run: String,
        /// The job.
        job: String,
    },
    /// Several are, and none was named.
    #[error("VMs of several jobs of the run {0} are kept: name one")]
    Which(String),
    /// It was not kept as it was before that step.
    #[error("the job `{job}` cannot go back to before step {step}: {why}")]
    NoSnapshot {
        /// The job.
        job: String,
        /// The step.
        step: u32,
        /// What there is.
        why: String,
    },
    /// Somebody is in it.
    #[error("a shell is open in the VM of the job `{0}`: close it first")]
    InUse(String),
    /// The manager says no.
    #[error(transparent)]
    Vmm(#[from] VmmError),
}

impl ShellOpenError {
    pub(super) fn none(run: &str) -> Self {
        Self::NoRun(run.to_owned())
    }
}

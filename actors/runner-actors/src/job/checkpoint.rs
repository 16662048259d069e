//! Between two steps: the VM's snapshot, and what the runner knows of the job at that moment.
//!
//! ```text
//! step 3 ─▶ Checkpoint { snapshot of the VM, JobState } ─▶ step 4 fails ─▶ KeptVms
//!                              └─ re-run from step 4: VM restored, JobState taken up ─▶ step 4
//! ```
//! Both stay in memory and with the VM: a re-run begins in the VM that is kept, or at its first
//! step.

use http_clients::vmm::SnapshotName;
use runner_core::expr::Object;
use runner_core::mask::MaskedSecrets;

use super::checked_out::CheckedOutTree;
use super::container_state::JobContainers;
use super::counters::JobCounts;
use super::frame::CacheToSave;
use super::node_state::NodeActions;
use super::shell_start::ShellEnvironment;
use super::variables::JobVariables;
use crate::records::StepRecord;

/// A job as it was before one of its steps.
#[derive(Clone)]
pub(crate) struct Checkpoint {
    /// The step that comes next, by its number.
    pub(crate) step: u32,
    /// Its name, masked.
    pub(crate) name: String,
    /// Memory and disk of the VM.
    pub(crate) snapshot: SnapshotName,
    /// What it takes on the host's disk.
    pub(crate) bytes: u64,
    /// What a shell begins with there.
    pub(crate) shell: ShellEnvironment,
    /// The step's place among those of the job.
    pub(super) position: usize,
    /// How many steps the job had then: a plan with others is another one.
    pub(super) planned: usize,
    pub(super) state: JobState,
}

/// What steps see of each other, and what the runner has promised to do after them.
#[derive(Clone)]
pub(super) struct JobState {
    /// Results of steps.
    pub(super) steps: Object,
    pub(super) variables: JobVariables,
    pub(super) number: u32,
    pub(super) counts: JobCounts,
    pub(super) trees: Vec<CheckedOutTree>,
    pub(super) keys: Vec<String>,
    pub(super) caches: Vec<CacheToSave>,
    pub(super) node_actions: NodeActions,
    /// What the VM's engine runs.
    pub(super) containers: JobContainers,
    pub(super) secrets: MaskedSecrets,
    pub(super) forge_token: Option<String>,
    /// The steps before, for the record of the job that goes on from here.
    pub(super) records: Vec<DoneStep>,
}

/// A step that has ended, and the run in which it did.
#[derive(Clone)]
pub(super) struct DoneStep {
    pub(super) run: String,
    pub(super) record: StepRecord,
}

impl Checkpoint {
    /// What stood for the forge's token: it lies in files of the VM.
    pub(super) fn forge_token(&self) -> Option<&str> {
        self.state.forge_token.as_deref()
    }

    /// The step with which a job goes on that has so many steps; `None`: it is of another plan.
    pub(super) fn position(&self, planned: usize) -> Option<usize> {
        (self.planned == planned).then_some(self.position)
    }
}

/// The snapshots of a job, and whether more are taken.
#[derive(Default)]
pub(super) struct Checkpoints {
    /// The oldest first.
    pub(super) taken: Vec<Checkpoint>,
    /// There is a reason to take none any more; it was said.
    pub(super) stopped: bool,
}

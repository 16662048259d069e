//! What a run and its jobs tell each other.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cluster_actors::vm_hosts::{MachineType, VmHosts};
use runner_core::context::RunFacts;
use runner_core::event::EventContext;
use runner_core::expr::Contexts;
use runner_core::hosted_label::{
    ARCHITECTURE, FULL_IMAGE, image_os, is_other_architecture, is_other_system,
};
use runner_core::plan::{JobInstance, Plan, WorkspaceStart};
use runner_core::state::Conclusion;
use runner_core::test_report::JobTests;
use tokio::sync::{mpsc, oneshot};
use url::Url;

use super::project_tests::ProjectTests;
use crate::action_store::ActionStore;
use crate::artifact_room::ArtifactOrigin;
use crate::artifacts::{ArtifactMaker, ArtifactStore};
use crate::caches::CacheStore;
use crate::checkout_source::CheckoutSource;
use crate::image_store::ContainerImageStore;
use crate::job_admission::{JobAdmission, JobUnderWay};
use crate::job_services::JobServices;
use crate::kept::KeptVms;
use crate::records::{JobEnd, ResumePoint, StepRecord};
use crate::run_finder::RunFinder;

/// Everything a job needs to run.
#[derive(Clone)]
pub(crate) struct JobRequest {
    pub(crate) run: String,
    /// The key of the request for a VM: the same after a repeated call, another for another
    /// attempt.
    pub(crate) vm_key: String,
    pub(crate) plan: Arc<Plan>,
    /// Index into the plan's jobs.
    pub(crate) job: usize,
    pub(crate) instance: JobInstance,
    /// github, vars, secrets, needs, inputs.
    pub(crate) contexts: Contexts,
    /// The environment that it names.
    pub(crate) environment: Option<String>,
    pub(crate) event: Arc<EventContext>,
    pub(crate) facts: RunFacts,
    /// What is masked in all output.
    pub(crate) secrets: Vec<String>,
    pub(crate) source: JobSource,
    pub(crate) placement: JobPlacement,
    /// `owner/repo`.
    pub(crate) repository: String,
    /// Where people read the run and its artifacts.
    pub(crate) page: Option<Url>,
    pub(crate) stores: JobStores,
    /// What clients in the machine talk to, where it can reach them.
    pub(crate) services: Option<JobServices>,
    /// Whether it may begin.
    pub(crate) admission: JobAdmission,
    pub(crate) retention: VmRetention,
    /// What the project says of its tests.
    pub(crate) tests: Arc<ProjectTests>,
    /// Bytes of its output that are kept of a step, from the beginning.
    pub(crate) log_step_max: u64,
}

/// Where a job's files come from.
#[derive(Clone)]
pub(crate) struct JobSource {
    /// The commit's files with `.git`, on the host.
    pub(crate) checkout: PathBuf,
    /// What the workspace has where nothing is checked out.
    pub(crate) workspace: WorkspaceStart,
    /// Where steps get other commits and repositories.
    pub(crate) checkouts: CheckoutSource,
}

/// Which machine a job runs on.
#[derive(Clone)]
pub(crate) struct JobPlacement {
    pub(crate) machine: MachineType,
    /// What it is asked for first, when its label is one of a hosted machine.
    pub(crate) hosted: Option<MachineType>,
    /// Whether it is `default`, since nobody has configured one for the labels.
    pub(crate) is_default: bool,
    /// Longest wait for a VM.
    pub(crate) vm_timeout: Duration,
    pub(crate) hosts: VmHosts,
}

/// The stores that a job's steps load from and save to.
#[derive(Clone)]
pub(crate) struct JobStores {
    /// The store of actions of other repositories.
    pub(crate) actions: ActionStore,
    /// The store of images of containers.
    pub(crate) images: ContainerImageStore,
    pub(crate) artifacts: ArtifactStore,
    /// Finds the runs whose artifacts steps name.
    pub(crate) runs: RunFinder,
    pub(crate) caches: CacheStore,
}

/// Whether a job's VM is kept after it, and whether it begins in one that was.
#[derive(Clone)]
pub(crate) struct VmRetention {
    /// The VM is kept when the job fails.
    pub(crate) on_failure: bool,
    /// Snapshots are taken between its steps.
    pub(crate) snapshots: bool,
    /// Where it begins, in the VM of an earlier attempt.
    pub(crate) resume: Option<ResumePoint>,
    /// What it runs is not a stranger's, or somebody has approved it.
    pub(crate) trusted: bool,
    /// Where VMs are kept.
    pub(crate) kept: KeptVms,
}

impl JobRequest {
    /// What GitHub's machine of its label calls its image, where the label leads to the image that
    /// stands for it.
    pub(crate) fn image_os(&self) -> Option<String> {
        let image = self
            .placement
            .machine
            .vm
            .image
            .as_ref()
            .map(ToString::to_string);
        let is_full = self.placement.hosted.is_some() || image.as_deref() == Some(FULL_IMAGE);
        let mut labels = self.instance.runs_on.iter().filter(|_| is_full);
        labels.find_map(|label| image_os(label))
    }

    /// Where the job's artifacts are made.
    pub(crate) fn artifact_origin(&self) -> ArtifactOrigin {
        ArtifactOrigin {
            run: self.run.clone(),
            repository: self.event.repository.to_lowercase(),
            untrusted: self.event.untrusted,
        }
    }

    /// Whose the job's artifacts are.
    pub(crate) fn maker(&self) -> ArtifactMaker {
        let key = &self.plan.jobs[self.job].key;
        ArtifactMaker {
            job: format!("{key}#{}", self.instance.index),
            attempt: self.vm_key.clone(),
        }
    }
}

/// What a job tells while it runs.
#[derive(Debug)]
pub(crate) enum JobEvent {
    /// It waits for its turn: for what, for people.
    Waits(String),
    /// It has waited, and asks for a machine now.
    HasTurn,
    /// It has a machine.
    Allocated {
        /// The VM's id.
        vm: String,
        /// The name of its host.
        host: String,
        /// Which host of that name it is.
        place: String,
        /// How well it is separated.
        isolation: Option<String>,
        /// Told once that is stored; dropped where it cannot be.
        recorded: oneshot::Sender<()>,
    },
    /// A step began.
    StepStarted {
        /// What is known of it.
        step: StepRecord,
        /// Told once that is stored; dropped where it cannot be.
        recorded: oneshot::Sender<()>,
    },
    /// A step ended.
    StepEnded(StepRecord),
}

/// Where a job's events go: a bounded channel to its run, so that a job waits for the store that
/// records them.
#[derive(Clone)]
pub(crate) struct JobEvents {
    /// Index of the job's record.
    pub(crate) index: usize,
    pub(crate) sender: mpsc::Sender<(usize, JobEvent)>,
}

impl JobEvents {
    pub(crate) async fn send(&self, event: JobEvent) {
        // A run that is gone hears nothing.
        let _ = self.sender.send((self.index, event)).await;
    }

    /// Tells that the job has a machine, and waits until that is stored: what runs in it from then
    /// on is known to have begun, whatever ends here. `false`: it is not stored, so nothing may
    /// begin.
    pub(crate) async fn allocated(
        &self,
        vm: String,
        (host, place): (String, String),
        isolation: Option<String>,
    ) -> bool {
        let (recorded, is_recorded) = oneshot::channel();
        self.send(JobEvent::Allocated {
            vm,
            host,
            place,
            isolation,
            recorded,
        })
        .await;
        is_recorded.await.is_ok()
    }

    /// Tells that a step begins, and waits until that is stored: a job whose first step has begun
    /// is not run again in silence, whatever ends here. `false`: it is not stored.
    pub(crate) async fn step_started(&self, step: StepRecord) -> bool {
        let (recorded, is_recorded) = oneshot::channel();
        self.send(JobEvent::StepStarted { step, recorded }).await;
        is_recorded.await.is_ok()
    }
}

/// How a job ended.
#[derive(Debug, Clone)]
pub(crate) struct JobResult {
    pub(crate) conclusion: Conclusion,
    /// More than the conclusion says: the machine went away, the time was over.
    pub(crate) end: JobEnd,
    pub(crate) reason: Option<String>,
    pub(crate) outputs: Vec<(String, String)>,
    /// Where people find what it deployed.
    pub(crate) url: Option<String>,
    /// It asks for what is not to be had here.
    pub(crate) refused: bool,
    /// What its tests said.
    pub(crate) tests: Option<Arc<JobTests>>,
    /// It counts as one that is under way until its end is stored.
    pub(crate) under_way: Option<Arc<JobUnderWay>>,
}

impl JobResult {
    /// No machine is configured for its labels.
    pub(crate) fn no_machine(labels: &[String], group: Option<&str>) -> Self {
        let other = labels.iter().find(|label| is_other_architecture(label));
        let system = labels.iter().find(|label| is_other_system(label));
        let labels = labels.join(", ");
        let reason = match group {
            _ if let Some(system) = system => format!(
                "refused: runs-on: {system}: this runner has Linux machines only; the operator can leave such copies out (`other_systems = \"skip\"`)"
            ),
            None if let Some(other) = other => format!(
                "refused: runs-on: {other} asks for another architecture than {ARCHITECTURE}; the operator can configure a machine of that label"
            ),
            None => format!(
                "refused: no machine is configured for the labels {labels}; the operator can add one, or a machine `default`"
            ),
            Some(group) => {
                let group = config_core::quoted(group);
                format!(
                    "refused: no machine is in the group {group} or has the labels {labels}; the operator can give one `groups = [{group}]`, or add a machine `default`"
                )
            }
        };
        Self {
            refused: true,
            ..Self::failed(JobEnd::Usual, reason)
        }
    }

    /// It asks for another system, and the operator leaves such copies out.
    pub(crate) fn left_out(labels: &[String]) -> Self {
        let reason = format!(
            "this runner has Linux machines only, not {}",
            labels.join(", ")
        );
        Self {
            conclusion: Conclusion::Skipped,
            ..Self::failed(JobEnd::Usual, reason)
        }
    }

    /// It asks for identity tokens, and machines reach no services here.
    pub(crate) fn unserved() -> Self {
        let reason = "refused: `id-token: write` needs the services of jobs, which this runner does not give; the operator can set `services_listen`";
        Self {
            refused: true,
            ..Self::failed(JobEnd::Usual, reason.to_owned())
        }
    }

    /// It asks for something else that this runner does not have.
    pub(crate) fn refused(reason: &str) -> Self {
        Self {
            refused: true,
            ..Self::failed(JobEnd::Usual, format!("refused: {reason}"))
        }
    }

    pub(crate) fn failed(end: JobEnd, reason: String) -> Self {
        Self {
            conclusion: Conclusion::Failure,
            end,
            reason: Some(reason),
            outputs: Vec::new(),
            url: None,
            refused: false,
            tests: None,
            under_way: None,
        }
    }

    /// Its outputs are not taken: it fails for that, where it has not failed before.
    pub(crate) fn without_outputs(&mut self, reason: String) {
        self.outputs.clear();
        if self.conclusion == Conclusion::Success {
            self.conclusion = Conclusion::Failure;
            self.reason = Some(reason);
        }
    }

    pub(crate) fn lost(reason: String) -> Self {
        Self::failed(JobEnd::Lost, reason)
    }

    pub(crate) fn cancelled(reason: &str) -> Self {
        Self {
            conclusion: Conclusion::Cancelled,
            ..Self::failed(JobEnd::Usual, reason.to_owned())
        }
    }
}

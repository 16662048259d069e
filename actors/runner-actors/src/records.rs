//! What is known of a run: its record, as it is stored and as it is shown.

use runner_core::lost_jobs::LostJob;
use runner_core::protection::ProtectionVerdict;
use runner_core::state::{Conclusion, RunProgress, RunState, StepEnd};
use runner_core::test_report::TestCounts;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::clock::now_ms;
use crate::event::StoredEvent;
use crate::review::Review;

/// One run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RunRecord {
    /// Its id; later ones sort behind earlier ones.
    pub id: String,
    /// Where it is.
    pub state: RunState,
    /// Why it ended as it did, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// `owner/repo`.
    pub repository: String,
    /// `push`, `pull_request`, `workflow_dispatch`, `schedule`.
    pub event: String,
    /// Of pull requests: `opened`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The full reference.
    pub reference: String,
    /// The commit.
    pub sha: String,
    /// Who caused it.
    pub actor: String,
    /// The delivery it came with.
    pub delivery: String,
    /// The workflow's file, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_file: Option<String>,
    /// What its workflow is called, once it is planned: those that follow it name it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// How far those that follow it know that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<RunProgress>,
    /// The run's name, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only this job and those it needs, when that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only_job: Option<String>,
    /// Which run of this workflow it is, from 1; 0 until that is known.
    pub number: u64,
    /// Which attempt of this number it is, from 1: each re-run is one more.
    pub attempt: u64,
    /// How often the runner took it up again, after a restart or a wait.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub taken_up: u64,
    /// How many of those do not count against it: those before it last waited, and those at which
    /// it had done nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub taken_up_at_wait: u64,
    /// Somebody has cancelled it: after a restart nothing of it goes on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// VMs of its jobs that fail are kept for a while.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// Snapshots are taken between the steps of its jobs, to go back to when one fails.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub snapshots: bool,
    /// Where one of its jobs begins, in the kept VM of the run it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<ResumePoint>,
    /// It has its place in its concurrency group while it waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_group: bool,
    /// Calls of workflows that have had their concurrency groups: they ask for them no more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(ignore)]
    pub(crate) left_calls: Vec<LeftCall>,
    /// Of a pull request from a fork that has to be approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<RunApproval>,
    /// Environments that its jobs wait or have waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environments: Vec<EnvironmentGate>,
    /// The run it repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// The run that repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeated_by: Option<String>,
    /// The repository's page, as its forge sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository_url: Option<String>,
    /// Keys of the planned jobs in the order of the workflow's file, once they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub job_order: Vec<String>,
    /// The planned jobs and what they need, once they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub plan: Vec<PlannedJobRecord>,
    /// Milliseconds since the Unix epoch, as the other times.
    pub created_at: u64,
    /// When its first job began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// Its jobs' copies, in the order they began or were left out.
    pub jobs: Vec<JobRecord>,
}

/// A call of a workflow that has left its concurrency groups.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LeftCall {
    /// The job in the plan.
    pub(crate) key: String,
    /// Which copy of it, from 0.
    pub(crate) copy: usize,
    /// It had them; otherwise something took its place before them.
    pub(crate) was_admitted: bool,
}

/// Where a job of a re-run begins: in the VM that an earlier attempt left, before one of its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResumePoint {
    /// The run whose VM is kept.
    pub run: String,
    /// The job in the plan.
    pub key: String,
    /// Which copy of it, from 0.
    pub instance: usize,
    /// The step that comes first, by its number.
    pub step: u32,
}

/// A new run's id: in the order in which runs are made, also where leaders' clocks differ.
pub(crate) fn new_run_id() -> String {
    cluster_actors::replica::ordered_id().to_string()
}

impl RunRecord {
    /// The record of a run that an event starts.
    pub(crate) fn received(event: &StoredEvent, delivery: String) -> Self {
        Self {
            id: new_run_id(),
            state: RunState::Received,
            reason: None,
            repository: event.repository.clone(),
            event: event.name().to_owned(),
            action: event.action().map(str::to_owned),
            reference: event.reference.clone(),
            sha: event.sha.clone(),
            actor: event.actor.clone(),
            delivery,
            workflow_file: None,
            workflow: None,
            announced: None,
            name: None,
            only_job: None,
            number: 0,
            attempt: 1,
            taken_up: 0,
            taken_up_at_wait: 0,
            cancelled: false,
            keep: false,
            snapshots: false,
            resume: None,
            holds_group: false,
            left_calls: Vec::new(),
            approval: None,
            environments: Vec::new(),
            repeats: None,
            repeated_by: None,
            repository_url: event.html_url.clone(),
            job_order: Vec::new(),
            plan: Vec::new(),
            created_at: now_ms(),
            started_at: None,
            ended_at: None,
            jobs: Vec::new(),
        }
    }

    /// Which incarnation of the run it is, over re-runs and restarts of the runner: VMs are named
    /// by it, so it never falls.
    pub(crate) fn incarnation(&self) -> u64 {
        self.attempt.saturating_add(self.taken_up)
    }
}

impl RunRecord {
    /// Whether it is of a fork, and somebody has approved it.
    #[must_use]
    pub fn is_approved(&self) -> bool {
        let review = self
            .approval
            .as_ref()
            .and_then(|asked| asked.review.as_ref());
        review.is_some_and(|review| review.verdict == ProtectionVerdict::Approved)
    }

    /// Whether nothing of it has begun yet: it waits for its turn.
    #[must_use]
    pub fn waits_for_turn(&self) -> bool {
        let may_wait = matches!(self.state, RunState::Planned | RunState::Allocating);
        may_wait && self.started_at.is_none()
    }

    /// The record as programs and lists see it: a run that waits for its turn is `waiting`, with
    /// what for, as on its page. What is stored says how far it is by itself.
    #[must_use]
    pub fn for_display(mut self) -> Self {
        // Of the runner alone.
        self.left_calls.clear();
        let waits_for = self.jobs.iter().find_map(|job| job.reason.as_ref());
        if let Some(reason) = waits_for.filter(|_| self.waits_for_turn()) {
            self.reason.get_or_insert_with(|| reason.clone());
            self.state = RunState::Waiting;
        }
        self
    }

    /// Forgets that it was to begin, where every job that is left waits for its turn.
    pub(crate) fn clear_start(&mut self) {
        let own = || self.jobs.iter().filter(|job| job.kept_from.is_none());
        let has_begun = |job: &JobRecord| job.started_at.is_some() || !job.lost.is_empty();
        let is_left = |job: &&JobRecord| job.conclusion.is_none();
        if !own().any(has_begun) && own().filter(is_left).all(|job| job.reason.is_some()) {
            self.started_at = None;
        }
    }

    /// Whether it waits for its turn in its concurrency group.
    #[must_use]
    pub fn waits_for_group(&self) -> bool {
        let is_held = self.environments.iter().any(EnvironmentGate::is_pending);
        self.state == RunState::Waiting && self.holds_group && !is_held
    }

    /// Whether nothing of it runs before somebody approves.
    #[must_use]
    pub fn awaits_approval(&self) -> bool {
        let approval = self.approval.as_ref();
        self.state == RunState::Waiting && approval.is_some_and(|asked| asked.review.is_none())
    }
}

/// A pull request from a fork asks for an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunApproval {
    /// Since when, in milliseconds since the Unix epoch.
    pub asked_at: u64,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
}

/// What stands before an environment that jobs of a run name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentGate {
    /// The environment.
    pub name: String,
    /// Since when jobs wait for it, in milliseconds since the Unix epoch.
    pub since: u64,
    /// Until when at most: the wait ends, or the time for an approval.
    pub until: u64,
    /// Somebody has to approve.
    pub for_approval: bool,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Review>,
    /// Jobs have gone on, or never will.
    #[serde(default)]
    pub settled: bool,
}

impl EnvironmentGate {
    /// Whether jobs wait for it.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        !self.settled
    }

    pub(crate) fn is_of(&self, name: &str) -> bool {
        self.name.to_lowercase() == name.to_lowercase()
    }
}

fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// A planned job, as a run's record keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlannedJobRecord {
    /// Unique in the run: `build`, or `call/build` in a called workflow.
    pub key: String,
    /// Its name as written, without what its matrix or its caller adds.
    pub name: String,
    /// The keys of the jobs it needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The job that calls its workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The file of the workflow it calls: it has no steps of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<String>,
    /// It has several copies, one for each combination of its matrix.
    #[serde(default)]
    pub matrix: bool,
}

/// One copy of a job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct JobRecord {
    /// The job in the plan: `build`, `call/build`.
    pub key: String,
    /// Which copy, from 0.
    pub instance: usize,
    /// Its name for people.
    pub name: String,
    /// The context of its commit status.
    pub context: String,
    /// How it ended; `None` while it has not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Conclusion>,
    /// Why, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What it deploys to, or has secrets of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<JobEnvironmentRecord>,
    /// The labels of its `runs-on`; records of former versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Its VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// The VM's host; records of former versions name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_host: Option<String>,
    /// Which host of that name: another one may be listed under it by now. Records of former
    /// versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm_place: Option<String>,
    /// How well the VM is separated from the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// When it was asked for.
    pub queued_at: u64,
    /// When it had its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// What the conclusion does not say of its end.
    #[serde(default, skip_serializing_if = "JobEnd::is_usual")]
    pub end: JobEnd,
    /// How often it runs again by itself when it is lost.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reruns: u32,
    /// Attempts that were lost, after each of which it ran again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAttempt>,
    /// The run in which it ran, where this one runs only again what had failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
    /// What it gives to jobs that need it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<(String, String)>,
    /// Its steps so far.
    pub steps: Vec<StepRecord>,
    /// How its tests ended, where it left reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    /// What the runner says of the job as a whole, Markdown: its tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

impl JobRecord {
    /// Forgets an attempt that was lost, where the job may run again; says so, for people. `None`:
    /// it may not.
    pub(crate) fn run_again(&mut self, reason: &str) -> Option<String> {
        let lost = LostJob {
            had_machine: self.started_at.is_some(),
            has_steps: !self.steps.is_empty(),
            lost_before: u32::try_from(self.lost.len()).unwrap_or(u32::MAX),
            reruns: self.reruns,
        };
        let attempts = lost.attempts()?;
        let step = self.steps.iter().rev().find(|step| step.end.is_none());
        self.lost.push(LostAttempt {
            reason: reason.to_owned(),
            step: step.or(self.steps.last()).map(|step| step.name.clone()),
            vm: self.vm.take(),
            started_at: self.started_at.take(),
            ended_at: now_ms(),
        });
        self.vm_host = None;
        self.vm_place = None;
        self.isolation = None;
        self.steps.clear();
        let next = self.lost.len() + 1;
        let text = format!("attempt {next} of {attempts}, the one before was lost: {reason}");
        self.reason = Some(text.clone());
        Some(text)
    }
}

/// An attempt of a job that was lost: its machine, the manager or the runner went away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LostAttempt {
    /// What went away.
    pub reason: String,
    /// The step that it was at, where one had begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// Its VM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<String>,
    /// When it had its machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<u64>,
    /// When that was known.
    pub ended_at: u64,
}

/// The environment of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobEnvironmentRecord {
    /// Its name.
    pub name: String,
    /// Whether the job deploys to it.
    pub deployment: bool,
    /// Where people find what was deployed: `http` or `https`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Ends that are told apart in a run's state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobEnd {
    /// Its steps ran to their end, or it was cancelled, or it has not ended.
    #[default]
    Usual,
    /// Its time was over.
    TimedOut,
    /// Its machine, the manager or the runner went away.
    Lost,
}

impl JobEnd {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    fn is_usual(&self) -> bool {
        *self == Self::Usual
    }
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct StepRecord {
    /// From 1.
    pub number: u32,
    /// Its name, masked.
    pub name: String,
    /// How its process ended; never guessed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<StepEnd>,
    /// It failed, and the job went on as if it had not (`continue-on-error`).
    #[serde(default)]
    pub forgiven: bool,
    /// What is to be said about the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it began.
    pub started_at: u64,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    /// What it wrote to its summary, Markdown: in the answer about one run, the first 16 MiB of all
    /// (`/runs/{id}/summaries` has the rest). Stored beside the record, except in records of former
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// How many bytes that are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_bytes: Option<u64>,
}

//! What a run under way knows, and what its plan wants done: copies of jobs started, ended, left
//! out, or recalled from the run's previous incarnation.

use std::path::PathBuf;
use std::sync::Arc;

use cluster_actors::vm_hosts::MachineType;
use runner_core::context::{RunFacts, TOKEN_NAMES};
use runner_core::expr::{ContextName, Contexts};
use runner_core::hosted_label::{OtherSystems, is_other_system};
use runner_core::plan::{JobInstance, PlanAction, PlanState, StatusContexts};
use runner_core::state::{Conclusion, RunState};
use runner_core::truncation::{truncate_labels, truncate_reason};
use tokio::sync::{mpsc, watch};

use super::calls::CallGroups;
use super::contexts::overlay;
use super::group_line::GroupLine;
use super::job_launcher::JobLaunch;
use super::machine::{self, MachineChoice};
use super::parked::HeldPlaces;
use super::plan::PlannedRun;
use super::services::RunServices;
use crate::checkout_source::CheckoutSource;
use crate::clock::now_ms;
use crate::groups::GroupTicket;
use crate::job::{
    JobEvent, JobEvents, JobPlacement, JobRequest, JobResult, JobSource, JobStores, VmRetention,
};
use crate::job_graph;
use crate::ledger::{RunLedger, job_status};
use crate::records::{JobEnd, JobEnvironmentRecord, JobRecord, ResumePoint};
use crate::run_finder::RunFinder;
use crate::scopes::{EnvironmentSettings, is_switch, narrowest};
use crate::vm_owner::vm_key;

/// Where jobs tell what happens, by the index of their records.
pub(super) type EventSender = mpsc::Sender<(usize, JobEvent)>;
/// Where their reports go, by the same index.
pub(super) type ReportSender = mpsc::Sender<(usize, JobResult)>;

/// A copy of a job that its plan has started: it runs, or waits for its environment.
pub(super) struct StartedCopy {
    /// Of its record.
    pub(super) index: usize,
    pub(super) job: usize,
    pub(super) instance: JobInstance,
    pub(super) cancel: Arc<watch::Sender<bool>>,
}

/// A copy of a job that was started.
pub(super) struct JobCopy {
    pub(super) job: usize,
    pub(super) instance: usize,
    pub(super) cancel: Arc<watch::Sender<bool>>,
    /// More than the conclusion says, once it has ended.
    pub(super) end: Option<JobEnd>,
}

/// A run under way.
pub(super) struct ActiveRun {
    pub(super) services: RunServices,
    pub(super) state: PlanState,
    pub(super) contexts: StatusContexts,
    pub(super) planned: PlannedRun,
    checkout: PathBuf,
    /// Jobs of the run's previous incarnation; those that ended are not run again.
    pub(super) previous: Vec<JobRecord>,
    /// By the index of their records.
    pub(super) copies: Vec<Option<JobCopy>>,
    /// Copies that wait for their environments.
    pub(super) held: Vec<StartedCopy>,
    /// Copies that wait for their turn in their concurrency groups, and their places there.
    pub(super) in_line: Vec<StartedCopy>,
    pub(super) line: GroupLine,
    /// Concurrency groups of called workflows.
    pub(super) calls: CallGroups,
}

impl ActiveRun {
    /// At the beginning of its jobs: those in the record are of a previous incarnation.
    pub(super) fn new(
        services: RunServices,
        ledger: &mut RunLedger,
        planned: PlannedRun,
        (checkout, places): (PathBuf, HeldPlaces),
    ) -> Self {
        let keys = planned.plan.jobs.iter().map(|job| job.key.clone());
        ledger.record.job_order = keys.collect();
        Self {
            services,
            state: PlanState::new(Arc::clone(&planned.plan), planned.base.clone()),
            contexts: StatusContexts::new(&planned.plan, &planned.workflow, &ledger.record.event),
            planned,
            checkout,
            previous: std::mem::take(&mut ledger.record.jobs),
            copies: Vec::new(),
            held: Vec::new(),
            in_line: Vec::new(),
            line: places.line,
            calls: places.calls.with_left(&ledger.record.left_calls),
        }
    }

    /// Notes the jobs of called workflows whose copies became known.
    fn record_new_jobs(&mut self, ledger: &mut RunLedger) {
        let plan = Arc::clone(self.state.plan());
        if plan.jobs.len() == ledger.record.job_order.len() {
            return;
        }
        ledger.record.job_order = plan.jobs.iter().map(|job| job.key.clone()).collect();
        ledger.record.plan = job_graph::of_plan(&plan);
        let known = std::mem::take(&mut self.contexts);
        self.contexts = known.extended(&plan);
    }

    pub(super) async fn act(
        &mut self,
        ledger: &mut RunLedger,
        actions: Vec<PlanAction>,
        events: &EventSender,
        reports: &ReportSender,
    ) {
        self.record_new_jobs(ledger);
        let mut statuses = Vec::new();
        for action in actions {
            match action {
                PlanAction::Enter {
                    job,
                    instance,
                    groups,
                } => {
                    self.enqueue_call(ledger, (job, instance), groups);
                }
                PlanAction::Leave { job, instance } => self.calls.release((job, instance)),
                PlanAction::Start { job, instance } => {
                    if let Some(previous) = self.previous_end(job, instance) {
                        self.recall(ledger, job, instance, previous);
                        continue;
                    }
                    let copy = self.start(ledger, job, instance);
                    let index = copy.index;
                    self.start_or_hold(ledger, copy, events, reports).await;
                    statuses.push(job_status(&ledger.record.jobs[index]));
                }
                PlanAction::Cancel { job, instance } => {
                    let copy = self
                        .copies
                        .iter()
                        .flatten()
                        .find(|copy| copy.job == job && copy.instance == instance);
                    if let Some(copy) = copy {
                        let _ = copy.cancel.send(true);
                    }
                    self.cancel_held(job, instance, reports);
                }
                PlanAction::Ended {
                    job,
                    conclusion,
                    reason,
                } => {
                    if let Some(previous) = self.previous_end(job, 0) {
                        ledger.record.jobs.push(previous);
                        self.copies.push(None);
                        continue;
                    }
                    let record = self.left_out(job, conclusion, &reason);
                    let pending = job_status(&JobRecord {
                        conclusion: None,
                        reason: None,
                        ..record.clone()
                    });
                    ledger.record.jobs.push(record.clone());
                    self.copies.push(None);
                    // A status must be begun to be ended.
                    ledger.save(vec![pending]).await;
                    statuses.push(job_status(&record));
                }
            }
        }
        ledger.record.left_calls = self.calls.left();
        ledger.save(statuses).await;
    }

    /// How a copy ended in the run's previous incarnation.
    fn previous_end(&self, job: usize, instance: usize) -> Option<JobRecord> {
        let key = &self.state.plan().jobs[job].key;
        let previous = self.previous.iter().find(|previous| {
            previous.key == *key && previous.instance == instance && previous.conclusion.is_some()
        });
        previous.cloned()
    }

    /// A copy that ended in the previous incarnation is not run again: the plan's state takes its
    /// end.
    fn recall(&mut self, ledger: &mut RunLedger, job: usize, instance: usize, previous: JobRecord) {
        let conclusion = previous.conclusion.unwrap_or(Conclusion::Failure);
        if previous.kept_from.is_some() && conclusion == Conclusion::Failure {
            self.state.keeps(job);
        }
        match &previous.reason {
            Some(reason) if reason.starts_with("refused:") => self.state.refused(job, instance),
            _ => self
                .state
                .finished(job, instance, conclusion, &previous.outputs),
        }
        self.copies.push(Some(JobCopy {
            job,
            instance,
            cancel: Arc::new(watch::channel(false).0),
            end: Some(previous.end),
        }));
        ledger.record.jobs.push(previous);
    }

    /// The record of a job that never had a machine.
    fn left_out(&mut self, job: usize, conclusion: Conclusion, reason: &str) -> JobRecord {
        let context = self.contexts.of_job(job);
        JobRecord {
            conclusion: Some(conclusion),
            reason: Some(truncate_reason(reason)),
            ended_at: Some(now_ms()),
            ..self.record(job, self.contexts.name(job), context, 0)
        }
    }

    fn record(&self, job: usize, name: String, context: String, instance: usize) -> JobRecord {
        JobRecord {
            key: self.state.plan().jobs[job].key.clone(),
            instance,
            name,
            context,
            conclusion: None,
            reason: None,
            environment: None,
            labels: Vec::new(),
            vm: None,
            vm_host: None,
            vm_place: None,
            isolation: None,
            queued_at: now_ms(),
            started_at: None,
            ended_at: None,
            end: JobEnd::Usual,
            reruns: 0,
            lost: self.lost_before(job, instance),
            kept_from: None,
            outputs: Vec::new(),
            steps: Vec::new(),
            tests: None,
            summary: None,
        }
    }

    /// Begins a copy's record.
    fn start(&mut self, ledger: &mut RunLedger, job: usize, instance: usize) -> StartedCopy {
        let copies = self.state.instances(job);
        let copies = copies.expect("only copies of running jobs are started");
        let context = self.contexts.of_copy(job, copies, instance);
        let mut copy = copies[instance].clone();
        let index = ledger.record.jobs.len();
        // Called as its statuses are, in logs too.
        copy.name = self.contexts.name_of_copy(job, &copy);
        let mut record = self.record(job, copy.name.clone(), context, instance);
        record.labels = truncate_labels(&copy.runs_on);
        let environment = copy.environment.as_ref();
        record.environment = environment.map(|environment| JobEnvironmentRecord {
            name: environment.name.clone(),
            deployment: environment.deployment,
            url: None,
        });
        ledger.record.jobs.push(record);
        let cancel = Arc::new(watch::channel(false).0);
        self.copies.push(Some(JobCopy {
            job,
            instance,
            cancel: Arc::clone(&cancel),
            end: None,
        }));
        StartedCopy {
            index,
            job,
            instance: copy,
            cancel,
        }
    }

    /// Gives a copy its machine; `ticket` is its turn in its concurrency group.
    pub(super) fn launch(
        &mut self,
        ledger: &mut RunLedger,
        copy: StartedCopy,
        ticket: Option<GroupTicket>,
        (events, reports): (&EventSender, &ReportSender),
    ) {
        if ledger.record.state == RunState::Planned || ledger.record.state == RunState::Running {
            ledger.become_state(RunState::Allocating);
        }
        ledger.record.started_at.get_or_insert_with(now_ms);
        self.record_reruns(ledger, &copy);
        let StartedCopy {
            index,
            job,
            instance: copy,
            cancel,
        } = copy;
        let environment = copy.environment.as_ref().map(|it| it.name.clone());
        let labels = copy.runs_on.clone();
        let group = copy.machine_group.clone();
        let settings = &self.services.settings;
        let forge = ledger.event.forge(settings.forge);
        let machine = machine::choose(&settings.machines, &labels, group.as_deref(), forge);
        let launch = machine.map(|machine| JobLaunch {
            ticket,
            request: self.request(ledger, job, copy, index, machine),
            cancel,
            events: JobEvents {
                index,
                sender: events.clone(),
            },
        });
        let unserved =
            self.state.plan().jobs[job].id_token && self.services.settings.services.is_none();
        let tokenless = self.tokenless(job, environment.as_deref());
        let skips = self.services.settings.other_systems == OtherSystems::Skip
            && labels.iter().any(|label| is_other_system(label));
        let (jobs, reports) = (self.services.jobs.clone(), reports.clone());
        actix_rt::spawn(async move {
            let report = match launch {
                Some(_) if let Some(reason) = tokenless => JobResult::refused(&reason),
                Some(_) if unserved => JobResult::unserved(),
                Some(launch) => jobs.run(launch).await,
                None if skips => JobResult::left_out(&labels),
                None => JobResult::no_machine(&labels, group.as_deref()),
            };
            // A run that is gone hears nothing; its record is ended at the next start.
            let _ = reports.send((index, report)).await;
        });
    }

    /// What a job is told of the forge: where it has a token, the API is the gateway.
    fn facts(&self) -> RunFacts {
        let mut facts = self.planned.facts.clone();
        if let Some((api, graphql)) = self.gateway() {
            (facts.api_url, facts.graphql_url) = (api, graphql);
        }
        facts
    }

    /// Where jobs find the forge's API, when they have a token for it.
    fn gateway(&self) -> Option<(String, String)> {
        self.services.settings.services.as_ref()?;
        self.services.jobs.services.forge_addresses()
    }

    /// Why a job cannot run that asks for the forge's token: there is none, neither by the gateway
    /// nor as a secret of the operator's.
    fn tokenless(&self, job: usize, environment: Option<&str>) -> Option<String> {
        let refusal = self.state.plan().jobs[job].token.as_ref()?;
        let trusted = !self.planned.event.untrusted;
        let secrets = self.secrets(environment);
        let mut names = secrets.iter().map(|(name, _)| name);
        let own = names.any(|name| name.eq_ignore_ascii_case(TOKEN_NAMES[0]));
        (self.gateway().is_none() && !(own && trusted)).then(|| refusal.to_string())
    }

    /// Secrets that a job of the environment may have, where the event is trusted.
    fn secrets(&self, environment: Option<&str>) -> Vec<(&str, &str)> {
        let settings = &self.services.settings;
        let repository = &self.planned.event.repository;
        let of_run = settings.scopes.secrets(&settings.secrets, repository);
        let own = self.environment(environment);
        let own = own.into_iter().flat_map(EnvironmentSettings::secrets);
        narrowest(of_run.into_iter().chain(own))
    }

    fn environment(&self, name: Option<&str>) -> Option<&EnvironmentSettings> {
        let scopes = &self.services.settings.scopes;
        scopes.environment(&self.planned.event.repository, name?)
    }

    /// What a job's expressions see: the variables of its environment too, and the secrets, unless
    /// the event is a stranger's.
    pub(super) fn contexts_of(&self, job: usize, environment: Option<&str>) -> Contexts {
        let mut contexts = self.state.contexts_of(&self.state.plan().jobs[job]);
        if let Some(own) = self.environment(environment) {
            overlay(&mut contexts, ContextName::Vars, own.vars());
            let trusted = !self.planned.event.untrusted;
            overlay(
                &mut contexts,
                ContextName::Secrets,
                own.secrets().filter(|_| trusted),
            );
        }
        contexts
    }

    /// Where the files of the run's jobs come from.
    fn source(&self, clone_url: &str) -> JobSource {
        let settings = &self.services.settings;
        JobSource {
            checkout: self.checkout.clone(),
            workspace: settings.workspace,
            checkouts: CheckoutSource {
                repositories: self.services.repositories.clone(),
                permits: self.services.checkouts.clone(),
                clone_url: clone_url.to_owned(),
                folder: settings.data.join("checkouts"),
                room_timeout: settings.vm_timeout,
            },
        }
    }

    fn request(
        &self,
        ledger: &RunLedger,
        job: usize,
        instance: JobInstance,
        index: usize,
        machine: MachineChoice,
    ) -> JobRequest {
        let plan = Arc::clone(self.state.plan());
        let (settings, jobs) = (&self.services.settings, &self.services.jobs);
        // Taken up again, or run again after it was lost, it asks for another VM.
        let vm_key = vm_key(&ledger.record, index);
        let clone_url = &ledger.event.clone_url;
        let (own, facts) = (&ledger.event.repository, &self.planned.facts);
        let led = self
            .services
            .forwarded_targets(clone_url, &facts.server_url, own);
        let owned = |mut machine: MachineType| {
            machine.vm.services.clone_from(&settings.services);
            machine.vm.services_for.clone_from(&led);
            machine.vm.owner = format!("run-{vm_key}").parse().ok();
            machine
        };
        let is_default = machine.is_default;
        let (machine, hosted) = (owned(machine.machine), machine.hosted.map(owned));
        let environment = instance.environment.as_ref().map(|it| it.name.clone());
        let key = &plan.jobs[job].key;
        let is_of_copy =
            |point: &ResumePoint| point.key == *key && point.instance == instance.index;
        let resume = ledger.record.resume.clone().filter(is_of_copy);
        let secrets = self.secrets(environment.as_deref());
        let secrets = secrets.into_iter();
        let secrets = secrets.filter(|(name, value)| !is_switch(name, value));
        let secrets = secrets.map(|(_, secret)| secret);
        let forge = settings.forge_token.as_ref();
        let secrets = secrets.chain(forge.map(|token| token.expose().as_str()));
        let secrets = secrets.map(str::to_owned).collect();
        let page = settings.public_url.as_ref();
        let page = page.and_then(|base| base.join(&format!("runs/{}", ledger.record.id)).ok());
        JobRequest {
            page,
            run: ledger.record.id.clone(),
            vm_key,
            contexts: self.contexts_of(job, environment.as_deref()),
            environment,
            plan,
            job,
            instance,
            event: Arc::clone(&self.planned.event),
            facts: self.facts(),
            secrets,
            source: self.source(clone_url),
            placement: JobPlacement {
                machine,
                hosted,
                is_default,
                vm_timeout: settings.vm_timeout,
                hosts: jobs.hosts.clone(),
            },
            repository: ledger.record.repository.clone(),
            stores: JobStores {
                actions: jobs.actions.clone(),
                images: jobs.images.clone(),
                artifacts: jobs.artifacts.clone(),
                runs: RunFinder::new(&self.services.recorder.store),
                caches: jobs.caches.clone(),
            },
            services: settings.services.is_some().then(|| jobs.services.clone()),
            admission: jobs.admission.clone(),
            retention: VmRetention {
                on_failure: settings.keep.failed || ledger.record.keep,
                snapshots: settings.keep.snapshots || ledger.record.snapshots,
                resume,
                trusted: !self.planned.event.untrusted || ledger.record.is_approved(),
                kept: jobs.kept.clone(),
            },
            tests: Arc::clone(&self.planned.tests),
            log_step_max: settings.log_step_max,
        }
    }
}

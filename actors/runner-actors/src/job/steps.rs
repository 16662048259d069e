//! The steps of a job, one after the other, by the rules of the workflow language.

use std::time::Duration;

use cluster_actors::vm_hosts::tarball;
use runner_core::context::{self, OWN_DIRECTORY, RUNNER_WORKSPACE, TEMP};
use runner_core::expr::{ContextName, Contexts, ExprScope, HashFiles, Object};
use runner_core::forge_address::{AT_OWN_ADDRESS, calls_api};
use runner_core::job_folders::folder_name;
use runner_core::plan::{
    NativeAction, PlannedStep, PlannedWork, StepKind, begins_with_commit, run_defaults,
};
use runner_core::prepare;
use runner_core::shell;
use runner_core::state::{Conclusion, StepEnd};

use super::background::BackgroundSteps;
use super::frame::{ARCH, Frame, StepResult, set};
use super::native_input::NativeStep;
use super::protocol::JobResult;
use super::step_limit;
use super::step_runner::StepRunner;
use crate::kept::ResumedVm;
use crate::log::LineKind;
use crate::records::JobEnd;

/// Longest time in which nothing of the commit's files goes into the VM.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(900);

impl<'a> StepRunner<'a> {
    /// All steps, then the outputs; those from a checkpoint on where the VM has gone back to one.
    pub(super) async fn run(&mut self, resumed: Option<&ResumedVm>) -> JobResult {
        let request = self.request;
        let planned = &request.plan.jobs[request.job];
        let PlannedWork::Steps(steps) = &planned.work else {
            return JobResult::failed(JobEnd::Usual, "the job has no steps of its own".to_owned());
        };
        self.progress.planned_steps = steps.len();
        self.checkouts.has_commit = begins_with_commit(steps, request.source.workspace);
        let mut frame = self.first_frame();
        let first = match resumed {
            Some(resumed) => match self.resume_job(resumed, steps, &mut frame).await {
                Ok(first) => first,
                Err(report) => return report,
            },
            None => match self.prepare(steps, &mut frame).await {
                Ok(()) => 0,
                Err(report) => return report,
            },
        };
        let mut first_failure = None;
        let mut background = BackgroundSteps::default();
        for (place, step) in steps.iter().enumerate().skip(first) {
            if background.is_settled() {
                self.checkpoint(place, step, &frame).await;
            }
            self.current.number += 1;
            if step.background {
                background.start(self, place, step, &frame);
                continue;
            }
            let result = match step.work {
                StepKind::Wait(_) | StepKind::WaitAll | StepKind::Cancel(_) => {
                    self.control_step(step, &mut frame, &mut background).await
                }
                _ => {
                    let work = Box::pin(self.top_step(step, &mut frame));
                    background.beside(work).await
                }
            };
            if result.end == StepEnd::Lost {
                return lost_job(result);
            }
            self.record_failure(&result, &frame, &mut first_failure);
        }
        if let Some(result) = self.end_background(&mut frame, &mut background).await {
            if result.end == StepEnd::Lost {
                return lost_job(result);
            }
            self.record_failure(&result, &frame, &mut first_failure);
        }
        if let Some(lost) = Box::pin(self.post_steps(&mut frame)).await {
            return lost_job(lost);
        }
        // The end of a job is the same after a cancellation.
        self.current.outlives_cancel = true;
        self.remove_keys().await;
        self.show_services(&frame).await;
        let failure = self.node_actions.failure.take();
        self.report(&frame, first_failure.or(failure))
    }

    /// Remembers the first failure that fails the job.
    fn record_failure(&mut self, result: &StepResult, frame: &Frame, first: &mut Option<String>) {
        if result.end.outcome() != Conclusion::Failure || !frame.failed {
            return;
        }
        if first.is_none() {
            first.clone_from(&result.reason);
        }
        self.shell.settle();
    }

    /// Everything before the first step.
    async fn prepare(&mut self, steps: &[PlannedStep], frame: &mut Frame) -> Result<(), JobResult> {
        if let Err(reason) = self.fill_workspace().await {
            return Err(self.cannot_begin(JobEnd::Lost, reason).await);
        }
        self.set_job_env(frame).await?;
        if let Err(reason) = self.put_actions(steps).await {
            return Err(self.cannot_begin(JobEnd::Usual, reason).await);
        }
        if let Err(reason) = self.become_user().await {
            return Err(self.cannot_begin(JobEnd::Usual, reason).await);
        }
        self.log_notes().await;
        self.trust_forge().await;
        if let Err(reason) = self.start_containers(steps, frame).await {
            let reason = self.secrets.mask(&reason);
            return Err(self.cannot_begin(JobEnd::Usual, reason).await);
        }
        self.trust_in_container().await;
        match self.pre_steps(steps, frame).await {
            Some(lost) => Err(lost_job(lost)),
            None => Ok(()),
        }
    }

    /// The place of the first step that is run in a VM that has gone back.
    async fn resume_job(
        &mut self,
        resumed: &ResumedVm,
        steps: &[PlannedStep],
        frame: &mut Frame,
    ) -> Result<usize, JobResult> {
        let Some(first) = resumed.checkpoint.position(steps.len()) else {
            let reason =
                "the job has other steps than the run whose VM was kept: run all of it again";
            self.log.error(0, reason).await;
            return Err(JobResult::failed(JobEnd::Usual, reason.to_owned()));
        };
        self.restore_checkpoint(&resumed.run, &resumed.checkpoint, frame)
            .await;
        if let Err(reason) = self.become_user().await {
            self.log.error(0, &reason).await;
            return Err(JobResult::failed(JobEnd::Usual, reason));
        }
        // Another process may answer now than the one before.
        self.trust_forge().await;
        self.trust_in_container().await;
        Ok(first)
    }

    async fn set_job_env(&mut self, frame: &Frame) -> Result<(), JobResult> {
        let Err(reason) = self.job_env(frame) else {
            return Ok(());
        };
        self.log.error(0, &reason).await;
        Err(JobResult::failed(JobEnd::Usual, reason))
    }

    /// The commit's tree at the workspace, and the event.
    async fn fill_workspace(&self) -> Result<(), String> {
        let workspace = &self.folders.workspace;
        if self.checkouts.has_commit {
            let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
            let put = async {
                let _transfer = self.machine.transfer().await;
                let tar = tarball::of_directory(&self.request.source.checkout);
                let put = vmm.put_files(vm, workspace, tar, UPLOAD_TIMEOUT);
                put.await.map_err(|error| {
                    format!("the commit's files could not be put into the VM: {error}")
                })
            };
            self.unless_cancelled(put).await?;
        } else {
            self.put(workspace, &[]).await?;
        }
        let event = self.request.event.payload.to_json();
        let around = |path: &'static str| path.strip_prefix(TEMP).map(|rest| &rest[1..]);
        let own = format!("{}/event.json", around(OWN_DIRECTORY).unwrap_or_default());
        let files = [(own.as_str(), event.as_bytes(), 0o644)];
        // The checkout stands beside what a job builds around it; containers are given the folder.
        let name = folder_name(&self.request.event.repository);
        let beside = (name, workspace.as_str());
        let folder = around(RUNNER_WORKSPACE).map(|folder| (folder, beside));
        let tar = tarball::of_files_beside(folder, &files).map_err(|error| error.to_string())?;
        self.put_tar(TEMP, tar).await
    }

    fn first_frame(&self) -> Frame {
        let request = self.request;
        let planned = &request.plan.jobs[request.job];
        let mut contexts = request.contexts.clone();
        let github = context::github(&request.event, &request.facts, Some(planned.id()));
        contexts.set(ContextName::Github, self.folders.in_context(github));
        context::set_token(&mut contexts, self.checkouts.forge_token.as_deref());
        contexts.set(ContextName::Matrix, request.instance.matrix.clone());
        contexts.set(ContextName::Strategy, request.instance.strategy());
        let debug = context::is_step_debug(&contexts);
        let runner = self.folders.in_context(context::runner(ARCH, debug));
        contexts.set(ContextName::Runner, runner);
        Frame {
            contexts,
            steps: Object::default(),
            env: Vec::new(),
            failed: false,
            job_failed: false,
            action_path: None,
            action: None,
        }
    }

    fn job_env(&mut self, frame: &Frame) -> Result<(), String> {
        let request = self.request;
        let planned = &request.plan.jobs[request.job];
        let workflow = &request.plan.workflows[planned.workflow].workflow;
        for env in [&workflow.env, &planned.job.env] {
            let contexts = self.contexts(frame, &[]);
            let values = prepare::env_values(env, &ExprScope::new(&contexts))
                .map_err(|error| error.to_string())?;
            values
                .into_iter()
                .for_each(|pair| set(&mut self.variables.env, pair));
        }
        Ok(())
    }

    /// A step of the job itself: told, recorded, logged.
    async fn top_step(&mut self, step: &PlannedStep, frame: &mut Frame) -> StepResult {
        let name = self.step_name(step, frame);
        let record = self.start_step(&name).await;
        let failed_before = frame.failed;
        let result = Box::pin(self.step(step, frame, 0)).await;
        self.end_step(record, result, frame, failed_before).await
    }

    /// One step: its condition, its work, and what it means for those after it.
    pub(super) async fn step(
        &mut self,
        step: &PlannedStep,
        frame: &mut Frame,
        depth: usize,
    ) -> StepResult {
        let (result, forgiven) = self.judged_step(step, frame, depth).await;
        let (outcome, conclusion) = (result.end.outcome(), result.end.conclusion(forgiven));
        frame.failed |= conclusion == Conclusion::Failure;
        if let Some(id) = &step.id {
            frame.steps.set(
                id,
                prepare::step_result(outcome, conclusion, &result.outputs),
            );
        }
        result
    }

    /// One step, and whether the job goes on when it has failed.
    pub(super) async fn judged_step(
        &mut self,
        step: &PlannedStep,
        frame: &mut Frame,
        depth: usize,
    ) -> (StepResult, bool) {
        let result = self.attempt(step, frame, depth).await;
        let forgiven = self.is_forgiven(step, frame, &result).await
            || self.quarantine_forgives(step, &result).await;
        (result, forgiven)
    }

    /// What expressions of a step see; `directory` is where its files for later steps lie.
    fn contexts_of(
        &self,
        step: &PlannedStep,
        frame: &Frame,
        own: &[(String, String)],
        directory: Option<&str>,
    ) -> Contexts {
        let mut contexts = self.contexts(frame, own);
        let status = if frame.failed { "failure" } else { "success" };
        let status = frame.action_path.as_ref().map(|_| status);
        let github = contexts.get(ContextName::Github);
        let github = context::of_step(github, &step.action_name, directory, status);
        contexts.set(ContextName::Github, github);
        contexts
    }

    /// What a step is called.
    pub(super) fn step_name(&self, step: &PlannedStep, frame: &Frame) -> String {
        prepare::name(step, &ExprScope::new(&self.step_contexts(step, frame)))
    }

    /// What expressions of a step see: its own variables as well, as far as they have values.
    pub(super) fn step_contexts(&self, step: &PlannedStep, frame: &Frame) -> Contexts {
        let contexts = self.contexts_of(step, frame, &[], None);
        let own = prepare::env_values(&step.env, &ExprScope::new(&contexts));
        prepare::with_env(&contexts, &own.unwrap_or_default())
    }

    /// Whether the job goes on after the step has failed. What is neither true nor false forgives
    /// nothing, as on GitHub: inputs of actions are texts.
    pub(super) async fn is_forgiven(
        &self,
        step: &PlannedStep,
        frame: &Frame,
        result: &StepResult,
    ) -> bool {
        let failed = result.end.outcome() == Conclusion::Failure;
        let Some(template) = step.continue_on_error.as_ref().filter(|_| failed) else {
            return false;
        };
        let contexts = self.step_contexts(step, frame);
        let forgiven = prepare::is_forgiven(template, &ExprScope::new(&contexts));
        if let Err(error) = &forgiven {
            let text = format!("{error}: the step has failed");
            self.log.error(self.current.number, &text).await;
        }
        forgiven.unwrap_or(false)
    }

    async fn attempt(&mut self, step: &PlannedStep, frame: &mut Frame, depth: usize) -> StepResult {
        // A cancellation does not keep it from being decided on.
        self.current.outlives_cancel = true;
        let files = match self.file_hashes(step, frame).await {
            Ok(files) => files,
            Err(result) => return result,
        };
        let hash = move |patterns: &[String]| files.hash(patterns);
        let contexts = self.contexts_of(step, frame, &[], None);
        let scope = ExprScope {
            contexts: &contexts,
            hash_files: Some(&hash),
        };
        // Its condition sees them already, as on GitHub.
        let own = match prepare::env_values(&step.env, &scope) {
            Ok(own) => own,
            Err(error) => return StepResult::error(error.to_string()),
        };
        let contexts = self.contexts_of(step, frame, &own, None);
        self.record_decision(&contexts, |contexts| {
            prepare::runs(step, contexts, Some(&hash)) == Ok(true)
        });
        match prepare::runs(step, &contexts, Some(&hash)) {
            Ok(true) => {}
            Ok(false) => {
                return StepResult::skipped(step.condition.as_ref(), contexts.status());
            }
            Err(error) => return StepResult::error(error.to_string()),
        }
        self.counters.count_step();
        let scope = ExprScope {
            contexts: &contexts,
            hash_files: Some(&hash),
        };
        let limit = match self.limit(step, &scope) {
            Ok(limit) => limit,
            Err(reason) => return StepResult::error(reason),
        };
        let mut anew = match self.planned_anew(&step.work).await {
            Ok(anew) => anew,
            Err(result) => return result,
        };
        let work = anew.as_ref().unwrap_or(&step.work);
        if let StepKind::Native { original, .. } = work {
            let given = (own.as_slice(), limit);
            let result = self.native_step(work, &scope, given).await;
            match original.as_deref().filter(|_| result.absent) {
                Some(original) => match self.original(original, result).await {
                    Ok(work) => anew = Some(work),
                    Err(result) => return result,
                },
                None => return result,
            }
        }
        match anew.as_ref().unwrap_or(&step.work) {
            work @ StepKind::Run { .. } => {
                let given = (own, limit);
                self.run_script((step, work), frame, &hash, given).await
            }
            StepKind::Native { uses, .. } => StepResult::error(format!("{uses} is not done here")),
            StepKind::Composite(action) => {
                // The step itself is no work.
                self.counters.uncount_step();
                let around = self.start_limit(limit);
                let step = &mut self.current;
                let outlives = std::mem::replace(&mut step.around_outlives, step.outlives_cancel);
                let work = Box::pin(self.composite(action, frame, &scope, own, depth));
                let result = work.await;
                (self.current.deadline, self.current.around_outlives) = (around, outlives);
                result
            }
            StepKind::Node(action) => self.node(step, action, frame, &hash).await,
            StepKind::Deferred(action) => {
                StepResult::error(format!("{} is not there", action.uses))
            }
            StepKind::Docker(action) => self.docker(step, action, frame, &hash).await,
            StepKind::Refused { uses } => StepResult::error(format!("{uses} is not done here")),
            // Of the job itself they are done above, and actions have none.
            StepKind::Wait(_) | StepKind::WaitAll | StepKind::Cancel(_) => {
                StepResult::success(Vec::new())
            }
        }
    }

    /// What the runner does itself.
    async fn native_step(
        &mut self,
        work: &StepKind,
        scope: &ExprScope<'_>,
        (own, limit): (&[(String, String)], Option<Duration>),
    ) -> StepResult {
        let StepKind::Native {
            action,
            uses,
            release,
            with,
            ..
        } = work
        else {
            return StepResult::error("it is no native action");
        };
        let inputs = match prepare::inputs(with, scope) {
            Ok(inputs) => inputs,
            Err(error) => return StepResult::error(error.to_string()),
        };
        let around = self.start_limit(limit);
        let step = NativeStep::new(&inputs, own);
        // Of some the version says what they set up.
        let uses = match action {
            NativeAction::Setup(tool) if tool.named_by_reference => uses,
            _ => release,
        };
        let work = Box::pin(self.native(*action, uses, step));
        let result = step_limit::run_within_limit(limit, work).await;
        self.current.deadline = around;
        result
    }

    /// The script of a step, made ready with the files that it may write.
    async fn run_script(
        &mut self,
        (step, work): (&PlannedStep, &StepKind),
        frame: &Frame,
        hash: HashFiles<'_>,
        (own, limit): (Vec<(String, String)>, Option<Duration>),
    ) -> StepResult {
        let StepKind::Run {
            script,
            shell,
            working_directory,
        } = work
        else {
            return StepResult::error("it is no script");
        };
        let directory = self.own_directory();
        let contexts = self.contexts_of(step, frame, &own, Some(&directory));
        let scope = ExprScope {
            contexts: &contexts,
            hash_files: Some(hash),
        };
        let planned = &self.request.plan.jobs[self.request.job];
        let workflow = &self.request.plan.workflows[planned.workflow].workflow;
        // A composite action has no defaults: its shell is given, or the usual one.
        let defaults = match frame.action_path {
            None => run_defaults(&planned.job.defaults, &workflow.defaults),
            Some(_) => (None, None),
        };
        let ready = prepare::run(
            script,
            shell.as_ref(),
            working_directory.as_ref(),
            defaults,
            shell::default_shell(self.request.facts.forge, self.containers.job.is_some()),
            &scope,
        );
        match ready {
            Ok(ready) => {
                let place = (directory, limit);
                let order = self.request;
                let asks_forge = self.checkouts.forge_token.is_some()
                    && !self.counts_at_forge()
                    && order.facts.is_of_forge()
                    && calls_api(&ready.script, &order.facts.server_url);
                let result = self.script(step, frame, ready, own, place).await;
                if asks_forge && result.end.outcome() == Conclusion::Failure {
                    self.log
                        .line(self.current.number, LineKind::Warning, AT_OWN_ADDRESS)
                        .await;
                }
                result
            }
            Err(error) => StepResult::error(error.to_string()),
        }
    }
}

fn lost_job(result: StepResult) -> JobResult {
    let reason = result.reason;
    let reason = reason.unwrap_or_else(|| "the machine went away".to_owned());
    JobResult::failed(JobEnd::Lost, reason)
}

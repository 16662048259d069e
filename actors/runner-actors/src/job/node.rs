//! JavaScript actions: files put into the machine, and their three stages in GitHub's order.
//!
//! ```text
//! job ─▶ files of stored actions ─▶ pre, in order ─▶ steps (main) ─▶ post, the last step's first
//!                                     └── state ────────┴──────────────▶ STATE_*
//! ```

use std::time::Duration;

use cluster_actors::vm_hosts::tarball;
use runner_core::context::{TOKEN_MARK, TOKEN_NAMES, WORKSPACE};
use runner_core::expr::{
    ContextName, Contexts, EvalError, ExprScope, ExprTemplate, ExprValue, HashFiles, IfCondition,
};
use runner_core::node::{LIST_SCRIPT, choose, input_variable};
use runner_core::plan::{
    ActionLocation, DockerAction, NodeAction, PlannedStep, StepKind, StoredLocation,
};
use runner_core::prepare;
use runner_core::state::{Conclusion, StepEnd};
use runner_core::workflow::{DockerStage, NodeStage};

use super::composite;
use super::frame::{Frame, ProcessOwner, StepProcess, StepResult};
use super::hash::hash_files;
use super::node_state::{DockerStageKind, PostAction, PostStep, StageInput};
use super::step_runner::StepRunner;
use crate::log::LineKind;

/// Longest time in which nothing of an action's files goes into the VM.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(300);

/// What an action of another repository runs before the steps.
enum PreStage<'a> {
    Node(&'a NodeAction, &'a NodeStage),
    Docker(&'a DockerAction, &'a DockerStage),
}

impl<'a> PreStage<'a> {
    fn from_kind(work: &'a StepKind) -> Option<Self> {
        match work {
            StepKind::Node(action) => {
                action.location.stored()?;
                Some(Self::Node(action, action.runs.pre.as_ref()?))
            }
            StepKind::Docker(action) => {
                action.location.as_ref()?.stored()?;
                Some(Self::Docker(action, action.runs.pre.as_ref()?))
            }
            _ => None,
        }
    }

    fn condition(&self) -> Option<&'a IfCondition> {
        match self {
            Self::Node(_, stage) => stage.condition.as_ref(),
            Self::Docker(_, stage) => stage.condition.as_ref(),
        }
    }
}

impl StepRunner<'_> {
    /// Puts the files of all actions of other repositories into the machine: each repository once,
    /// and only while they are what was locked.
    pub(super) async fn put_actions(&mut self, steps: &[PlannedStep]) -> Result<(), String> {
        for step in steps {
            self.put_actions_of(&step.work).await?;
        }
        Ok(())
    }

    /// The same of what one step does.
    pub(super) async fn put_actions_of(&mut self, work: &StepKind) -> Result<(), String> {
        let mut found = Vec::new();
        locations(work, &mut found);
        for location in found {
            if self.node_actions.present.contains(&location.top()) {
                continue;
            }
            let name = format!("{}@{}", location.repository, location.reference);
            let (store, locked) = (self.request.stores.actions.clone(), location.locked.clone());
            let tree = tokio::task::spawn_blocking(move || store.tree(&locked)).await;
            let tree = tree.map_err(|error| format!("{name}: {error}"))?;
            let tree = tree.map_err(|reason| format!("{name}: {reason}"))?;
            let (vmm, vm) = (&self.machine.vmm, &self.machine.id);
            let put = async {
                let tar = tarball::of_directory(&tree);
                let _transfer = self.machine.transfer().await;
                let top = location.top();
                let put = vmm.put_files(vm, &top, tar, UPLOAD_TIMEOUT);
                put.await
                    .map_err(|error| format!("{name} could not be put into the VM: {error}"))
            };
            self.unless_cancelled(put).await?;
            self.node_actions.present.insert(location.top());
            let text = format!("action {name} is {}", location.locked.commit);
            self.log.info(0, &text).await;
        }
        Ok(())
    }

    /// `pre` of all actions of other repositories, in the order of the steps and whatever their
    /// `if` says, as on GitHub.
    pub(super) async fn pre_steps(
        &mut self,
        steps: &[PlannedStep],
        frame: &mut Frame,
    ) -> Option<StepResult> {
        for step in steps {
            let lost = match &step.work {
                StepKind::Composite(action) => {
                    let contexts = self.contexts(frame, &[]);
                    let scope = ExprScope::new(&contexts);
                    let own = prepare::env_values(&step.env, &scope).unwrap_or_default();
                    // What cannot be evaluated yet is said when its step runs.
                    match composite::inner_frame(action, frame, &scope, (own, &self.folders)) {
                        Ok(mut inner) => {
                            let lost = Box::pin(self.pre_steps(&action.steps, &mut inner)).await;
                            frame.failed |= inner.failed;
                            lost
                        }
                        Err(_) => None,
                    }
                }
                work => match PreStage::from_kind(work) {
                    Some(stage) => self.pre_step(step, &stage, frame).await,
                    None => None,
                },
            };
            if lost.is_some() {
                return lost;
            }
        }
        None
    }

    /// `pre` or `pre-entrypoint` of one action; the result where the machine went away.
    async fn pre_step(
        &mut self,
        step: &PlannedStep,
        stage: &PreStage<'_>,
        frame: &mut Frame,
    ) -> Option<StepResult> {
        let condition = stage.condition();
        let contexts = self.contexts(frame, &[]);
        if holds_as_written(condition, &contexts) != Ok(true) {
            return None;
        }
        let name = self.step_name(step, frame);
        self.record_decision(&contexts, |contexts| {
            holds_as_written(condition, contexts) == Ok(true)
        });
        self.current.number += 1;
        let record = self.start_step(&format!("Pre {}", plain(&name))).await;
        let roots = self.checked_out();
        let hash = move |patterns: &[String]| hash_files(&roots, patterns);
        let input = match stage {
            PreStage::Node(action, _) => self.stage_input(step, action, frame, &hash),
            PreStage::Docker(action, _) => self.docker_input(step, action, frame, &hash),
        };
        let result = match (input, stage) {
            (Ok(input), PreStage::Node(action, stage)) => {
                self.keep_post(step, action, frame, &input);
                self.stage(action, &stage.script, input).await
            }
            (Ok(input), PreStage::Docker(action, _)) => {
                self.keep_docker_post(step, action, frame, &input);
                let kind = DockerStageKind::Pre;
                self.docker_stage(action, kind, input).await
            }
            (Err(result), _) => result,
        };
        let forgiven = self.is_forgiven(step, frame, &result).await;
        self.end_stage(record, result, forgiven, frame).await
    }

    /// `main`, and what runs after the job is kept.
    pub(super) async fn node(
        &mut self,
        step: &PlannedStep,
        action: &NodeAction,
        frame: &Frame,
        hash: HashFiles<'_>,
    ) -> StepResult {
        match self.stage_input(step, action, frame, hash) {
            Ok(input) => {
                self.keep_post(step, action, frame, &input);
                self.stage(action, &action.runs.main, input).await
            }
            Err(result) => result,
        }
    }

    /// What was kept, the last first, caches among it; the result where the machine went away.
    pub(super) async fn post_steps(&mut self, frame: &mut Frame) -> Option<StepResult> {
        loop {
            if !frame.failed && !self.is_cancelled() {
                self.save_caches().await;
            }
            let post = self.node_actions.posts.pop()?;
            let Some(holds) = post.action.condition() else {
                continue;
            };
            let contexts = self.contexts(frame, &post.input.own);
            let condition = holds;
            let holds = holds_as_written(condition, &contexts);
            if holds == Ok(false) {
                continue;
            }
            self.record_decision(&contexts, |contexts| {
                holds_as_written(condition, contexts) == Ok(true)
            });
            self.current.number += 1;
            let name = format!("Post {}", plain(&post.name));
            let record = self.start_step(&name).await;
            let result = match holds {
                Ok(_) => {
                    let input = self.post_input(&post, frame).await;
                    self.post_stage(&post.action, input).await
                }
                Err(error) => StepResult::error(format!("post-if: {error}")),
            };
            let at = post.frame(frame);
            let forgiven = self.is_forgiven(&post.step, &at, &result).await;
            let lost = self.end_stage(record, result, forgiven, frame).await;
            if lost.is_some() {
                return lost;
            }
        }
    }

    /// Keeps what runs after the job, once for each step; what is evaluated later counts.
    fn keep_post(
        &mut self,
        step: &PlannedStep,
        action: &NodeAction,
        frame: &Frame,
        input: &StageInput,
    ) {
        if action.runs.post.is_none() {
            return;
        }
        let post = PostStep {
            name: self.step_name(step, frame),
            action: PostAction::Node(action.clone()),
            step: step.clone(),
            within: PostStep::kept_frame(frame),
            input: input.clone(),
        };
        self.node_actions.keep(post);
    }

    /// Variables and inputs of a step for what runs after the job: as they are now, as on GitHub,
    /// where an action knows by them how the job has ended. Those of before where they have no
    /// value any more.
    async fn post_input(&mut self, post: &PostStep, frame: &Frame) -> StageInput {
        let frame = post.frame(frame);
        let before = StageInput {
            limit: self.in_time(post.input.limit),
            ..post.input.clone()
        };
        let Ok(files) = self.file_hashes(&post.step, &frame).await else {
            return before;
        };
        let hash = move |patterns: &[String]| files.hash(patterns);
        let input = match &post.action {
            PostAction::Node(action) => self.stage_input(&post.step, action, &frame, &hash),
            PostAction::Docker(action) => self.docker_input(&post.step, action, &frame, &hash),
        };
        input.unwrap_or(before)
    }

    /// What runs after the job, of whichever kind the action is.
    async fn post_stage(&mut self, action: &PostAction, input: StageInput) -> StepResult {
        match action {
            PostAction::Node(action) => match &action.runs.post {
                Some(stage) => self.stage(action, &stage.script, input).await,
                None => StepResult::success(Vec::new()),
            },
            PostAction::Docker(action) => {
                let kind = DockerStageKind::Post;
                self.docker_stage(action, kind, input).await
            }
        }
    }

    /// Evaluates a step's variables and inputs.
    fn stage_input(
        &self,
        step: &PlannedStep,
        action: &NodeAction,
        frame: &Frame,
        hash: HashFiles<'_>,
    ) -> Result<StageInput, StepResult> {
        let place = (Some(&action.location), action.directory.as_str());
        let seen = (frame, hash);
        self.evaluated_input(step, &action.inputs, place, seen, |_, _, _| Ok(()))
    }

    /// The same for an action of any kind; `more` sees the inputs, and the scope that they were
    /// evaluated in.
    pub(super) fn evaluated_input(
        &self,
        step: &PlannedStep,
        inputs: &[(String, Option<ExprTemplate>)],
        (location, directory): (Option<&ActionLocation>, &str),
        (frame, hash): (&Frame, HashFiles<'_>),
        more: impl FnOnce(&ExprScope<'_>, &[(&str, String)], &mut StageInput) -> Result<(), StepResult>,
    ) -> Result<StageInput, StepResult> {
        let wrong = |error: prepare::StepPrepareError| StepResult::error(error.to_string());
        let contexts = self.contexts(frame, &[]);
        let scope = ExprScope {
            contexts: &contexts,
            hash_files: Some(hash),
        };
        let mut own = prepare::env_values(&step.env, &scope).map_err(wrong)?;
        let contexts = self.contexts(frame, &own);
        let scope = ExprScope {
            contexts: &contexts,
            hash_files: Some(hash),
        };
        let mut evaluated = Vec::new();
        for (name, value) in inputs {
            let text = value.as_ref().map(|value| value.text(&scope)).transpose();
            let text = text.map_err(|error| StepResult::error(format!("input {name}: {error}")))?;
            let text = text.unwrap_or_default();
            own.push((input_variable(name), text.clone()));
            evaluated.push((name.as_str(), text));
        }
        let stored = location.and_then(ActionLocation::stored);
        let mut input = StageInput {
            owner: ProcessOwner {
                id: step.action_name.clone(),
                action_path: location.map(|at| self.folders.to_step_path(&at.path(directory))),
                action: stored.cloned(),
                env: frame.env.clone(),
            },
            own,
            limit: self.limit(step, &scope).map_err(StepResult::error)?,
            args: None,
        };
        more(&scope, &evaluated, &mut input)?;
        Ok(input)
    }

    /// Runs one script of an action; the state that it leaves is kept for those after it.
    async fn stage(&mut self, action: &NodeAction, script: &str, input: StageInput) -> StepResult {
        let program = match self.program(action.runs.major).await {
            Ok(program) => program,
            Err(result) => return result,
        };
        let directory = self.own_directory();
        let state = self.node_actions.state.get(&action.slot);
        let state = state.into_iter().flatten();
        let state = state.map(|(name, value)| (format!("STATE_{name}"), value.clone()));
        let services = self.admission.iter().flat_map(|it| it.variables());
        let own = input.own.into_iter().chain(state).chain(services).collect();
        let path = input.owner.action_path.clone().unwrap_or_default();
        let process = StepProcess {
            argv: vec![program, format!("{path}/{script}")],
            cwd: WORKSPACE.to_owned(),
            env: self.process_env(&input.owner, &directory, own),
            script: None,
            directory,
            limit: input.limit,
            within: None,
        };
        let process = self.containers.place(process, &self.variables.path);
        let mut result = self.process(process).await;
        let left = std::mem::take(&mut result.state);
        let known = self.node_actions.state.entry(action.slot).or_default();
        left.into_iter()
            .for_each(|pair| super::frame::set(known, pair));
        result
    }

    /// The machine's Node for this version; the machine is asked once.
    async fn program(&mut self, major: u32) -> Result<String, StepResult> {
        if self.node_actions.listing.is_none() {
            let listing = self.list_programs().await?;
            self.node_actions.listing = Some(listing);
        }
        let listing = self.node_actions.listing.as_deref().unwrap_or_default();
        choose(listing, major).map_err(StepResult::error)
    }

    async fn list_programs(&mut self) -> Result<String, StepResult> {
        // Of its own: steps beside each other look at the same time.
        let folder = format!("{}/nodes", self.own_directory());
        let list = format!("{folder}/list");
        // Whose user the job's container has may make nothing there, as with the files of a step.
        self.put(&folder, &[("list", b"", 0o666)])
            .await
            .map_err(|reason| {
                StepResult::lost(format!(
                    "the machine's programs could not be listed: {reason}"
                ))
            })?;
        let argv = ["sh", "-c", LIST_SCRIPT, "sh", &list].map(str::to_owned);
        let exit = self.command_in_job(argv.to_vec()).await;
        if exit.end == StepEnd::Cancelled {
            return Err(StepResult::cancelled());
        }
        let files = self.fetch_small(&folder).await;
        let files = files.map_err(|reason| {
            StepResult::lost(match &exit.reason {
                Some(why) => format!("the machine's programs could not be listed: {why}"),
                None => format!("the list of the machine's programs could not be read: {reason}"),
            })
        })?;
        let text = files.into_iter().next().map(|(_, bytes)| bytes);
        let text = text.unwrap_or_default();
        match exit.reason {
            Some(why) if text.is_empty() => Err(StepResult::lost(format!(
                "the machine's programs could not be listed: {why}"
            ))),
            _ => Ok(String::from_utf8_lossy(&text).into_owned()),
        }
    }

    /// Records a stage's end, and what it means for the job; gives the result where the machine
    /// went away.
    async fn end_stage(
        &mut self,
        record: crate::records::StepRecord,
        result: StepResult,
        forgiven: bool,
        frame: &mut Frame,
    ) -> Option<StepResult> {
        let failed_before = frame.failed;
        let conclusion = result.end.conclusion(forgiven);
        frame.failed |= conclusion == Conclusion::Failure;
        if frame.failed && !failed_before {
            self.node_actions.failure.clone_from(&result.reason);
        }
        let lost = result.end == StepEnd::Lost;
        let result = self.end_step(record, result, frame, failed_before).await;
        lost.then_some(result)
    }

    /// Whether `github.token` is one: the job's own, or the operator's in its place.
    pub(super) fn has_token(&self) -> bool {
        let own = self.checkouts.forge_token.is_some();
        own || match self.request.contexts.get(ContextName::Secrets) {
            ExprValue::Object(secrets) => secrets.get(TOKEN_NAMES[0]).is_some_and(|token| {
                let token = token.as_text();
                !token.is_empty() && *token != *TOKEN_MARK
            }),
            _ => false,
        }
    }

    /// Says what a job lacks that is no reason to refuse it.
    pub(super) async fn log_notes(&self) {
        let planned = &self.request.plan.jobs[self.request.job];
        let empty = planned.token_defaults.iter();
        let empty = empty.filter(|_| !self.has_token());
        for note in planned.notes.iter().chain(empty) {
            self.log.line(0, LineKind::Warning, note).await;
        }
    }
}

/// Whether a stage runs that has a condition of its own; without one it does.
fn holds_as_written(
    condition: Option<&IfCondition>,
    contexts: &Contexts,
) -> Result<bool, EvalError> {
    condition.map_or(Ok(true), |it| {
        it.holds_as_written(&ExprScope::new(contexts))
    })
}

/// `Run owner/repo@v1` is called `Pre owner/repo@v1`, and not `Pre Run …`.
fn plain(name: &str) -> &str {
    name.strip_prefix("Run ").unwrap_or(name)
}

/// The stored repositories of an action, and of those that it uses.
fn locations<'a>(work: &'a StepKind, found: &mut Vec<&'a StoredLocation>) {
    match work {
        StepKind::Node(action) => found.extend(action.location.stored()),
        StepKind::Docker(action) => {
            found.extend(action.location.iter().filter_map(|it| it.stored()));
        }
        StepKind::Composite(action) => {
            found.extend(action.location.stored());
            for step in &action.steps {
                locations(&step.work, found);
            }
        }
        _ => {}
    }
}

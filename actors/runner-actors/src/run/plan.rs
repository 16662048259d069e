//! From a stored event to the plan of one workflow.

use std::sync::Arc;

use runner_core::context::{self, RunFacts};
use runner_core::event::{EventContext, EventKind};
use runner_core::expr::{ContextName, Contexts, ExprValue};
use runner_core::plan::{self, Plan, PlanInput};
use runner_core::state::RunState;
use runner_core::test_report::SETTINGS_FILE;
use runner_core::workflow::Workflow;
use tokio::sync::watch;

use super::approval::admit;
use super::defaults;
use super::head::resolve_head;
use super::own_activity::own_activity;
use super::services::RunServices;
use super::signals::{before_jobs, unless_cancelled};
use crate::job::ProjectTests;
use crate::job_graph;
use crate::known_repository::{MAX_SCHEDULES, WorkflowSchedule};
use crate::ledger::RunLedger;
use crate::log::LineKind;
use crate::model_check::{self, ModelFailure};
use crate::permits::WorkPermit;
use crate::records::new_run_id;
use crate::repositories::SourceError;
use crate::rows::{self, NewRunRows};
use crate::source::{FetchedCommit, WorkflowCandidate, WorkflowMatch};

/// What is run.
pub(super) struct PlannedRun {
    pub(super) plan: Arc<Plan>,
    pub(super) base: Contexts,
    pub(super) event: Arc<EventContext>,
    pub(super) facts: RunFacts,
    pub(super) source: Arc<FetchedCommit>,
    /// What the project says of its tests.
    pub(super) tests: Arc<ProjectTests>,
    /// The workflow's name, for contexts of statuses.
    pub(super) workflow: String,
}

/// Who may end a run that is read, and what is held meanwhile.
struct PlanWork {
    cancelled: watch::Receiver<Option<String>>,
    /// Of git's work; with what goes on when nobody waits for it any more.
    permit: Arc<WorkPermit>,
}

impl PlanWork {
    /// What comes of work; `None`: the run was ended before it was done.
    async fn until_ended<T>(
        &mut self,
        ledger: &mut RunLedger,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        match unless_cancelled(&mut self.cancelled, work).await {
            Ok(done) => Some(done),
            Err(reason) => {
                ledger.end(RunState::Cancelled, Some(reason)).await;
                None
            }
        }
    }
}

/// Fetches, reads and plans; `None`: the run has ended or waits, its record says how.
pub(super) async fn prepare(
    services: &RunServices,
    ledger: &mut RunLedger,
    cancel: &watch::Sender<Option<String>>,
) -> Option<PlannedRun> {
    let mut cancelled = before_jobs(cancel, &ledger.record);
    let repository = ledger.record.repository.clone();
    let permit = services.checkouts.acquire(&repository);
    let permit = match unless_cancelled(&mut cancelled, permit).await {
        Ok(permit) => Arc::new(permit),
        Err(reason) => {
            ledger.end(RunState::Cancelled, Some(reason)).await;
            return None;
        }
    };
    let mut reading = PlanWork { cancelled, permit };
    if begins_anew(ledger.record.state) {
        ledger.become_state(RunState::Parsing);
        ledger.save(Vec::new()).await;
    }
    find_head(services, ledger, &mut reading).await?;
    if !admit(services, ledger).await {
        return None;
    }
    ledger.record.reason = None;
    let (source, event, mut candidates) = fetch(services, ledger, &mut reading).await?;
    let source = Arc::new(source);
    record_push(services, ledger, &candidates).await;
    let names: Vec<Option<String>> = candidates.iter().map(|one| one.name.clone()).collect();
    if let Some(only) = ledger.record.workflow_file.as_deref() {
        candidates.retain(|candidate| candidate.file == only);
    }
    let mut workflow = choose(ledger, candidates).await?;
    if let Some(reason) = source.conflict() {
        ledger.end(RunState::Failed, Some(reason)).await;
        return None;
    }
    if own_activity(services, ledger).await {
        return None;
    }
    ask_model(services, ledger, (&workflow, &source), &mut reading).await?;
    if let Some(job) = ledger.record.only_job.clone()
        && !workflow.keep_only(&job)
    {
        let reason = format!("the workflow has no job {}", config_core::quoted(&job));
        ledger.end(RunState::Failed, Some(reason)).await;
        return None;
    }
    defaults::settle(&services.settings, &ledger.event, &mut workflow);
    let facts = facts(services, ledger, &workflow).await;
    let mut base = contexts(services, ledger, &event, &facts, &workflow).await?;
    let inputs = base.get(ContextName::Inputs);
    let event = context::with_dispatch(event, inputs, &facts.workflow_file);
    base.set(ContextName::Github, context::github(&event, &facts, None));
    let name = with_unique_names(&workflow, &names);
    let planned = plan_beside(services, workflow, (&base, &event), &source);
    let (plan, tests) = match reading.until_ended(ledger, planned).await? {
        Ok(planned) => planned,
        Err(reason) => {
            ledger.end(RunState::Failed, Some(reason)).await;
            return None;
        }
    };
    ledger.record.name = Some(plan.name.clone());
    ledger.record.workflow = Some(facts.workflow.clone());
    ledger.record.plan = job_graph::of_plan(&plan);
    ledger.become_state(RunState::Planned);
    let clearing = ledger.clearing();
    ledger.save(clearing).await;
    Some(PlannedRun {
        plan: Arc::new(plan),
        base,
        event: Arc::new(event),
        facts,
        source,
        tests: Arc::new(tests),
        workflow: name,
    })
}

/// Whether a run in this state is read before anything else: taken up again at its jobs, it stays
/// where it is until it is planned.
fn begins_anew(state: RunState) -> bool {
    use RunState::{Allocating, Planned, Running};
    !matches!(state, Planned | Allocating | Running)
}

/// The plan, made on a thread that may wait for files: of the commit, and of the store of actions.
async fn plan_beside(
    services: &RunServices,
    workflow: Workflow,
    (base, event): (&Contexts, &EventContext),
    source: &Arc<FetchedCommit>,
) -> Result<(Plan, ProjectTests), String> {
    let (files, contexts) = (Arc::clone(source), base.clone());
    let actions = services.jobs.actions.clone();
    let (repository, untrusted) = (event.repository.clone(), event.untrusted);
    let planned = tokio::task::spawn_blocking(move || {
        let actions = actions.stored_for(&repository, untrusted);
        let input = PlanInput {
            contexts: &contexts,
            files: &|path: &str| files.read(path),
            actions: &actions,
        };
        let tests = ProjectTests::parse(files.read(SETTINGS_FILE).as_deref());
        let planned = plan::plan(workflow, input).map_err(|error| error.to_string());
        planned.map(|plan| (plan, tests))
    });
    let planned = planned.await;
    planned.unwrap_or_else(|error| Err(format!("planning failed: {error}")))
}

/// What the workflow is called in its statuses: by its name, and by its file too where another file
/// of the commit has the same name.
fn with_unique_names(workflow: &Workflow, names: &[Option<String>]) -> String {
    let name = workflow.display_name();
    let same = |other: &&String| other.to_lowercase() == name.to_lowercase();
    if names.iter().flatten().filter(same).count() > 1 {
        format!("{name} [{}]", workflow.file)
    } else {
        name.to_owned()
    }
}

/// Finds the commit of a pull request whose webhook does not name it; `None`: that failed, and the
/// run has ended.
async fn find_head(
    services: &RunServices,
    ledger: &mut RunLedger,
    reading: &mut PlanWork,
) -> Option<()> {
    match resolve_head(&services.repositories, ledger, &mut reading.cancelled).await {
        Ok(()) => Some(()),
        Err(error) => {
            let state = error.state();
            ledger.end(state, Some(error.to_string())).await;
            None
        }
    }
}

/// Fetches the commit and looks at its workflow files; `None`: that failed, and the run has ended.
async fn fetch(
    services: &RunServices,
    ledger: &mut RunLedger,
    reading: &mut PlanWork,
) -> Option<(FetchedCommit, EventContext, Vec<WorkflowCandidate>)> {
    let repositories = services.repositories.clone();
    let event = Arc::clone(&ledger.event);
    let permit = Arc::clone(&reading.permit);
    let fetched = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let source = FetchedCommit::fetch(&repositories, &event)?;
        let mut context = source.context(&event);
        let candidates = source.candidates(&mut context)?;
        Ok::<_, SourceError>((source, context, candidates))
    });
    match reading.until_ended(ledger, fetched).await? {
        Ok(Ok(fetched)) => {
            record_merge(ledger, &fetched.0).await;
            Some(fetched)
        }
        Ok(Err(error)) => {
            let state = error.state();
            ledger.end(state, Some(error.to_string())).await;
            None
        }
        Err(error) => {
            ledger
                .end(
                    RunState::Failed,
                    Some(format!("reading the commit failed: {error}")),
                )
                .await;
            None
        }
    }
}

/// What a pull request was merged onto is kept: taken up or repeated, the run is of the same
/// commit.
async fn record_merge(ledger: &mut RunLedger, source: &FetchedCommit) {
    let Some(onto) = source.merged_onto() else {
        return;
    };
    let mut event = (*ledger.event).clone();
    event.merged_onto = Some(onto.to_string());
    ledger.event = Arc::new(event);
    let (event, run) = (Arc::clone(&ledger.event), ledger.record.id.clone());
    let stored = ledger
        .recorder
        .store
        .write(move |rows| rows::put_event(rows, &run, &event));
    if let Err(error) = stored.await {
        tracing::warn!(event = "run.store_failed", run = %ledger.record.id, %error, "what a pull request was merged onto cannot be stored");
    }
}

/// What a push says of its repository is kept: for runs that the clock or somebody starts.
async fn record_push(services: &RunServices, ledger: &RunLedger, candidates: &[WorkflowCandidate]) {
    let event = Arc::clone(&ledger.event);
    // Taken up again before it got this far, it teaches now; one that is older than what is known
    // teaches nothing.
    let first = ledger.record.workflow_file.is_none();
    if event.kind() != EventKind::Push || event.untrusted || !first {
        return;
    }
    let planned = candidates.iter().flat_map(|candidate| {
        let schedules = candidate.schedules.iter();
        schedules.map(|(cron, timezone)| WorkflowSchedule {
            file: candidate.file.clone(),
            cron: cron.clone(),
            timezone: timezone.clone(),
        })
    });
    let planned = planned.take(MAX_SCHEDULES).collect();
    let followed = candidates.iter().flat_map(|candidate| &candidate.follows);
    let followed = followed.cloned().collect();
    let started_by = candidates
        .iter()
        .flat_map(|candidate| &candidate.started_by);
    let started_by = started_by.cloned().collect();
    let (run, now_ms) = (ledger.record.id.clone(), services.settings.schedules.now_ms);
    let stored = ledger.recorder.store.write(move |rows| {
        let mut known = rows::load_repository(rows, &event.repository)?.unwrap_or_default();
        known.record_push(&event, &run, planned, now_ms());
        known.record_triggers(&event, followed, started_by);
        rows::put_known(rows, &known)
    });
    if let Err(error) = stored.await {
        tracing::warn!(event = "run.store_failed", run = %ledger.record.id, %error, "what a push says of its repository cannot be stored");
    }
}

/// The workflow this run is of; others that the event starts become runs of their own.
async fn choose(ledger: &mut RunLedger, candidates: Vec<WorkflowCandidate>) -> Option<Workflow> {
    let mut chosen: Option<Workflow> = None;
    let mut wrong = Vec::new();
    let mut skipped = Vec::new();
    let mut others = Vec::new();
    for WorkflowCandidate { file, matched, .. } in candidates {
        match matched {
            WorkflowMatch::Start(workflow) if chosen.is_none() => chosen = Some(*workflow),
            WorkflowMatch::Start(_) => others.push(file),
            WorkflowMatch::Skip(reason) => skipped.push(format!("{file}: {reason}")),
            WorkflowMatch::Invalid(diagnostics) => wrong.push((file, diagnostics.to_string())),
        }
    }
    let own = ledger.record.workflow_file.is_some();
    if !own {
        // A wrong file ends this run when nothing else is started by it.
        let mut rest = wrong.split_off(usize::from(chosen.is_none() && !wrong.is_empty()));
        others.extend(rest.drain(..).map(|(file, _)| file));
        let siblings: Vec<NewRunRows> = others.iter().map(|file| sibling(ledger, file)).collect();
        ledger.beginning.extend(siblings);
    }
    if let Some(workflow) = chosen {
        ledger.record.workflow_file = Some(workflow.file.to_string());
        if !ledger.beginning.is_empty() {
            // The others do not wait until this one is planned.
            ledger.save(Vec::new()).await;
        }
        return Some(workflow);
    }
    if let Some((file, text)) = wrong.into_iter().next() {
        ledger.record.workflow_file = Some(file);
        ledger.end(RunState::Failed, Some(text)).await;
        return None;
    }
    let event = &ledger.record.event;
    let reason = if skipped.is_empty() {
        "the commit has no workflow files".to_owned()
    } else {
        format!(
            "no workflow is started by this {event}: {}",
            skipped.join("; ")
        )
    };
    // Somebody asked for this workflow, or the clock: it is said that it could not be had.
    let state = if own {
        RunState::Refused
    } else {
        tracing::info!(event = "run.ignored", run = %ledger.record.id, reason, "an event starts no workflow");
        RunState::Ignored
    };
    ledger.end(state, Some(reason)).await;
    None
}

/// A run of its own for another workflow of the same event: stored with this one's choice, so that
/// it begins once.
fn sibling(ledger: &RunLedger, file: &str) -> NewRunRows {
    let mut record = ledger.record.clone();
    record.id = new_run_id();
    record.state = RunState::Received;
    record.workflow_file = Some(file.to_owned());
    record.number = 0;
    record.repeats = None;
    record.jobs.clear();
    record.environments.clear();
    NewRunRows::new(&record, &ledger.event)
}

/// With `USE_LLM_PARSER` the model reads the file too; what it says must be what the file says.
async fn ask_model(
    services: &RunServices,
    ledger: &mut RunLedger,
    (workflow, source): (&Workflow, &FetchedCommit),
    reading: &mut PlanWork,
) -> Option<()> {
    let Some(server) = services.settings.model.clone() else {
        return Some(());
    };
    tracing::info!(event = "run.model_parsing", run = %ledger.record.id, "LLM-based workflow parsing enabled");
    ledger
        .log_line(LineKind::Info, "LLM-based workflow parsing enabled")
        .await;
    let bytes = source.read(&workflow.file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let checked = model_check::check(&server, workflow, &text);
    match reading.until_ended(ledger, checked).await? {
        Ok(notes) => {
            for line in notes.iter().flat_map(model_check::log_lines) {
                ledger.log_line(LineKind::Info, &line).await;
            }
            Some(())
        }
        Err(error) => {
            let state = match error {
                ModelFailure::Unreachable(_) | ModelFailure::Unusable(_) => RunState::Failed,
                ModelFailure::Differs(_) => RunState::Refused,
            };
            let reason = format!("workflow parsing failed: {error}");
            ledger.end(state, Some(reason)).await;
            None
        }
    }
}

async fn facts(services: &RunServices, ledger: &mut RunLedger, workflow: &Workflow) -> RunFacts {
    if ledger.record.number == 0 {
        let (repository, file) = (ledger.record.repository.clone(), workflow.file.to_string());
        let number = ledger
            .recorder
            .store
            .write(move |rows| rows::next_number(rows, &repository, &file))
            .await;
        // A store that cannot count now: the run is more important than its number.
        ledger.record.number = number.unwrap_or(1);
    }
    let event = &ledger.event;
    let forge = event.forge(services.settings.forge);
    let page = event
        .html_url
        .as_deref()
        .and_then(|page| url::Url::parse(page).ok());
    let server = page
        .map(|page| page.origin().ascii_serialization())
        .unwrap_or_default();
    RunFacts {
        run_id: context::run_number_id(&ledger.record.id),
        run_number: ledger.record.number,
        run_attempt: ledger.record.attempt,
        workflow: workflow.display_name().to_owned(),
        workflow_file: workflow.file.to_string(),
        api_url: context::api_url(forge, &server),
        graphql_url: String::new(),
        server_url: server,
        default_branch: event.default_branch.clone().unwrap_or_default(),
        forge: Some(forge),
        retention_days: services.settings.artifacts.days,
    }
}

async fn contexts(
    services: &RunServices,
    ledger: &mut RunLedger,
    event: &EventContext,
    facts: &RunFacts,
    workflow: &Workflow,
) -> Option<Contexts> {
    let settings = &services.settings;
    let mut base = Contexts::default();
    base.set(ContextName::Github, context::github(event, facts, None));
    base.set(
        ContextName::Vars,
        ExprValue::object(settings.scopes.vars(&settings.vars, &event.repository)),
    );
    let tokens = context::TOKEN_NAMES.map(|name| (name, context::TOKEN_MARK));
    let own = settings
        .scopes
        .secrets(&settings.secrets, &event.repository);
    let own = own.into_iter().filter(|_| !event.untrusted);
    // One of the operator's own stands in the place of the job's.
    base.set(
        ContextName::Secrets,
        ExprValue::object(tokens.into_iter().chain(own)),
    );
    match context::dispatch_inputs(workflow, event, &base) {
        Ok(inputs) => base.set(ContextName::Inputs, inputs),
        Err(reason) => {
            ledger.end(RunState::Failed, Some(reason)).await;
            return None;
        }
    }
    Some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next leader takes up runs in every state; a run that was planned had an error logged.
    #[test]
    fn i18_a_run_that_is_taken_up_goes_over_to_a_state_that_may_follow() {
        for state in RunState::ALL.into_iter().filter(|one| !one.is_terminal()) {
            let next = match begins_anew(state) {
                true => RunState::Parsing,
                false => RunState::Planned,
            };
            assert!(
                state == next || state.may_become(next),
                "{state:?}, {next:?}"
            );
        }
    }
}

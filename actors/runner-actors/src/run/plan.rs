//! From a stored event to the plan of one workflow.

use std::sync::Arc;

use outbound::vmm::NewVm;
use runner_core::context::{self, RunFacts};
use runner_core::event::{EventContext, EventKind};
use runner_core::expr::{Context, Contexts, Value};
use runner_core::plan::{self, Plan, PlanInput};
use runner_core::state::RunState;
use runner_core::workflow::Workflow;

use super::Ledger;
use crate::known;
use crate::log::LineKind;
use crate::parser::{self, ModelFailure};
use crate::rows::{self, NewRun};
use crate::run::head::name_head;
use crate::source::{Candidate, Outcome, Source};

/// What is run.
pub(crate) struct Planned {
    pub(crate) plan: Arc<Plan>,
    pub(crate) base: Contexts,
    pub(crate) event: Arc<EventContext>,
    pub(crate) facts: RunFacts,
    pub(crate) source: Arc<Source>,
    /// The workflow's name, for contexts of statuses.
    pub(crate) workflow: String,
}

/// Fetches, reads and plans; `None`: the run has ended, its record says how.
pub(crate) async fn prepare(ledger: &mut Ledger) -> Option<Planned> {
    // Taken up again at its jobs, it stays where it is until it is planned.
    if !matches!(
        ledger.record.state,
        RunState::Allocating | RunState::Running
    ) {
        ledger.become_state(RunState::Parsing);
        ledger.save(Vec::new()).await;
    }
    let (source, event, mut candidates) = fetch(ledger).await?;
    let source = Arc::new(source);
    learn(ledger, &candidates).await;
    let names: Vec<Option<String>> = candidates.iter().map(|one| one.name.clone()).collect();
    if let Some(only) = ledger.record.workflow_file.as_deref() {
        candidates.retain(|candidate| candidate.file == only);
    }
    let mut workflow = choose(ledger, candidates).await?;
    ask_model(ledger, &workflow, &source).await?;
    if let Some(job) = ledger.record.only_job.clone()
        && !workflow.keep_only(&job)
    {
        let reason = format!("the workflow has no job {}", config_core::quoted(&job));
        ledger.end(RunState::Failed, Some(reason)).await;
        return None;
    }
    let facts = facts(ledger, &workflow).await;
    let base = contexts(ledger, &event, &facts, &workflow).await?;
    let name = told_apart(&workflow, &names);
    let files = Arc::clone(&source);
    let read = |path: &str| files.read(path);
    let planned = plan::plan(
        workflow,
        PlanInput {
            contexts: &base,
            files: &read,
        },
    );
    let plan = match planned {
        Ok(plan) => plan,
        Err(error) => {
            ledger.end(RunState::Failed, Some(error.to_string())).await;
            return None;
        }
    };
    ledger.record.name = Some(plan.name.clone());
    if let Some(refusal) = plan.refusals.first() {
        let text = refusal.to_string();
        ledger.end(RunState::Refused, Some(text)).await;
        return None;
    }
    ledger.become_state(RunState::Planned);
    let clearing = ledger.clearing();
    ledger.save(clearing).await;
    Some(Planned {
        plan: Arc::new(plan),
        base,
        event: Arc::new(event),
        facts,
        source,
        workflow: name,
    })
}

/// What the workflow is called in its statuses: by its name, and by its file too where another file of the commit has the same name.
fn told_apart(workflow: &Workflow, names: &[Option<String>]) -> String {
    let name = workflow.display_name();
    let same = |other: &&String| other.to_lowercase() == name.to_lowercase();
    if names.iter().flatten().filter(same).count() > 1 {
        format!("{name} [{}]", workflow.file)
    } else {
        name.to_owned()
    }
}

/// Fetches the commit and looks at its workflow files; `None`: that failed, and the run has ended.
async fn fetch(ledger: &mut Ledger) -> Option<(Source, EventContext, Vec<Candidate>)> {
    let (settings, mirrors) = (
        Arc::clone(&ledger.shared.settings),
        ledger.shared.mirrors.clone(),
    );
    if let Err(error) = name_head(ledger).await {
        let state = error.state();
        ledger.end(state, Some(error.to_string())).await;
        return None;
    }
    let event = Arc::clone(&ledger.event);
    let fetched = tokio::task::spawn_blocking(move || {
        let source = Source::fetch(&settings, &mirrors, &event)?;
        let mut context = event.context();
        let candidates = source.candidates(&mut context)?;
        Ok::<_, crate::source::SourceError>((source, context, candidates))
    });
    match fetched.await {
        Ok(Ok(fetched)) => Some(fetched),
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

/// What a push says of its repository is kept: for runs that the clock or somebody starts.
async fn learn(ledger: &Ledger, candidates: &[Candidate]) {
    let event = Arc::clone(&ledger.event);
    // Taken up again before it got this far, it teaches now; one that is older than what is known teaches nothing.
    let first = ledger.record.workflow_file.is_none();
    if event.kind() != EventKind::Push || event.untrusted || !first {
        return;
    }
    let planned = candidates.iter().flat_map(|candidate| {
        let schedules = candidate.schedules.iter();
        schedules.map(|(cron, timezone)| known::Planned {
            file: candidate.file.clone(),
            cron: cron.clone(),
            timezone: timezone.clone(),
        })
    });
    let planned = planned.take(known::MAX_SCHEDULES).collect();
    let (run, now_ms) = (
        ledger.record.id.clone(),
        ledger.shared.settings.schedules.now_ms,
    );
    let stored = ledger.shared.store.write(move |rows| {
        let mut known = rows::known(rows, &event.repository)?.unwrap_or_default();
        known.learn(&event, &run, planned, now_ms());
        rows::put_known(rows, &known)
    });
    if let Err(error) = stored.await {
        tracing::warn!(event = "run.store_failed", run = %ledger.record.id, %error, "what a push says of its repository cannot be stored");
    }
}

/// The workflow this run is of; others that the event starts become runs of their own.
async fn choose(ledger: &mut Ledger, candidates: Vec<Candidate>) -> Option<Workflow> {
    let mut chosen: Option<Workflow> = None;
    let mut wrong = Vec::new();
    let mut skipped = Vec::new();
    let mut others = Vec::new();
    for Candidate { file, outcome, .. } in candidates {
        match outcome {
            Outcome::Start(workflow) if chosen.is_none() => chosen = Some(*workflow),
            Outcome::Start(_) => others.push(file),
            Outcome::Skip(reason) => skipped.push(format!("{file}: {reason}")),
            Outcome::Wrong(diagnostics) => wrong.push((file, diagnostics.to_string())),
        }
    }
    let own = ledger.record.workflow_file.is_some();
    if !own {
        // A wrong file ends this run when nothing else is started by it.
        let mut rest = wrong.split_off(usize::from(chosen.is_none() && !wrong.is_empty()));
        others.extend(rest.drain(..).map(|(file, _)| file));
        for file in others {
            sibling(ledger, &file).await;
        }
    }
    if let Some(workflow) = chosen {
        ledger.record.workflow_file = Some(workflow.file.to_string());
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

/// A run of its own for another workflow of the same event.
async fn sibling(ledger: &Ledger, file: &str) {
    let mut record = ledger.record.clone();
    record.id = crate::desk::new_id();
    record.state = RunState::Received;
    record.workflow_file = Some(file.to_owned());
    record.number = 0;
    record.repeats = None;
    record.jobs.clear();
    let id = record.id.clone();
    let new = NewRun::of(&record, &ledger.event);
    let stored = ledger.shared.store.write(move |rows| new.put(rows));
    match stored.await {
        Ok(()) => ledger.shared.start(id),
        Err(error) => {
            ledger
                .say(LineKind::Error, &format!("{file} is not run: {error}"))
                .await;
            tracing::error!(event = "run.store_failed", run = %id, %error, "a run could not be stored");
        }
    }
}

/// With `USE_LLM_PARSER` the model reads the file too; what it says must be what the file says.
async fn ask_model(ledger: &mut Ledger, workflow: &Workflow, source: &Source) -> Option<()> {
    let Some(server) = ledger.shared.settings.model.clone() else {
        return Some(());
    };
    tracing::info!(event = "run.model_parsing", run = %ledger.record.id, "LLM-based workflow parsing enabled");
    ledger
        .say(LineKind::Info, "LLM-based workflow parsing enabled")
        .await;
    let bytes = source.read(&workflow.file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    match parser::ask(&server, workflow, &text).await {
        Ok(notes) => {
            for line in notes.iter().flat_map(parser::lines) {
                ledger.say(LineKind::Info, &line).await;
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

async fn facts(ledger: &mut Ledger, workflow: &Workflow) -> RunFacts {
    if ledger.record.number == 0 {
        let (repository, file) = (ledger.record.repository.clone(), workflow.file.to_string());
        let number = ledger
            .shared
            .store
            .write(move |rows| rows::next_number(rows, &repository, &file))
            .await;
        // A store that cannot count now: the run is more important than its number.
        ledger.record.number = number.unwrap_or(1);
    }
    let event = &ledger.event;
    let page = event
        .html_url
        .as_deref()
        .and_then(|page| url::Url::parse(page).ok());
    let server = page
        .map(|page| page.origin().ascii_serialization())
        .unwrap_or_default();
    RunFacts {
        run_id: ledger.record.id.clone(),
        run_number: ledger.record.number,
        run_attempt: ledger.record.attempt,
        workflow: workflow.display_name().to_owned(),
        workflow_file: workflow.file.to_string(),
        api_url: format!("{server}/api/v1"),
        server_url: server,
        default_branch: event.default_branch.clone().unwrap_or_default(),
    }
}

async fn contexts(
    ledger: &mut Ledger,
    event: &EventContext,
    facts: &RunFacts,
    workflow: &Workflow,
) -> Option<Contexts> {
    let settings = Arc::clone(&ledger.shared.settings);
    let mut base = Contexts::default();
    base.set(Context::Github, context::github(event, facts, None));
    base.set(
        Context::Vars,
        Value::object(
            settings
                .vars
                .iter()
                .map(|(name, value)| (name, value.as_str())),
        ),
    );
    if !event.untrusted {
        let secrets = settings
            .secrets
            .iter()
            .map(|(name, value)| (name, value.expose().as_str()));
        base.set(Context::Secrets, Value::object(secrets));
    }
    match context::dispatch_inputs(workflow, event, &base) {
        Ok(inputs) => base.set(Context::Inputs, inputs),
        Err(reason) => {
            ledger.end(RunState::Failed, Some(reason)).await;
            return None;
        }
    }
    Some(base)
}

/// The machine for these labels: the first that is listed, else the entry `default`. `None`: nobody said what such a job runs on.
pub(crate) fn machine(machines: &[(String, NewVm)], labels: &[String]) -> Option<NewVm> {
    let listed = |label: &str| {
        let named = machines
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(label));
        named.map(|(_, vm)| vm.clone())
    };
    let found = labels.iter().find_map(|label| listed(label));
    found.or_else(|| listed("default"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_without_a_machine_gets_the_default_or_none() {
        let vm = |image: &str| NewVm {
            image: Some(image.to_owned()),
            ..NewVm::default()
        };
        let mut machines = vec![
            ("Ubuntu-latest".to_owned(), vm("a")),
            ("gpu".to_owned(), vm("b")),
        ];
        let of = |machines: &[(String, NewVm)], label: &str| {
            machine(machines, &[label.to_owned()]).and_then(|vm| vm.image)
        };
        assert_eq!(of(&machines, "ubuntu-latest").as_deref(), Some("a"));
        assert_eq!(of(&machines, "arm"), None);
        machines.push(("default".to_owned(), vm("c")));
        assert_eq!(of(&machines, "arm").as_deref(), Some("c"));
    }
}

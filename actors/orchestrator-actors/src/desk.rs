//! The operator's desk: every question and order of the admin bridge.
//!
//! ```text
//! admin bridge --Get…, CancelRun, …--> Desk ──snapshot or transaction──▶ store
//!                                       └──Reconcile──▶ Dispatcher
//! ```

use actix::{Actor, Context, Handler, ResponseFuture};
use config_core::{Diagnostic, Diagnostics, UnknownKeys, ValueError};
use forge_actors::ForgePoster;
use forge_actors::messages::{RetryParked, Wake};
use orchestrator_core::admin::{
    AgentList, CancelReply, CheckView, JournalPage, ProjectView, PromptView, RetryReply, RunList,
    RunView, StatusView,
};
use orchestrator_core::config::{Checked, check, routes};
use orchestrator_core::prompt::compose;
use orchestrator_core::run::{Run, RunContext};
use orchestrator_engine::process::StopCause;
use store::StoreError;
use supervision::ChildRef;

use crate::dispatcher::Dispatcher;
use crate::ledger;
use crate::load::{SystemHost, load};
use crate::messages::{
    CancelRun, CheckConfig, DeskError, GetAgents, GetJournal, GetPrompt, GetRun, GetRuns,
    GetStatus, PauseProject, Reconcile, ReloadConfig, RetryRun, Tick,
};
use crate::shared::Shared;

/// The actor.
pub struct Desk {
    shared: Shared,
    dispatcher: ChildRef<Dispatcher>,
    poster: ChildRef<ForgePoster>,
}

impl Desk {
    /// A desk over the store.
    pub fn new(
        shared: Shared,
        dispatcher: ChildRef<Dispatcher>,
        poster: ChildRef<ForgePoster>,
    ) -> Self {
        Self {
            shared,
            dispatcher,
            poster,
        }
    }
}

impl Actor for Desk {
    type Context = Context<Self>;
}

type Answer<T> = ResponseFuture<Result<T, DeskError>>;

fn no_run(id: &forge_core::RunId) -> DeskError {
    DeskError::NotFound(format!("there is no run {id}"))
}

impl Handler<GetStatus> for Desk {
    type Result = Answer<StatusView>;

    fn handle(&mut self, GetStatus: GetStatus, _: &mut Context<Self>) -> Self::Result {
        let shared = self.shared.clone();
        let (config, now, standing) = (shared.config(), shared.now(), shared.standing());
        let mirror = shared.mirror();
        let read = shared
            .store()
            .read(move |rows| ledger::status(rows, &mut mirror.lock(), &config, standing, now));
        Box::pin(async move { read.await.map_err(DeskError::Store) })
    }
}

impl Handler<GetAgents> for Desk {
    type Result = Answer<AgentList>;

    fn handle(&mut self, GetAgents { project }: GetAgents, _: &mut Context<Self>) -> Self::Result {
        let (config, now) = (self.shared.config(), self.shared.now());
        let mirror = self.shared.mirror();
        let read = self.shared.store().read(move |rows| {
            let mirror = &mut mirror.lock();
            ledger::agents(rows, mirror, &config, project.as_deref(), now).map_err(DeskError::Store)
        });
        Box::pin(read)
    }
}

impl Handler<GetRuns> for Desk {
    type Result = Answer<RunList>;

    fn handle(&mut self, GetRuns(query): GetRuns, _: &mut Context<Self>) -> Self::Result {
        let shared = self.shared.clone();
        let read = shared
            .store()
            .read(move |rows| ledger::runs(rows, &query).map_err(DeskError::Store));
        Box::pin(async move {
            let mut list = read.await?;
            for run in &mut list.runs {
                with_hold(&shared, run);
            }
            Ok(list)
        })
    }
}

/// Why a queued run waits, as the last tick saw it.
fn with_hold(shared: &Shared, view: &mut RunView) {
    if view.state != "queued" {
        return;
    }
    let hold = view.id.parse().ok().and_then(|id| shared.hold_of(&id));
    let hold = hold.unwrap_or(orchestrator_core::run::Hold::NextTick);
    view.hold = Some(hold.to_string());
}

impl Handler<GetRun> for Desk {
    type Result = Answer<RunView>;

    fn handle(&mut self, GetRun(id): GetRun, _: &mut Context<Self>) -> Self::Result {
        let shared = self.shared.clone();
        let asked = id.clone();
        let read = shared
            .store()
            .read(move |rows| ledger::run_record(rows, &asked));
        Box::pin(async move {
            let run: Option<Run> = read.await.map_err(DeskError::Store)?;
            let run = run.ok_or_else(|| no_run(&id))?;
            let mut view = ledger::run_view(&run);
            with_hold(&shared, &mut view);
            Ok(view)
        })
    }
}

impl Handler<GetJournal> for Desk {
    type Result = Answer<JournalPage>;

    fn handle(
        &mut self,
        GetJournal { after, limit }: GetJournal,
        _: &mut Context<Self>,
    ) -> Self::Result {
        let read = self
            .shared
            .store()
            .read(move |rows| ledger::journal(rows, after, limit).map_err(DeskError::Store));
        Box::pin(read)
    }
}

impl Handler<GetPrompt> for Desk {
    type Result = Answer<PromptView>;

    fn handle(&mut self, asked: GetPrompt, _: &mut Context<Self>) -> Self::Result {
        let view = prompt_view(&self.shared, &asked);
        Box::pin(async move { view })
    }
}

/// The prompt of an agent for a run that nothing triggers.
fn prompt_view(shared: &Shared, asked: &GetPrompt) -> Result<PromptView, DeskError> {
    let config = shared.config();
    let found = config.agents.iter().find(|((project, name), _)| {
        project.as_str() == asked.project && name.as_str() == asked.agent
    });
    let none = || {
        DeskError::NotFound(format!(
            "there is no agent {}/{}",
            asked.project, asked.agent
        ))
    };
    let ((project, _), agent) = found.ok_or_else(none)?;
    let project = config.projects.get(project).ok_or_else(none)?;
    let (own, quarantined) = (
        std::collections::BTreeSet::new(),
        std::collections::BTreeSet::new(),
    );
    let view = orchestrator_core::intake::View {
        config: &config,
        own_logins: &own,
        now: shared.now(),
        quarantined: &quarantined,
        usage: &|_| orchestrator_core::health::Usage::default(),
        recent: &|_, _| 0,
        queued: 0,
        new_id: &ledger::new_run_id,
    };
    let want = orchestrator_core::intake::scheduled(agent, project, shared.now(), &view);
    let context = RunContext::default();
    let nonce = "<made for each run>";
    let prompt = compose(&config, agent, project, &want.run, &context, nonce);
    Ok(PromptView {
        project: asked.project.clone(),
        agent: asked.agent.clone(),
        persona: prompt.persona,
        skills: prompt.skills,
        model: agent.model.clone(),
        prompt: prompt.text,
    })
}

impl Handler<CancelRun> for Desk {
    type Result = Answer<CancelReply>;

    fn handle(&mut self, CancelRun(id): CancelRun, _: &mut Context<Self>) -> Self::Result {
        let (shared, poster) = (self.shared.clone(), self.poster.clone());
        let asked = id.clone();
        Box::pin(async move {
            let cancelled = shared
                .write(move |book| ledger::cancel(book, &asked))
                .await?;
            let (before, kill) = cancelled.ok_or_else(|| no_run(&id))?;
            if kill {
                shared.stop(&id, StopCause::Cancelled);
            }
            let _ = poster.tell(Wake);
            let ended = before.state.is_terminal();
            Ok(CancelReply {
                run: id.to_string(),
                state: match (ended, kill) {
                    (false, false) => "cancelled".to_owned(),
                    _ => before.state.to_string(),
                },
                cancelled: !ended,
            })
        })
    }
}

impl Handler<RetryRun> for Desk {
    type Result = Answer<RetryReply>;

    fn handle(&mut self, RetryRun(id): RetryRun, _: &mut Context<Self>) -> Self::Result {
        let (shared, dispatcher) = (self.shared.clone(), self.dispatcher.clone());
        let poster = self.poster.clone();
        let asked = id.clone();
        Box::pin(async move {
            let found = shared
                .write(move |book| {
                    let known = book.has_run(&asked)?;
                    Ok((known, ledger::retry(book, &asked)?))
                })
                .await?;
            let run = match found {
                (false, _) => return Err(no_run(&id)),
                (true, None) => {
                    return Err(DeskError::Conflict(format!(
                        "run {id} has not ended; cancel it first"
                    )));
                }
                (true, Some(run)) => run,
            };
            let _ = poster.tell(Wake);
            let _ = dispatcher.tell(Reconcile);
            Ok(RetryReply {
                of: id.to_string(),
                run: run.id.to_string(),
            })
        })
    }
}

impl Handler<PauseProject> for Desk {
    type Result = Answer<ProjectView>;

    fn handle(&mut self, asked: PauseProject, _: &mut Context<Self>) -> Self::Result {
        let (shared, dispatcher) = (self.shared.clone(), self.dispatcher.clone());
        Box::pin(async move {
            let config = shared.config();
            let none = || DeskError::NotFound(format!("there is no project {}", asked.project));
            let id = asked.project.parse().map_err(|_| none())?;
            if !config.projects.contains_key(&id) {
                return Err(none());
            }
            let (key, paused) = (id.clone(), asked.paused);
            shared
                .write(move |book| ledger::set_paused(book, &key, paused))
                .await?;
            let _ = dispatcher.tell(Reconcile);
            let views = shared
                .store()
                .read(move |rows| ledger::projects(rows, &config).map_err(DeskError::Store))
                .await?;
            let wanted = id.to_string();
            views
                .into_iter()
                .find(|view| view.id == wanted)
                .ok_or_else(none)
        })
    }
}

/// Reads and checks the files; on a thread that may block.
async fn checked(shared: &Shared) -> Result<Checked, CheckView> {
    let shared = shared.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let environment = shared.environment();
        let files = load(shared.config_path(), environment).map_err(|error| error.to_string())?;
        let host = SystemHost::new(environment);
        Ok(check(&files, environment, &host, UnknownKeys::Refuse))
    });
    let failed = |text: String| CheckView {
        valid: false,
        diagnostics: vec![serde_json::json!({ "severity": "error", "message": text })],
        routes: Vec::new(),
    };
    match reading.await {
        Ok(Ok(Ok(checked))) => Ok(checked),
        Ok(Ok(Err(wrong))) => Err(CheckView {
            valid: false,
            diagnostics: as_values(&wrong),
            routes: Vec::new(),
        }),
        Ok(Err(text)) => Err(failed(text)),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// Diagnostics as the JSON of `--check --format json`.
pub fn as_values(diagnostics: &Diagnostics) -> Vec<serde_json::Value> {
    let value = |diagnostic| serde_json::to_value(diagnostic).unwrap_or_default();
    diagnostics.iter().map(value).collect()
}

/// What a right configuration looks like.
pub fn check_view(checked: &Checked) -> CheckView {
    CheckView {
        valid: true,
        diagnostics: as_values(&checked.warnings),
        routes: routes(&checked.config),
    }
}

impl Handler<CheckConfig> for Desk {
    type Result = Answer<CheckView>;

    fn handle(&mut self, CheckConfig: CheckConfig, _: &mut Context<Self>) -> Self::Result {
        let shared = self.shared.clone();
        Box::pin(async move {
            Ok(match checked(&shared).await {
                Ok(checked) => check_view(&checked),
                Err(view) => view,
            })
        })
    }
}

/// A key that a process reads once.
fn at_the_next_start(key: &str) -> Diagnostic {
    let error = ValueError::new(format!(
        "`{key}` was changed: it takes effect at the next start"
    ));
    let error =
        error.help("restart the orchestrator when it suits; everything else is in force now");
    Diagnostic::of_setting("orchestrator.toml", error).into_warning()
}

impl Handler<ReloadConfig> for Desk {
    type Result = Answer<CheckView>;

    fn handle(&mut self, ReloadConfig: ReloadConfig, _: &mut Context<Self>) -> Self::Result {
        let (shared, dispatcher) = (self.shared.clone(), self.dispatcher.clone());
        let poster = self.poster.clone();
        Box::pin(async move {
            let mut checked = match checked(&shared).await {
                Ok(checked) => checked,
                Err(view) => return Ok(view),
            };
            let kept = checked.config.keep_fixed(&shared.config());
            checked
                .warnings
                .extend(kept.into_iter().map(at_the_next_start));
            let view = check_view(&checked);
            shared.set_config(checked.config, &checked.warnings);
            shared
                .write(ledger::clear_trouble)
                .await
                .map_err(|error: StoreError| error)?;
            let _ = poster.tell(RetryParked);
            // What was repaired takes effect now, whatever `wake_on_dispatch` says: an operator waits for it.
            let _ = dispatcher.tell(Tick);
            Ok(view)
        })
    }
}

//! The handlers of the admin bridge: each is one message to the operator API.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use cluster_actors::replica::{ReplicaStatus, RoleControl};
use edge_web::replica::{DrainQuery, with_status};
use edge_web::{HealthChecks, Metrics, Problem, actor_events, metrics_text};
use orchestrator_actors::RunQuery;
use orchestrator_actors::messages::{
    CancelAgentRun, CheckConfig, GetAgents, GetJournal, GetPrompt, GetRun, GetRuns, GetStatus,
    OperatorError, PauseProject, ReloadConfig, RetryRun,
};
use orchestrator_core::admin::{
    AgentList, CancelReply, CheckView, JournalPage, ProjectView, PromptView, RetryReply, RunList,
    RunView, StatusView,
};
use orchestrator_core::run::AgentRunState;
use serde::{Deserialize, Serialize};
use supervision::AskError;
use utoipa::{IntoParams, ToSchema};

use crate::path_params::run_id;
use crate::problems::{ask_problem, operator_problem};
use crate::state::WebState;

fn json(body: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(body)
}

/// The reply of the operator API as an answer.
pub(crate) fn answered<T: Serialize>(
    reply: Result<Result<T, OperatorError>, AskError>,
) -> Result<HttpResponse, Problem> {
    let reply = reply.map_err(|error| ask_problem(&error))?;
    let body = reply.map_err(|error| operator_problem(&error))?;
    Ok(json(&body))
}

/// Everything at one look.
#[utoipa::path(get, path = "/admin/status", tag = "admin",
    responses((status = 200, description = "Queue, projects, runs under way, statuses owed.", body = StatusView)))]
pub(crate) async fn status(state: web::Data<WebState>) -> Result<HttpResponse, Problem> {
    answered(state.operator_api.ask(GetStatus).await)
}

/// `?project=`
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentsQuery {
    /// Only agents of this project.
    project: Option<String>,
}

/// The agents: the routing table, and how each is.
#[utoipa::path(get, path = "/admin/agents", tag = "admin", params(AgentsQuery),
    responses((status = 200, description = "The agents.", body = AgentList)))]
pub(crate) async fn agents(
    state: web::Data<WebState>,
    query: web::Query<AgentsQuery>,
) -> Result<HttpResponse, Problem> {
    let project = query.into_inner().project;
    answered(state.operator_api.ask(GetAgents { project }).await)
}

/// An agent's prompt, without running it.
#[utoipa::path(get, path = "/admin/agents/{project}/{agent}/prompt", tag = "admin",
    params(("project" = String, Path, description = "Its project"), ("agent" = String, Path, description = "Its name")),
    responses((status = 200, description = "The prompt.", body = PromptView)))]
pub(crate) async fn prompt(
    state: web::Data<WebState>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (project, agent) = path.into_inner();
    answered(state.operator_api.ask(GetPrompt { project, agent }).await)
}

/// Which runs.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct AgentRunsQuery {
    /// Of this project.
    project: Option<String>,
    /// Of this agent.
    agent: Option<String>,
    /// `queued`, `starting`, `running`, `exited`, `cancelled` or `rejected`.
    #[param(value_type = Option<String>)]
    state: Option<AgentRunState>,
    /// At most so many (50; at most 500).
    limit: Option<usize>,
    /// Older than this run: `next` of the former page.
    before: Option<String>,
}

/// A page of runs, newest first.
#[utoipa::path(get, path = "/admin/runs", tag = "admin", params(AgentRunsQuery),
    responses((status = 200, description = "The runs.", body = RunList)))]
pub(crate) async fn runs(
    state: web::Data<WebState>,
    query: web::Query<AgentRunsQuery>,
) -> Result<HttpResponse, Problem> {
    let AgentRunsQuery {
        project,
        agent,
        state: of_state,
        limit,
        before,
    } = query.into_inner();
    let query = RunQuery {
        project,
        agent,
        state: of_state,
        limit: limit.unwrap_or(50),
        before,
    };
    answered(state.operator_api.ask(GetRuns(query)).await)
}

/// A run.
#[utoipa::path(get, path = "/admin/runs/{id}", tag = "admin", params(("id" = String, Path, description = "The run")),
    responses((status = 200, description = "The run.", body = RunView)))]
pub(crate) async fn run(
    state: web::Data<WebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    answered(state.operator_api.ask(GetRun(run_id(&id)?)).await)
}

/// Ends a run: at once when it waits, within its grace period when it runs.
#[utoipa::path(post, path = "/admin/runs/{id}/cancel", tag = "admin",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, description = "What became of it.", body = CancelReply)))]
pub(crate) async fn cancel(
    state: web::Data<WebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    answered(state.operator_api.ask(CancelAgentRun(run_id(&id)?)).await)
}

/// Repeats a run that has ended.
#[utoipa::path(post, path = "/admin/runs/{id}/retry", tag = "admin",
    params(("id" = String, Path, description = "The run")),
    responses((status = 200, description = "The new run.", body = RetryReply)))]
pub(crate) async fn retry(
    state: web::Data<WebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    answered(state.operator_api.ask(RetryRun(run_id(&id)?)).await)
}

async fn set_paused(
    state: &WebState,
    project: String,
    paused: bool,
) -> Result<HttpResponse, Problem> {
    answered(
        state
            .operator_api
            .ask(PauseProject { project, paused })
            .await,
    )
}

/// Holds a project's runs back; those under way go on.
#[utoipa::path(post, path = "/admin/projects/{id}/pause", tag = "admin",
    params(("id" = String, Path, description = "The project")),
    responses((status = 200, description = "The project.", body = ProjectView)))]
pub(crate) async fn pause(
    state: web::Data<WebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    set_paused(&state, id.into_inner(), true).await
}

/// Lets a project's runs go on.
#[utoipa::path(post, path = "/admin/projects/{id}/resume", tag = "admin",
    params(("id" = String, Path, description = "The project")),
    responses((status = 200, description = "The project.", body = ProjectView)))]
pub(crate) async fn resume(
    state: web::Data<WebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    set_paused(&state, id.into_inner(), false).await
}

/// Checks the files as they are on disk; changes nothing.
#[utoipa::path(post, path = "/admin/check", tag = "admin",
    responses((status = 200, description = "What is wrong, or the routing table.", body = CheckView)))]
pub(crate) async fn check(state: web::Data<WebState>) -> Result<HttpResponse, Problem> {
    answered(state.operator_api.ask(CheckConfig).await)
}

/// Checks the files, and puts them in force when they are right; processes that stand by beside
/// this one read theirs again, too.
#[utoipa::path(post, path = "/admin/reload", tag = "admin",
    responses((status = 200, description = "In force.", body = CheckView),
        (status = 422, description = "Wrong; nothing was changed.", body = CheckView)))]
pub(crate) async fn reload(
    state: web::Data<WebState>,
    control: Option<web::Data<RoleControl>>,
) -> Result<HttpResponse, Problem> {
    let reply = state
        .operator_api
        .ask(ReloadConfig)
        .await
        .map_err(|error| ask_problem(&error))?;
    let view = reply.map_err(|error| operator_problem(&error))?;
    if view.valid {
        if let Some(control) = control
            && let Err(reason) = control.broadcast_settings_reload().await
        {
            tracing::error!(
                event = "config.others_not_told",
                reason,
                "the processes that stand by read no settings again: send each of them SIGHUP"
            );
        }
        return Ok(json(&view));
    }
    Ok(HttpResponse::UnprocessableEntity().json(view))
}

/// Which part of the journal.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct JournalQuery {
    /// Entries after this one: `next` of the former page.
    after: Option<u64>,
    /// At most so many (200; at most 1000).
    limit: Option<usize>,
}

/// A page of the journal, oldest first.
#[utoipa::path(get, path = "/admin/journal", tag = "admin", params(JournalQuery),
    responses((status = 200, description = "What happened.", body = JournalPage)))]
pub(crate) async fn journal(
    state: web::Data<WebState>,
    query: web::Query<JournalQuery>,
) -> Result<HttpResponse, Problem> {
    let asked = GetJournal {
        after: query.after.unwrap_or(0),
        limit: query.limit.unwrap_or(200),
    };
    answered(state.operator_api.ask(asked).await)
}

/// The actors, live: a tree of `{"name","state","children",…}`.
#[utoipa::path(get, path = "/admin/actors", tag = "admin",
    responses((status = 200, description = "The actors below the root supervisor.", body = Object)))]
pub(crate) async fn actors(
    state: web::Data<WebState>,
    control: Option<web::Data<RoleControl>>,
) -> Result<HttpResponse, Problem> {
    with_status(&state.tree, control.as_ref().map(|it| &***it)).await
}

/// How the orchestrator is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct OrchestratorHealth {
    /// `ok` or `degraded`.
    status: &'static str,
    /// The program's version.
    version: &'static str,
    /// Why it is degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Of a process that shares its store with others: `role`, `epoch`, `leader`, `led_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    replica: Option<ReplicaStatus>,
}

/// How the orchestrator is; 200 as soon as it answers, without a token.
#[utoipa::path(get, path = "/health", tag = "admin",
    responses((status = 200, description = "How it is.", body = OrchestratorHealth)))]
pub(crate) async fn health(
    state: web::Data<WebState>,
    health: web::Data<HealthChecks>,
    control: Option<web::Data<RoleControl>>,
) -> HttpResponse {
    let checks = health.report().checks.into_iter();
    let wrong = checks.filter(|check| !check.ok);
    let wrong: Vec<String> = wrong
        .map(|check| format!("{}: {}", check.name, check.detail.unwrap_or_default()))
        .collect();
    let objects = state.view.objects_trouble();
    let objects = objects.map(|why| format!("no object storage: {why}"));
    let hosts = state.view.vm_hosts().away_notices();
    let tokens = state.view.vm_hosts().token_notices();
    let warning = control.as_ref().and_then(|control| control.warning());
    let wrong = wrong.into_iter().chain(objects).chain(hosts).chain(warning);
    let wrong: Vec<String> = wrong.chain(tokens).collect();
    let reason = (!wrong.is_empty()).then(|| wrong.join("; "));
    HttpResponse::Ok().json(OrchestratorHealth {
        status: if reason.is_some() { "degraded" } else { "ok" },
        version: env!("CARGO_PKG_VERSION"),
        reason,
        replica: control.map(|control| control.status()),
    })
}

/// Has the process that leads hand over to another one; agents end as at a restart.
#[utoipa::path(post, path = "/admin/drain", tag = "admin",
    params(("force" = Option<bool>, Query, description = "Also where nobody stands by.")),
    responses((status = 202, description = "It hands over; another process leads within seconds."),
        (status = 409, description = "The store is shared with no other process, or none stands by."),
        (status = 503, description = "Nobody leads at the moment.")))]
pub(crate) async fn drain(
    control: Option<web::Data<RoleControl>>,
    query: web::Query<DrainQuery>,
) -> Result<HttpResponse, Problem> {
    edge_web::replica::drain(control.as_ref().map(|it| &***it), query.into_inner()).await
}

/// The actors as they change: `event: tree` with the whole tree, at once and after each change.
#[utoipa::path(get, path = "/admin/actors/events", tag = "admin",
    responses((status = 200, description = "Server-Sent Events, without an end.", content_type = "text/event-stream", body = Object)))]
pub(crate) async fn actor_changes(state: web::Data<WebState>) -> Result<HttpResponse, Problem> {
    actor_events(&state.tree)
}

/// `GET /metrics`.
pub(crate) async fn metrics(
    state: web::Data<WebState>,
    metrics: web::Data<Metrics>,
) -> Result<HttpResponse, Problem> {
    let asked = state
        .operator_api
        .ask(GetStatus)
        .await
        .map_err(|error| ask_problem(&error))?;
    let status = asked.map_err(|error| operator_problem(&error))?;
    state.metrics.set(&status, state.view.ended_runs());
    state
        .metrics
        .set_vm_hosts(&state.view.vm_hosts().answering());
    metrics_text(metrics).await
}

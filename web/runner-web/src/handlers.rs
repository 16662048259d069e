//! The handlers.

use actix_web::http::header::{ACCEPT, ContentDisposition, DispositionParam, DispositionType};
use actix_web::{HttpRequest, HttpResponse, web};
use cluster_actors::replica::{ReplicaStatus, RoleControl};
use edge_web::Problem;
use runner_actors::messages::{CancelRun, FromStep, RepeatError, RepeatRun};
use runner_actors::{RunRecord, RunTestFilter};
use serde::{Deserialize, Serialize};
use supervision::ActorTree;
use utoipa::{IntoParams, ToSchema};

use crate::dispatch::DispatchResponse;
use crate::file_chunks::{FileChunks, stream_file};
use crate::kept_files::kept;
use crate::page::{self, RunLogLines, RunPage};
use crate::problems::{find, of_ask, of_store};
use crate::state::RunnerState;

type State = web::Data<RunnerState>;
/// Its role, where the process shares its store with others.
pub(crate) type ReplicaControl = Option<web::Data<RoleControl>>;

/// One run.
#[utoipa::path(get, path = "/runs/{id}", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, description = "The run's record", body = RunRecord), (status = 404, description = "No such run")))]
pub(crate) async fn run(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    let record = state.view.with_summaries(record).await;
    let record = record.map_err(|error| of_store(&error))?;
    if wants_page(&request) {
        return run_page(&state, record, request.query_string() != "log=none").await;
    }
    Ok(HttpResponse::Ok().json(record.for_display()))
}

/// The page of a run; without the lines of its log for the script of a page that has it already.
async fn run_page(
    state: &RunnerState,
    record: RunRecord,
    with_lines: bool,
) -> Result<HttpResponse, Problem> {
    let (view, can_sign_out) = (&state.view, state.has_token);
    let tests = view.tests(&record, RunTestFilter::default()).await;
    let tests = tests.map_err(|error| of_store(&error))?;
    let view = view.clone();
    let made = tokio::task::spawn_blocking(move || {
        view.logs().fetch(&record.id)?;
        let log = RunLogLines::read(&view.logs().path(&record.id))?;
        let artifacts = view.artifacts(&record.id)?;
        let page = RunPage {
            run: &record,
            artifacts: &artifacts,
            log: &log,
            tests: &tests,
            with_lines,
            can_sign_out,
        };
        Ok::<_, std::io::Error>(page::run(&page))
    });
    let made = made.await.map_err(std::io::Error::other).flatten();
    made.map(page::html).map_err(|error| {
        tracing::error!(event = "run.log_failed", %error, "the log of a run cannot be read");
        Problem::internal()
    })
}

/// People's browsers name HTML first; programs do not name it.
pub(crate) fn wants_page(request: &HttpRequest) -> bool {
    let accept = request
        .headers()
        .get(ACCEPT)
        .and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// Ends a run.
#[utoipa::path(post, path = "/runs/{id}/cancel", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 202, description = "It will end"), (status = 404, description = "No such run"), (status = 409, description = "It has ended already")))]
pub(crate) async fn cancel(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    if record.state.is_terminal() {
        return Err(Problem::conflict("the run has ended already"));
    }
    let message = CancelRun {
        run: record.id.clone(),
        reason: "somebody asked for it".to_owned(),
    };
    let under_way = state
        .coordinator
        .ask(message)
        .await
        .map_err(|error| of_ask(&error))?;
    if under_way && wants_page(&request) {
        Ok(to_run(&record.id))
    } else if under_way {
        Ok(HttpResponse::Accepted().json(serde_json::json!({ "status": "ending" })))
    } else {
        Err(Problem::unavailable("the run is being started", 1))
    }
}

/// What of a run to run again.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RerunQuery {
    /// `true`: only the jobs that did not succeed, and what needs them. The others keep their ends,
    /// outputs and artifacts.
    pub failed: Option<bool>,
    /// `true`: VMs of jobs that fail are kept for a while, so that a shell can be opened in them.
    pub keep: Option<bool>,
    /// `true`: snapshots are taken between the steps of its jobs, so that a shell or a re-run can
    /// begin before a step; VMs of jobs that fail are kept.
    pub snapshots: Option<bool>,
    /// The number of the step before which a failed job begins, in the VM that is kept of it;
    /// nothing before is done again. The other jobs that failed begin at their first steps.
    pub from_step: Option<u32>,
    /// A job's name or key: only that job, however it ended, and what needs it. The others keep
    /// their ends, outputs and artifacts. With `from_step` it is the job whose step it is; the only
    /// one that is kept without it.
    pub job: Option<String>,
}

/// Runs an ended run again: a new run of the same event and number, one attempt later.
#[utoipa::path(post, path = "/runs/{id}/rerun", tag = "runs", params(("id" = String, Path, description = "The run's id"), RerunQuery),
    responses((status = 202, body = DispatchResponse, description = "Stored; the new run starts"), (status = 404, description = "No such run, or no such job"), (status = 409, description = "It has not ended, or its newest attempt has not; or no job failed, where only those are to run; or no VM is kept that could go back to before that step")))]
pub(crate) async fn rerun(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
    query: web::Query<RerunQuery>,
) -> Result<HttpResponse, Problem> {
    let query = query.into_inner();
    let failed_only = query.failed == Some(true);
    let (from_step, job) = match (query.from_step, query.job) {
        (Some(step), job) => (Some(FromStep { job, step }), None),
        (None, job) => (None, job),
    };
    if failed_only && job.is_some() {
        let error =
            "`job` is one job and what needs it, `failed` all that failed: give one of both";
        return Err(Problem::bad_request(error));
    }
    let message = RepeatRun {
        run: id.into_inner(),
        failed_only,
        job,
        keep: query.keep == Some(true),
        snapshots: query.snapshots == Some(true),
        from_step,
    };
    let stored = state.coordinator.ask(message).await;
    let stored = stored.map_err(|error| of_ask(&error))?;
    let run = match stored.map_err(|error| of_store(&error))? {
        Ok(run) => run,
        Err(error @ (RepeatError::Unknown | RepeatError::UnknownJob(..))) => {
            return Err(Problem::not_found(error.to_string()));
        }
        Err(
            error @ (RepeatError::Runs(_)
            | RepeatError::NothingFailed(_)
            | RepeatError::NotNewest(_)
            | RepeatError::NoSnapshot(_)
            | RepeatError::NoPlan(_)),
        ) => return Err(Problem::conflict(error.to_string())),
    };
    if wants_page(&request) {
        return Ok(to_run(&run));
    }
    Ok(HttpResponse::Accepted().json(DispatchResponse { run }))
}

/// Leads a browser that sent a form to a run's page.
pub(crate) fn to_run(id: &str) -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header(("location", format!("/runs/{id}")))
        .finish()
}

/// An artifact, as the tar it is stored as.
#[utoipa::path(get, path = "/runs/{id}/artifacts/{name}", tag = "runs", params(("id" = String, Path, description = "The run's id"), ("name" = String, Path, description = "The artifact's name")),
    responses((status = 200, description = "A tar", content_type = "application/x-tar"), (status = 404, description = "No such run or artifact")))]
pub(crate) async fn artifact(
    state: State,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (id, name) = path.into_inner();
    let record = find(&state.view, &id).await?;
    let (view, wanted) = (state.view.clone(), name.clone());
    let file = kept(move || view.artifact(&record.id, &wanted)).await?;
    let file = file.ok_or_else(|| Problem::not_found("the run has no artifact of this name"))?;
    let shown: String = name
        .chars()
        .map(|c| {
            if c.is_alphanumeric() || "-_.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    let disposition = ContentDisposition {
        disposition: DispositionType::Attachment,
        parameters: vec![DispositionParam::Filename(format!("{shown}.tar"))],
    };
    let chunks = FileChunks { path: file, at: 0 };
    Ok(HttpResponse::Ok()
        .content_type("application/x-tar")
        .insert_header(disposition)
        .streaming(stream_file(chunks)))
}

/// How the runner is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RunnerHealth {
    /// `ok` or `degraded`.
    pub status: &'static str,
    /// The program's version.
    pub version: &'static str,
    /// Why it is degraded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a process that shares its store with others: `role`, `epoch`, `leader`, `led_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub replica: Option<ReplicaStatus>,
    /// Jobs that have a machine, while it begins no others and hands over when these have ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for_jobs: Option<usize>,
}

/// How the runner is; 200 as soon as it answers.
#[utoipa::path(get, path = "/health", tag = "operation", responses((status = 200, body = RunnerHealth, description = "It answers: how it is")))]
pub(crate) async fn health(state: State, control: ReplicaControl) -> HttpResponse {
    let store = state.view.store_health().state;
    let reason = (store != store::StoreState::Ready).then(|| format!("the store is {store}"));
    let no_vms = || state.view.vm_hosts().away_notices();
    let no_objects = || {
        let trouble = state.view.objects_trouble();
        trouble.map(|why| format!("no object storage: {why}"))
    };
    let tokens = || state.view.vm_hosts().token_notices();
    let warning = || control.as_ref().and_then(|control| control.warning());
    let admission = state.view.job_admission();
    let reason = reason.or_else(no_objects).or_else(no_vms);
    let reason = reason.or_else(warning).or_else(tokens);
    HttpResponse::Ok().json(RunnerHealth {
        status: if reason.is_some() { "degraded" } else { "ok" },
        version: env!("CARGO_PKG_VERSION"),
        reason,
        replica: control.map(|control| control.status()),
        waits_for_jobs: admission.is_closed().then(|| admission.under_way()),
    })
}

/// The actor tree as it changes.
pub(crate) async fn actor_changes(tree: web::Data<ActorTree>) -> Result<HttpResponse, Problem> {
    edge_web::actor_events(&tree)
}

/// The page's style and script.
pub(crate) async fn asset(name: web::Path<String>) -> Result<HttpResponse, Problem> {
    page::asset(&name).ok_or_else(|| Problem::not_found("there is no such file"))
}

/// For browsers that show something else than a page, and ask by themselves.
pub(crate) async fn icon() -> Result<HttpResponse, Problem> {
    page::asset("icon.svg").ok_or_else(|| Problem::not_found("there is no such file"))
}

/// The start page leads to the runs.
pub(crate) async fn home() -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header(("location", "/runs"))
        .finish()
}

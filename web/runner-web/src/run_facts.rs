//! What else is known of a run: its jobs as a graph, the last run that went well; and what can be
//! started.

use actix_web::{HttpResponse, web};
use edge_web::Problem;
use runner_actors::messages::DispatchFailure;
use runner_actors::{JobGraph, RunRecord, StartableWorkflows};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::kept_files::kept;
use crate::problems::{find, of_store};
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// The jobs of a run and what they need.
#[utoipa::path(get, path = "/runs/{id}/graph", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, body = JobGraph, description = "The jobs, and which need which"), (status = 404, description = "No such run")))]
pub(crate) async fn graph(state: State, id: web::Path<String>) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    Ok(HttpResponse::Ok().json(JobGraph::from_run(&record)))
}

/// The newest run before this one of the same workflow and branch that succeeded.
#[utoipa::path(get, path = "/runs/{id}/last-green", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, body = RunRecord, description = "That run"), (status = 404, description = "No such run, or none before it succeeded")))]
pub(crate) async fn last_green(
    state: State,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    let green = state.view.last_green(&record).await;
    let green = green.map_err(|error| of_store(&error))?;
    let none = "no run of this workflow and branch succeeded before";
    let green = green.ok_or_else(|| Problem::not_found(none))?;
    Ok(HttpResponse::Ok().json(green))
}

/// What a run has stored.
#[utoipa::path(get, path = "/runs/{id}/artifacts", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, description = "By name", body = Vec<runner_actors::Artifact>), (status = 404, description = "No such run")))]
pub(crate) async fn artifacts(
    state: State,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let id = find(&state.view, &id).await?.id;
    let view = state.view.clone();
    let listed = kept(move || view.artifacts(&id)).await?;
    Ok(HttpResponse::Ok().json(listed))
}

/// Whose workflows.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowsQuery {
    /// `owner/repo`; it must have pushed before, so that it is known where it is.
    pub repository: String,
    /// The branch; without it the default branch.
    pub branch: Option<String>,
}

/// The workflows that `POST /runs/dispatch` may start, with their inputs, as the branch's newest
/// commit has them.
#[utoipa::path(get, path = "/workflows", tag = "runs", params(WorkflowsQuery),
    responses((status = 200, body = StartableWorkflows, description = "The workflows of the branch that take `workflow_dispatch`, and the files that are wrong"), (status = 404, description = "The repository or branch is not known"), (status = 503, description = "The repository cannot be asked now")))]
pub(crate) async fn workflows(
    state: State,
    query: web::Query<WorkflowsQuery>,
) -> Result<HttpResponse, Problem> {
    let WorkflowsQuery { repository, branch } = query.into_inner();
    let branch = branch.filter(|branch| !branch.is_empty());
    let found = state.view.startable_workflows(&repository, branch).await;
    let found = found.map_err(|error| of_store(&error))?;
    let found = found.map_err(|refused| of_dispatch(&refused))?;
    Ok(HttpResponse::Ok().json(found))
}

/// Why nothing can be started.
pub(crate) fn of_dispatch(refused: &DispatchFailure) -> Problem {
    match refused {
        DispatchFailure::Unreachable(_) => Problem::unavailable(refused.to_string(), 30),
        DispatchFailure::Repository | DispatchFailure::Branch | DispatchFailure::Workflow(_) => {
            Problem::not_found(refused.to_string())
        }
        DispatchFailure::Inputs(_) => Problem::unprocessable(refused.to_string(), Vec::new()),
    }
}

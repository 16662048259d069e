//! `POST /runs/dispatch`: somebody starts a workflow that says `workflow_dispatch`.

use std::collections::BTreeMap;

use actix_web::{HttpResponse, web};
use edge_web::{ApiJson, Problem};
use runner_actors::messages::DispatchWorkflow;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::problems::{of_ask, of_store};
use crate::run_facts::of_dispatch;
use crate::state::RunnerState;

/// Most inputs of a dispatch.
const MAX_INPUTS: usize = 25;

/// Which workflow to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DispatchRequest {
    /// `owner/repo`; it must have pushed before, so that it is known where it is.
    pub repository: String,
    /// The branch or tag; without it the default branch. `ref` means the same.
    #[serde(default, alias = "ref")]
    pub branch: Option<String>,
    /// The workflow's file, for example `.github/workflows/deploy.yml`, or its name alone.
    pub workflow: String,
    /// Its inputs, as text.
    #[serde(default)]
    pub inputs: BTreeMap<String, String>,
    /// VMs of jobs that fail are kept for a while, so that a shell can be opened in them.
    #[serde(default)]
    pub keep: bool,
    /// Snapshots are taken between their steps, to go back to; `keep` is part of it.
    #[serde(default)]
    pub snapshots: bool,
}

/// The run that was started.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Dispatched)]
pub(crate) struct DispatchResponse {
    /// Its id.
    pub run: String,
}

/// Starts a workflow. Only where an API token is configured: whoever may start runs must be known.
#[utoipa::path(post, path = "/runs/dispatch", tag = "runs", request_body = DispatchRequest,
    responses((status = 202, body = DispatchResponse, description = "Stored; the run starts"), (status = 400, description = "Not such a request"),
        (status = 401, description = "The token is missing or wrong"), (status = 403, description = "No API token is configured"), (status = 404, description = "The repository, branch or workflow is not known"), (status = 422, description = "The workflow takes no `workflow_dispatch`, or other inputs"), (status = 503, description = "The store takes no writes")))]
pub(crate) async fn dispatch(
    state: web::Data<RunnerState>,
    request: ApiJson<DispatchRequest>,
) -> Result<HttpResponse, Problem> {
    let ApiJson(request) = request;
    if !state.has_token {
        return Err(Problem::forbidden(
            "set WORKFLOW_RUNNER_API_TOKEN to start runs by hand",
        ));
    }
    if request.inputs.len() > MAX_INPUTS {
        return Err(Problem::bad_request(format!(
            "{} inputs, {MAX_INPUTS} at most",
            request.inputs.len()
        )));
    }
    let request = DispatchWorkflow {
        repository: request.repository,
        branch: request.branch,
        workflow: request.workflow,
        inputs: request.inputs.into_iter().collect(),
        actor: "api".to_owned(),
        keep: request.keep,
        snapshots: request.snapshots,
    };
    let stored = state
        .coordinator
        .ask(request)
        .await
        .map_err(|error| of_ask(&error))?;
    let run = stored
        .map_err(|error| of_store(&error))?
        .map_err(|refused| of_dispatch(&refused))?;
    Ok(HttpResponse::Accepted().json(DispatchResponse { run }))
}

//! `POST /runs/{id}/approve` and `/reject`: what somebody says to a run that waits.

use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::Problem;
use runner_actors::messages::{ReviewError, ReviewRun};
use runner_core::protection::ProtectionVerdict;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::handlers::{to_run, wants_page};
use crate::problems::{of_ask, of_store};
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// The longest name and comment, in characters.
const MAX_TEXT: usize = 1000;
/// Most environments named at once.
const MAX_ENVIRONMENTS: usize = 100;

/// What is said. All of it may be left out, as may the body.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewRequest {
    /// Only these environments; without any all that the run waits for.
    #[serde(default)]
    pub environments: Vec<String>,
    /// Who says it, for the record: whoever has the API token may, whatever name they give.
    #[serde(default)]
    pub by: Option<String>,
    /// Why, for the record.
    #[serde(default)]
    pub comment: Option<String>,
}

/// What was taken.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Reviewed)]
pub(crate) struct ReviewResponse {
    /// What was said.
    pub verdict: ProtectionVerdict,
    /// Of which environments; none: of the run as a whole, a pull request from a fork.
    pub environments: Vec<String>,
}

/// Approves what a run waits for: a pull request from a fork, or environments. Only where an API
/// token is configured: whoever may approve must be known.
#[utoipa::path(post, path = "/runs/{id}/approve", tag = "runs", params(("id" = String, Path, description = "The run's id")), request_body(content = ReviewRequest, description = "May be left out"),
    responses((status = 202, body = ReviewResponse, description = "Stored; the run goes on when nothing else keeps it"), (status = 400, description = "Not such a request"), (status = 401, description = "The token is missing or wrong"),
        (status = 403, description = "No API token is configured"), (status = 404, description = "No such run"), (status = 409, description = "It waits for no approval, or for none of this environment")))]
pub(crate) async fn approve(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Problem> {
    review(&request, &state, &id, &body, ProtectionVerdict::Approved).await
}

/// Rejects what a run waits for: jobs of the environments fail, a pull request from a fork is not
/// run.
#[utoipa::path(post, path = "/runs/{id}/reject", tag = "runs", params(("id" = String, Path, description = "The run's id")), request_body(content = ReviewRequest, description = "May be left out"),
    responses((status = 202, body = ReviewResponse, description = "Stored"), (status = 400, description = "Not such a request"), (status = 401, description = "The token is missing or wrong"),
        (status = 403, description = "No API token is configured"), (status = 404, description = "No such run"), (status = 409, description = "It waits for no approval, or for none of this environment")))]
pub(crate) async fn reject(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
    body: web::Bytes,
) -> Result<HttpResponse, Problem> {
    review(&request, &state, &id, &body, ProtectionVerdict::Rejected).await
}

async fn review(
    request: &HttpRequest,
    state: &RunnerState,
    id: &str,
    body: &[u8],
    verdict: ProtectionVerdict,
) -> Result<HttpResponse, Problem> {
    if !state.has_token {
        return Err(Problem::forbidden(
            "set WORKFLOW_RUNNER_API_TOKEN to approve or reject runs",
        ));
    }
    let is_form = wants_page(request);
    let said = if is_form || body.is_empty() {
        ReviewRequest::default()
    } else {
        read(body)?
    };
    let message = ReviewRun {
        run: id.to_owned(),
        environments: said.environments,
        verdict,
        by: said.by,
        comment: said.comment,
    };
    let stored = state.coordinator.ask(message).await;
    let stored = stored.map_err(|error| of_ask(&error))?;
    let environments = match stored.map_err(|error| of_store(&error))? {
        Ok(environments) => environments,
        Err(error @ ReviewError::Unknown) => return Err(Problem::not_found(error.to_string())),
        Err(error @ (ReviewError::NotWaiting | ReviewError::Environment(_))) => {
            return Err(Problem::conflict(error.to_string()));
        }
    };
    if is_form {
        return Ok(to_run(id));
    }
    Ok(HttpResponse::Accepted().json(ReviewResponse {
        verdict,
        environments,
    }))
}

fn read(body: &[u8]) -> Result<ReviewRequest, Problem> {
    let said: ReviewRequest = serde_json::from_slice(body)
        .map_err(|error| Problem::bad_request(format!("the body is no review: {error}")))?;
    let is_long = |text: &Option<String>| {
        let text = text.as_deref().unwrap_or_default();
        text.chars().count() > MAX_TEXT
    };
    if is_long(&said.by) || is_long(&said.comment) {
        let text = format!("a name or comment has at most {MAX_TEXT} characters");
        return Err(Problem::bad_request(text));
    }
    if said.environments.len() > MAX_ENVIRONMENTS {
        let text = format!("at most {MAX_ENVIRONMENTS} environments at once");
        return Err(Problem::bad_request(text));
    }
    Ok(said)
}

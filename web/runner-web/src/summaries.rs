//! `GET /runs/{id}/summaries`: what the steps of a run wrote to their summaries, a page at a time.

use actix_web::http::header::{HeaderValue, LINK};
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{FieldError, Problem};
use runner_actors::{StepSummary, SummaryPlace};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::handlers::wants_page;
use crate::list::link;
use crate::page;
use crate::problems::{find, of_store};
use crate::state::RunnerState;

/// Which summaries. What is left out filters nothing.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SummariesQuery {
    /// Of the jobs of this name.
    pub job: Option<String>,
    /// From the place that the `Link` of the page before names.
    pub cursor: Option<String>,
}

/// What the steps of a run wrote to their summaries, in the order of the record.
#[utoipa::path(get, path = "/runs/{id}/summaries", tag = "runs", params(("id" = String, Path, description = "The run's id"), SummariesQuery),
    responses((status = 200, description = "Some 4 MiB of them, one at least; with `Link: <?…>; rel=\"next\"` where there are more", body = Vec<StepSummary>),
        (status = 404, description = "No such run"), (status = 422, description = "A cursor that is none")))]
pub(crate) async fn summaries(
    request: HttpRequest,
    state: web::Data<RunnerState>,
    id: web::Path<String>,
    query: web::Query<SummariesQuery>,
) -> Result<HttpResponse, Problem> {
    let query = query.into_inner();
    let from = match query.cursor.as_deref().map(str::parse::<SummaryPlace>) {
        None => SummaryPlace::default(),
        Some(Ok(place)) => place,
        Some(Err(())) => {
            let error = FieldError::new("cursor", "it is not one of a `Link`".to_owned());
            let detail = "the summaries have no such page";
            return Err(Problem::unprocessable(detail, vec![error]));
        }
    };
    let record = find(&state.view, &id).await?;
    let page = state.view.summaries(record.clone(), query.job, from).await;
    let page = page.map_err(|error| of_store(&error))?;
    if wants_page(&request) {
        return Ok(page::html(page::summaries(&record, &page, state.has_token)));
    }
    let mut answer = HttpResponse::Ok();
    if let Some(next) = page.next
        && let Ok(link) = HeaderValue::from_str(&link(request.query_string(), &next.to_string()))
    {
        answer.insert_header((LINK, link));
    }
    Ok(answer.json(page.summaries))
}

//! The tests of a project: those of a run, all of a repository, the history of one.

use actix_web::http::header::{HeaderValue, LINK};
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{FieldError, Problem};
use runner_actors::{MAX_RUNS, RunTestFilter, RunTests, TestFilter, TestKind, USUAL_RUNS};
use runner_core::test_report::{TestHistory, TestSummary};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::list::{MAX_FILTER_BYTES, link};
use crate::problems::{find, of_store};
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// Which tests of a run. What is left out filters nothing.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunTestsQuery {
    /// `failed`, `passed`, `skipped`, `flaky` or `quarantined`.
    pub kind: Option<String>,
    /// Of the job of this name.
    pub job: Option<String>,
    /// With this text in the suite or the name.
    pub text: Option<String>,
    /// `slowest`: those that took longest first; else those that failed first.
    pub sort: Option<String>,
    /// At most so many (default 100, at most 1,000).
    pub limit: Option<usize>,
    /// From the place that the `Link` of the page before names.
    pub cursor: Option<usize>,
}

/// Which tests of a repository. What is left out filters nothing.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct TestsQuery {
    /// `owner/repo`.
    pub repository: String,
    /// How they ended last (`failed`, `passed`, `skipped`), or `flaky` or `quarantined`.
    pub kind: Option<String>,
    /// Of this workflow: its file, or the last part of its path.
    pub workflow: Option<String>,
    /// Of jobs of this name.
    pub job: Option<String>,
    /// Of this branch or tag; of a pull request: `pull/7`.
    pub branch: Option<String>,
    /// With this text in the suite or the name.
    pub text: Option<String>,
    /// `slowest`: those that took longest first; else those that are flaky or failed most.
    pub sort: Option<String>,
    /// How many of the newest runs with tests are looked at (default 50, at most 300).
    pub runs: Option<usize>,
    /// At most so many (default 100, at most 1,000).
    pub limit: Option<usize>,
    /// From the place that the `Link` of the page before names.
    pub cursor: Option<usize>,
}

/// Whose history.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct HistoryQuery {
    /// `owner/repo`.
    pub repository: String,
    /// The test's suite, exactly; nothing where it has none.
    pub suite: Option<String>,
    /// The test's name, exactly.
    pub name: String,
    /// Of this workflow: its file, or the last part of its path.
    pub workflow: Option<String>,
    /// Of jobs of this name.
    pub job: Option<String>,
    /// Of this branch or tag; of a pull request: `pull/7`.
    pub branch: Option<String>,
    /// How many of the newest runs with tests are looked at (default 50, at most 300).
    pub runs: Option<usize>,
}

fn invalid_field(field: &str, detail: &str) -> Problem {
    let error = FieldError::new(field, detail.to_owned());
    Problem::unprocessable("the tests cannot be filtered so", vec![error])
}

fn kind(text: Option<&str>) -> Result<Option<TestKind>, Problem> {
    let Some(text) = non_empty(text) else {
        return Ok(None);
    };
    let kind = serde_json::from_value(serde_json::Value::from(text));
    let known = "it is `failed`, `passed`, `skipped`, `flaky` or `quarantined`";
    kind.map(Some).map_err(|_| invalid_field("kind", known))
}

fn is_slowest(text: Option<&str>) -> Result<bool, Problem> {
    match non_empty(text) {
        None => Ok(false),
        Some("slowest") => Ok(true),
        Some(_) => Err(invalid_field("sort", "it is `slowest`, or left out")),
    }
}

fn non_empty(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}

fn text(field: &str, text: Option<String>) -> Result<Option<String>, Problem> {
    let text = text.filter(|text| !text.trim().is_empty());
    if text
        .as_ref()
        .is_some_and(|text| text.len() > MAX_FILTER_BYTES)
    {
        let detail = format!("it has more than {MAX_FILTER_BYTES} bytes");
        return Err(invalid_field(field, &detail));
    }
    Ok(text)
}

/// A page of a list that is made anew for each request.
fn page<T>(
    request: &HttpRequest,
    all: Vec<T>,
    limit: Option<usize>,
    from: usize,
) -> (Vec<T>, Option<HeaderValue>) {
    let limit = limit.unwrap_or(100).clamp(1, 1000);
    let next = from.saturating_add(limit);
    let more = all.len() > next;
    let shown: Vec<T> = all.into_iter().skip(from).take(limit).collect();
    let next = more.then(|| link(request.query_string(), &next.to_string()));
    (
        shown,
        next.and_then(|link| HeaderValue::from_str(&link).ok()),
    )
}

fn answer<T: serde::Serialize>(shown: &T, next: Option<HeaderValue>) -> HttpResponse {
    let mut answer = HttpResponse::Ok();
    if let Some(next) = next {
        answer.insert_header((LINK, next));
    }
    answer.json(shown)
}

/// The tests of a run: those that failed first, with their messages and traces.
#[utoipa::path(get, path = "/runs/{id}/tests", tag = "tests", params(("id" = String, Path, description = "The run's id"), RunTestsQuery),
    responses((status = 200, body = RunTests, description = "What its jobs' reports say; nothing where they left none. With `Link: <?…>; rel=\"next\"` where there are more"), (status = 404, description = "No such run"), (status = 422, description = "A filter that is none")))]
pub(crate) async fn of_run(
    request: HttpRequest,
    state: State,
    id: web::Path<String>,
    query: web::Query<RunTestsQuery>,
) -> Result<HttpResponse, Problem> {
    let query = query.into_inner();
    let filter = RunTestFilter {
        kind: kind(query.kind.as_deref())?,
        job: text("job", query.job)?,
        text: text("text", query.text)?,
        slowest: is_slowest(query.sort.as_deref())?,
    };
    let record = find(&state.view, &id).await?;
    let found = state.view.tests(&record, filter).await;
    let mut found = found.map_err(|error| of_store(&error))?;
    let all = std::mem::take(&mut found.tests);
    let (shown, next) = page(&request, all, query.limit, query.cursor.unwrap_or(0));
    found.tests = shown;
    Ok(answer(&found, next))
}

/// The tests of a repository in its newest runs: flaky ones and those that failed most first.
#[utoipa::path(get, path = "/tests", tag = "tests", params(TestsQuery),
    responses((status = 200, body = Vec<TestSummary>, description = "One of each test and job. With `Link: <?…>; rel=\"next\"` where there are more"), (status = 422, description = "A filter that is none")))]
pub(crate) async fn of_repository(
    request: HttpRequest,
    state: State,
    query: web::Query<TestsQuery>,
) -> Result<HttpResponse, Problem> {
    let query = query.into_inner();
    let filter = TestFilter {
        repository: query.repository,
        kind: kind(query.kind.as_deref())?,
        workflow: text("workflow", query.workflow)?,
        job: text("job", query.job)?,
        branch: text("branch", query.branch)?,
        text: text("text", query.text)?,
        test: None,
        slowest: is_slowest(query.sort.as_deref())?,
        runs: query.runs.unwrap_or(USUAL_RUNS).min(MAX_RUNS),
    };
    let all = state.view.test_summaries(filter).await;
    let all = all.map_err(|error| of_store(&error))?;
    let (shown, next) = page(&request, all, query.limit, query.cursor.unwrap_or(0));
    Ok(answer(&shown, next))
}

/// How one test ended, run by run, the newest first; one history of each job that has it.
#[utoipa::path(get, path = "/tests/history", tag = "tests", params(HistoryQuery),
    responses((status = 200, body = Vec<TestHistory>, description = "Nothing where no run that is kept has it")))]
pub(crate) async fn history(
    state: State,
    query: web::Query<HistoryQuery>,
) -> Result<HttpResponse, Problem> {
    let query = query.into_inner();
    let filter = TestFilter {
        repository: query.repository,
        test: Some((query.suite.unwrap_or_default(), query.name)),
        workflow: text("workflow", query.workflow)?,
        job: text("job", query.job)?,
        branch: text("branch", query.branch)?,
        runs: query.runs.unwrap_or(USUAL_RUNS).min(MAX_RUNS),
        ..TestFilter::default()
    };
    let found = state.view.test_histories(filter).await;
    let found = found.map_err(|error| of_store(&error))?;
    Ok(HttpResponse::Ok().json(found))
}

//! `GET /runs`: which runs there are, a page at a time.

use std::borrow::Cow;

use actix_web::http::header::{HeaderValue, LINK};
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{FieldError, Problem, visible};
use runner_actors::{RunFilter, RunRecord, SeenRepository};
use runner_core::state::RunState;
use serde::Deserialize;
use url::form_urlencoded;
use utoipa::IntoParams;

use crate::handlers::wants_page;
use crate::page;
use crate::problems::of_store;
use crate::state::RunnerState;

/// Longest value of a filter.
pub(crate) const MAX_FILTER_BYTES: usize = 500;

/// Which runs to list. What is left out filters nothing.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunsQuery {
    /// Of this repository only (`owner/repo`).
    pub repository: Option<String>,
    /// At most so many (default 50, at most 1,000).
    pub limit: Option<usize>,
    /// `true`: the events that started nothing, with the reasons, in place of the runs.
    pub ignored: Option<bool>,
    /// Of this branch or tag; of a pull request: `pull/7`.
    pub branch: Option<String>,
    /// In one of these states, with commas between; `active` stands for all that have not ended.
    pub state: Option<String>,
    /// Started by `push`, `pull_request`, `workflow_dispatch` or `schedule`.
    pub event: Option<String>,
    /// Caused by this person.
    pub actor: Option<String>,
    /// Of this workflow: its file, or the last part of its path.
    pub workflow: Option<String>,
    /// With this text in the name, workflow, repository, branch, actor or reason, or a commit or id
    /// that begins so.
    pub text: Option<String>,
    /// From the place that the `Link` of the page before names.
    pub cursor: Option<String>,
}

/// The newest runs first.
#[utoipa::path(get, path = "/runs", tag = "runs", params(RunsQuery),
    responses((status = 200, description = "Run records, newest first; with `Link: <?…>; rel=\"next\"` where there may be more. A page may be short and not the last", body = Vec<RunRecord>),
        (status = 422, description = "A filter that is none")))]
pub(crate) async fn runs(
    request: HttpRequest,
    state: web::Data<RunnerState>,
    query: web::Query<RunsQuery>,
) -> Result<HttpResponse, Problem> {
    let mut query = query.into_inner();
    let limit = query.limit.unwrap_or(50).clamp(1, 1000);
    let before = query.cursor.take();
    let filter = filter(query)?;
    let page = state.view.page(filter, before, limit).await;
    let page = page.map_err(|error| of_store(&error))?;
    if wants_page(&request) {
        return Ok(page::html(page::list(&page.runs, state.has_token)));
    }
    let mut answer = HttpResponse::Ok();
    if let Some(next) = &page.next
        && let Ok(link) = HeaderValue::from_str(&link(request.query_string(), next))
    {
        answer.insert_header((LINK, link));
    }
    let runs = page.runs.into_iter().map(RunRecord::for_display);
    Ok(answer.json(runs.collect::<Vec<_>>()))
}

/// The next page of the same list: relative, so that it holds behind any proxy.
pub(crate) fn link(query: &str, cursor: &str) -> String {
    let pairs = form_urlencoded::parse(query.as_bytes());
    let pairs = pairs.filter(|(name, _)| name != "cursor");
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .append_pair("cursor", cursor)
        .finish();
    format!("<?{query}>; rel=\"next\"")
}

fn filter(query: RunsQuery) -> Result<RunFilter, Problem> {
    let states = query.state.as_deref().map(states).transpose()?;
    let given = |value: Option<String>| value.filter(|value| !value.trim().is_empty());
    let filter = RunFilter {
        repository: given(query.repository),
        branch: given(query.branch),
        states: states.unwrap_or_default(),
        event: given(query.event),
        actor: given(query.actor),
        workflow: given(query.workflow),
        text: given(query.text),
        ignored: query.ignored == Some(true),
    };
    let texts = [
        ("branch", &filter.branch),
        ("actor", &filter.actor),
        ("text", &filter.text),
    ];
    for (name, text) in texts {
        if text
            .as_ref()
            .is_some_and(|text| text.len() > MAX_FILTER_BYTES)
        {
            let detail = format!("it has more than {MAX_FILTER_BYTES} bytes");
            return Err(invalid_field(name, detail));
        }
    }
    Ok(filter)
}

fn invalid_field(field: &str, detail: String) -> Problem {
    let error = FieldError::new(field, detail);
    Problem::unprocessable("the list cannot be filtered so", vec![error])
}

fn states(text: &str) -> Result<Vec<RunState>, Problem> {
    let mut states = Vec::new();
    for word in text
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
    {
        if word == "active" {
            let all = RunState::ALL.into_iter();
            states.extend(all.filter(|state| !state.is_terminal()));
            continue;
        }
        let state = serde_json::from_value(serde_json::Value::from(word));
        states.push(state.map_err(|_| {
            let word: Cow<'_, str> = word.chars().take(50).collect::<String>().into();
            let shown = visible::plain(&word);
            invalid_field(
                "state",
                format!("`{shown}` is no state; `active`, `succeeded`, `failed` and others are"),
            )
        })?);
    }
    Ok(states)
}

/// The repositories that have pushed: what filters and a form to start workflows offer.
#[utoipa::path(get, path = "/repositories", tag = "runs", responses((status = 200, description = "By name", body = Vec<SeenRepository>)))]
pub(crate) async fn repositories(state: web::Data<RunnerState>) -> Result<HttpResponse, Problem> {
    let repositories = state.view.repositories().await;
    let repositories = repositories.map_err(|error| of_store(&error))?;
    Ok(HttpResponse::Ok().json(repositories))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_keeps_the_filters() {
        assert_eq!(
            link("branch=a%26b%3C&cursor=old&limit=2", "new"),
            "<?branch=a%26b%3C&limit=2&cursor=new>; rel=\"next\""
        );
    }

    #[test]
    fn states_are_words_and_active_is_many() {
        assert_eq!(
            states("failed, lost").unwrap(),
            [RunState::Failed, RunState::Lost]
        );
        assert_eq!(states("active").unwrap().len(), 6);
        assert!(states("").unwrap().is_empty());
        assert!(states("done").is_err());
    }
}

//! Handlers for one source: what is not indexed of it, and having it compared again.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use edge_web::{FieldError, Problem};
use search_actors::RoleSource;
use search_core::answer::{ReindexAnswer, SkippedAnswer, SkippedFile};
use search_engine::walk::SkipReason;
use serde::Deserialize;
use supervision::TellError;
use utoipa::IntoParams;

use crate::state::SearchState;
use crate::wire::{bounded, unprocessable};

/// Paths that are given when the request names no `limit`, and at most.
const SKIPPED_LIMITS: (usize, usize) = (100, 1_000);

/// Calls `look` with a source of a role.
///
/// # Errors
/// 404 with the names that there are.
fn with_source<T>(
    state: &SearchState,
    role: &str,
    name: &str,
    look: impl FnOnce(&RoleSource) -> Result<T, Problem>,
) -> Result<T, Problem> {
    let role_set = state.roles();
    let entry = role_set.role(Some(role));
    let entry =
        entry.ok_or_else(|| Problem::not_found(role_set.unknown_role(Some(role)).to_string()))?;
    let source = entry.sources.iter().find(|one| one.haystack.name == name);
    look(source.ok_or_else(|| {
        let known = entry.sources.iter().map(|one| one.haystack.name.as_str());
        let known = known.collect::<Vec<_>>().join(", ");
        Problem::not_found(format!(
            "role {role:?} has no source {name:?}; it has: {known}"
        ))
    })?)
}

/// Compares a source with its index again, now. `GET /health` shows the progress.
#[utoipa::path(
    post, path = "/api/sources/{role}/{name}/reindex", tag = "roles",
    params(("role" = String, Path, description = "A role"), ("name" = String, Path, description = "One of its sources")),
    responses((status = 202, description = "The comparison begins; it may already be under way.", body = ReindexAnswer))
)]
pub(crate) async fn reindex(
    state: web::Data<SearchState>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let (role, name) = path.into_inner();
    let indexer = with_source(&state, &role, &name, |source| {
        source.handle.reindex_handle().ok_or_else(|| {
            Problem::conflict(format!(
                "source {name:?} has no index here that could be made again"
            ))
        })
    })?;
    indexer.request().map_err(|error| match error {
        TellError::Full { .. } => {
            Problem::unavailable(format!("source {name:?} has been asked often enough"), 1)
        }
        TellError::Unavailable { .. } => Problem::unavailable(
            format!("the indexer of source {name:?} is being restarted"),
            1,
        ),
    })?;
    let status = "accepted".to_owned();
    Ok(HttpResponse::Accepted().json(ReindexAnswer { status, role, name }))
}

/// What `GET /api/sources/{role}/{name}/skipped` takes beside the source.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SkippedQuery {
    /// Only this reason, as `GET /health` names it; all when absent.
    reason: Option<String>,
    /// The `next` of the page before.
    after: Option<String>,
    /// Paths to give, at most 1,000; 100 when absent.
    limit: Option<usize>,
}

/// What of a source is not indexed, and why.
#[utoipa::path(
    get, path = "/api/sources/{role}/{name}/skipped", tag = "roles",
    params(("role" = String, Path, description = "A role"), ("name" = String, Path, description = "One of its sources"), SkippedQuery),
    responses(
        (status = 200, description = "Files and folders by name; empty where everything is indexed.", body = SkippedAnswer),
        (status = 404, description = "There is no such role, or it has no such source."),
    )
)]
pub(crate) async fn skipped(
    state: web::Data<SearchState>,
    path: web::Path<(String, String)>,
    query: web::Query<SkippedQuery>,
) -> Result<HttpResponse, Problem> {
    let (role, name) = path.into_inner();
    let limit = bounded("limit", query.limit, SKIPPED_LIMITS)?;
    let reason = query.reason.as_deref().map(reason_of).transpose()?;
    let page = with_source(&state, &role, &name, |source| {
        Ok(source.handle.skipped(reason, query.after.as_deref(), limit))
    })?;
    let last = page.paths.last().filter(|_| page.has_more);
    let answer = SkippedAnswer {
        next: last.map(|last| last.path.key.clone()),
        skipped: page
            .paths
            .into_iter()
            .map(|one| SkippedFile {
                stale: one.is_stale,
                path: one.path.key,
                reason: one.path.reason.as_str().to_owned(),
            })
            .collect(),
    };
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(answer))
}

fn reason_of(name: &str) -> Result<SkipReason, Problem> {
    SkipReason::from_name(name).ok_or_else(|| {
        let known = SkipReason::ALL.map(SkipReason::as_str).join(", ");
        let text = format!("no such reason; known are: {known}");
        unprocessable(vec![FieldError::new("reason", text)])
    })
}

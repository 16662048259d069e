//! The routes' handlers: from a request to a message, from the reply to JSON. They decide nothing.

use std::time::Instant;

use actix_web::http::header::{self, ContentType};
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::{ApiJson, Problem};
use search_actors::messages::{ReadDocument, Search};
use search_core::answer::{DocumentView, HealthAnswer, RoleList, SearchAnswer};
use search_engine::answering::DocumentRequest;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::cache::AnswerCache;
use crate::config::ConfigState;
use crate::state::{SearchState, ask_problem, search_problem};
use crate::wire::SearchBody;

/// Searches the sources of a role.
#[utoipa::path(
    post, path = "/api/documents/search", tag = "search", request_body = SearchBody,
    responses((status = 200, description = "The page asked for, best first.", body = SearchAnswer))
)]
pub(crate) async fn search(
    state: web::Data<SearchState>,
    body: ApiJson<SearchBody>,
) -> Result<HttpResponse, Problem> {
    let began = Instant::now();
    let params = body.0.check()?;
    let role_set = state.roles();
    let entry = role_set.role(params.role.as_deref());
    let entry =
        entry.ok_or_else(|| search_problem(&role_set.unknown_role(params.role.as_deref())))?;
    // What others answer has a time to live of its own.
    let key = (!entry.queries_servers(&params.sources))
        .then(|| state.cache.key(&params, &entry.role.name, entry.version()));
    let kept = key
        .as_ref()
        .and_then(|key| state.cache.get(key, began.elapsed()));
    if let Some(kept) = kept {
        return Ok(json(kept));
    }
    let reply = state
        .search
        .ask(Search(params))
        .await
        .map_err(|error| ask_problem(&error))?;
    let mut answer = reply.map_err(|failure| search_problem(&failure))?;
    state.metrics.record_answer(&answer);
    answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
    // How far indexing is changes without the index.
    Ok(json(match key {
        Some(key) if !answer.indexing => state.cache.put(key, &answer),
        _ => AnswerCache::body(&answer),
    }))
}

fn json(body: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(ContentType::json())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}

/// What `GET /api/documents/{id}` takes beside the id.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentQuery {
    /// The role through which the document was found; any role when absent.
    role: Option<String>,
    /// Words to mark in the text.
    q: Option<String>,
    /// Whether to add the file's own text, with its markup: 1 MiB of it at most.
    #[serde(default)]
    original: bool,
    /// A line of the file, from 1, that is to be in the text where that is too long to be given
    /// whole.
    line: Option<usize>,
}

/// Reads a document again from its source.
#[utoipa::path(
    get, path = "/api/documents/{id}", tag = "search", params(("id" = String, Path, description = "Id of a result"), DocumentQuery),
    responses((status = 200, description = "The text of the document.", body = DocumentView))
)]
pub(crate) async fn document(
    state: web::Data<SearchState>,
    id: web::Path<String>,
    query: web::Query<DocumentQuery>,
) -> Result<HttpResponse, Problem> {
    let DocumentQuery {
        role,
        q,
        original,
        line,
    } = query.into_inner();
    let request = DocumentRequest {
        id: id.into_inner(),
        role,
        query: q.unwrap_or_default(),
        original,
        by_lines: false,
        line,
    };
    let reply = state
        .search
        .ask(ReadDocument(request))
        .await
        .map_err(|error| ask_problem(&error))?;
    Ok(HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(reply.map_err(|failure| search_problem(&failure))?))
}

/// Lists the roles and their sources, without secrets.
#[utoipa::path(
    get, path = "/api/roles", tag = "roles",
    responses((status = 200, description = "All roles.", body = RoleList))
)]
pub(crate) async fn roles(state: web::Data<SearchState>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(state.roles().role_list())
}

/// Tells how the server and each source are. 200 as soon as the server answers.
#[utoipa::path(
    get, path = "/health", tag = "operation",
    responses((status = 200, description = "The state of every source.", body = HealthAnswer))
)]
pub(crate) async fn health(
    state: web::Data<SearchState>,
    config: web::Data<Option<ConfigState>>,
) -> HttpResponse {
    let configuration = config.as_ref().as_ref();
    let configuration = configuration.map(|state| state.config.health());
    let role_set = state.roles();
    let failed = role_set.is_degraded()
        || configuration
            .as_ref()
            .is_some_and(|health| health.error.is_some());
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(HealthAnswer {
            status: if failed { "degraded" } else { "ok" }.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: state.started.elapsed().as_secs(),
            sources: role_set.health(),
            configuration,
        })
}

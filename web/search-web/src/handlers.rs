//! The routes' handlers: from a request to a message, from the reply to JSON. They decide nothing.

use std::time::Instant;

use actix_web::http::header::{self, ContentType};
use actix_web::{HttpResponse, web};
use bytes::Bytes;
use edge_web::{ApiJson, Problem};
use search_actors::messages::{ReadDocument, Search};
use search_core::answer::{DocumentView, HealthAnswer, RoleList, SearchAnswer, SourceState};
use search_engine::answering::DocumentRequest;
use serde::Deserialize;
use utoipa::IntoParams;

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
    let order = body.0.check()?;
    let entry = state.board.role(order.role.as_deref());
    let entry =
        entry.ok_or_else(|| search_problem(&state.board.unknown_role(order.role.as_deref())))?;
    let slot = state.cache.slot(&order, &entry.role.name, entry.version());
    if let Some(kept) = state.cache.get(&slot, began.elapsed()) {
        return Ok(json(kept));
    }
    let reply = state
        .desk
        .ask(Search(order))
        .await
        .map_err(|error| ask_problem(&error))?;
    let mut answer = reply.map_err(|failure| search_problem(&failure))?;
    answer.took_ms = began.elapsed().as_secs_f64() * 1e3;
    Ok(json(state.cache.put(slot, &answer)))
}

fn json(body: Bytes) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(ContentType::json())
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}

/// What `GET /api/documents/{id}` takes beside the id.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub(crate) struct DocumentQuery {
    /// The role through which the document was found; any role when absent.
    role: Option<String>,
    /// Words to mark in the text.
    q: Option<String>,
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
    let DocumentQuery { role, q } = query.into_inner();
    let request = DocumentRequest {
        id: id.into_inner(),
        role,
        query: q.unwrap_or_default(),
    };
    let reply = state
        .desk
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
        .json(state.board.role_list())
}

/// Tells how the server and each source are. 200 as soon as the server answers.
#[utoipa::path(
    get, path = "/health", tag = "operation",
    responses((status = 200, description = "The state of every source.", body = HealthAnswer))
)]
pub(crate) async fn health(state: web::Data<SearchState>) -> HttpResponse {
    let sources = state.board.health();
    let failed = sources
        .iter()
        .any(|source| source.state == SourceState::Failed);
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(HealthAnswer {
            status: if failed { "degraded" } else { "ok" }.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            uptime_seconds: state.started.elapsed().as_secs(),
            sources,
        })
}

//! Handlers for what is known of concepts: thesaurus, graph, suggestions.

use actix_web::http::header;
use actix_web::{HttpResponse, web};
use edge_web::{FieldError, Problem};
use search_actors::RoleEntry;
use search_core::concepts::{GraphAnswer, SuggestionList, ThesaurusAnswer};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::state::{SearchState, search_problem};
use crate::wire::{bounded, unprocessable};

/// Concepts of a thesaurus that are given when the request names no `limit`, and at most.
const THESAURUS_LIMITS: (usize, usize) = (1_000, 10_000);

/// Neighbours, or concepts of the overview.
const GRAPH_LIMITS: (usize, usize) = (30, 500);

/// Suggestions.
const SUGGESTION_LIMITS: (usize, usize) = (8, 100);

/// Longest name or beginning that is looked up, in bytes.
const MAX_TEXT: usize = 1_024;

/// What `GET /api/thesaurus/{role}` takes beside the role.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThesaurusQuery {
    /// Concepts to pass over; 0 when absent.
    skip: Option<usize>,
    /// Concepts to give, at most 10,000; 1,000 when absent.
    limit: Option<usize>,
}

/// The words that were declared to mean the same.
#[utoipa::path(
    get, path = "/api/thesaurus/{role}", tag = "concepts", params(("role" = String, Path, description = "A role"), ThesaurusQuery),
    responses((status = 200, description = "The role's thesaurus; empty where it names none.", body = ThesaurusAnswer))
)]
pub(crate) async fn thesaurus(
    state: web::Data<SearchState>,
    role: web::Path<String>,
    query: web::Query<ThesaurusQuery>,
) -> Result<HttpResponse, Problem> {
    let limit = bounded("limit", query.limit, THESAURUS_LIMITS)?;
    let role_set = state.roles();
    let entry = role_set.role(Some(&role));
    let entry =
        entry.ok_or_else(|| Problem::not_found(role_set.unknown_role(Some(&role)).to_string()))?;
    Ok(answer(
        &entry.thesaurus_answer(query.skip.unwrap_or(0), limit),
    ))
}

/// What `GET /api/graph` takes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphQuery {
    /// The role; the default role when absent.
    role: Option<String>,
    /// A concept whose neighbours and documents are asked for; an overview when absent.
    concept: Option<String>,
    /// The id of a document whose concepts and neighbours are asked for, instead of a concept.
    document: Option<String>,
    /// Neighbours or concepts to give, 1 to 500; 30 when absent.
    limit: Option<usize>,
}

/// A part of the graph of concepts.
#[utoipa::path(
    get, path = "/api/graph", tag = "concepts", params(GraphQuery),
    responses(
        (status = 200, description = "Concepts, and what joins them.", body = GraphAnswer),
        (status = 404, description = "No document holds the concept, or there is no such document."),
    )
)]
pub(crate) async fn graph(
    state: web::Data<SearchState>,
    query: web::Query<GraphQuery>,
) -> Result<HttpResponse, Problem> {
    let GraphQuery {
        role,
        concept,
        document,
        limit,
    } = query.into_inner();
    let limit = bounded("limit", limit, GRAPH_LIMITS)?;
    check_text("concept", concept.as_deref())?;
    if let Some(id) = document {
        check_text("document", Some(&id))?;
        if concept.is_some() {
            let both = FieldError::new("document", "give a concept or a document, not both");
            return Err(unprocessable(vec![both]));
        }
        let wanted = id.clone();
        let found = read_role(&state, role, move |entry| {
            entry.document_neighbours(&wanted, limit)
        });
        let unknown = || Problem::not_found(format!("the graph holds no document {id:?}"));
        return Ok(answer(&found.await?.ok_or_else(unknown)?));
    }
    let wanted = concept.clone();
    let found = read_role(&state, role, move |entry| {
        entry.graph_answer(wanted.as_deref(), limit)
    });
    let found = found.await?.ok_or_else(|| {
        let name = concept.unwrap_or_default();
        Problem::not_found(format!("no document holds the concept {name:?}"))
    })?;
    Ok(answer(&found))
}

/// What `GET /api/autocomplete` takes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct SuggestionQuery {
    /// The role; the default role when absent.
    role: Option<String>,
    /// What was typed so far.
    q: String,
    /// Suggestions to give, 1 to 100; 8 when absent.
    limit: Option<usize>,
}

/// Suggests titles, concepts and frequent words that begin with, or are nearly, what was typed.
#[utoipa::path(
    get, path = "/api/autocomplete", tag = "concepts", params(SuggestionQuery),
    responses((status = 200, description = "The likeliest first.", body = SuggestionList))
)]
pub(crate) async fn autocomplete(
    state: web::Data<SearchState>,
    query: web::Query<SuggestionQuery>,
) -> Result<HttpResponse, Problem> {
    let SuggestionQuery { role, q, limit } = query.into_inner();
    let limit = bounded("limit", limit, SUGGESTION_LIMITS)?;
    check_text("q", Some(&q))?;
    let found = read_role(&state, role, move |entry| entry.suggestions(&q, limit));
    Ok(answer(&found.await?))
}

/// Looks at a role on a thread that may take its time.
pub(crate) async fn read_role<T: Send + 'static>(
    state: &SearchState,
    role: Option<String>,
    look: impl FnOnce(&RoleEntry) -> T + Send + 'static,
) -> Result<T, Problem> {
    let role_set = state.roles();
    let looked = web::block(move || match role_set.role(role.as_deref()) {
        Some(entry) => Ok(look(entry)),
        None => Err(role_set.unknown_role(role.as_deref())),
    });
    // The thread is gone only when the server ends.
    let looked = looked.await.map_err(|_| Problem::internal())?;
    looked.map_err(|failure| search_problem(&failure))
}

fn check_text(field: &'static str, text: Option<&str>) -> Result<(), Problem> {
    match text.map(str::len) {
        Some(length) if length > MAX_TEXT => {
            let detail = format!("{length} bytes are too long; at most {MAX_TEXT} are looked up");
            Err(unprocessable(vec![FieldError::new(field, detail)]))
        }
        _ => Ok(()),
    }
}

fn answer(body: &impl Serialize) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .json(body)
}

//! The routes of the search server and the OpenAPI document made from their types.

use edge_web::{
    ApplicationParts, Metrics, Routes, application_shell, livez, metrics_text, readyz,
    share_problem,
};
use utoipa::OpenApi;

use crate::{chat, concepts, config, handlers, mcp, sources, ws};

/// The documented part of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "Orrery search server", description = "Private semantic search over one's own sources."),
    paths(mcp::mcp, handlers::search, handlers::document, handlers::roles, sources::reindex, sources::skipped, handlers::health,
        concepts::thesaurus, concepts::graph, concepts::autocomplete,
        config::show, config::replace, config::schema,
        chat::chat, chat::summarize, chat::conversations, chat::conversation, chat::delete_conversation),
    tags(
        (name = "search", description = "Searching and reading documents"),
        (name = "chat", description = "Answers and summaries"),
        (name = "concepts", description = "What is known of words and concepts"),
        (name = "roles", description = "What can be searched"),
        (name = "configuration", description = "The role file"),
        (name = "operation", description = "How the server is"),
    )
)]
struct ApiDocument;

/// The OpenAPI 3.1 document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = ApiDocument::openapi();
    share_problem(&mut document);
    document
}

/// All routes of the search server. The actor tree and the page come from `routes_with`'s caller.
#[must_use]
pub fn routes(metrics: &Metrics) -> Routes {
    routes_with(metrics, &parts())
}

/// What this server alone shows.
pub(crate) fn parts() -> ApplicationParts {
    ApplicationParts::new("search-server").part("search", "")
}

/// The same, where further parts are shown.
pub(crate) fn routes_with(metrics: &Metrics, parts: &ApplicationParts) -> Routes {
    Routes::new(metrics)
        .get("/health", handlers::health)
        .post("/api/documents/search", handlers::search)
        .post("/api/documents/summarize", chat::summarize)
        .post("/api/chat", chat::chat)
        .get("/api/conversations", chat::conversations)
        .get("/api/conversations/{id}", chat::conversation)
        .delete("/api/conversations/{id}", chat::delete_conversation)
        .get("/api/documents/{id:.+}", handlers::document)
        .get("/api/roles", handlers::roles)
        .get("/api/thesaurus/{role}", concepts::thesaurus)
        .get("/api/graph", concepts::graph)
        .get("/api/autocomplete", concepts::autocomplete)
        .post("/api/sources/{role}/{name}/reindex", sources::reindex)
        .get("/api/sources/{role}/{name}/skipped", sources::skipped)
        .get("/api/config", config::show)
        .put("/api/config", config::replace)
        .get("/api/config/schema", config::schema)
        .post("/mcp", mcp::mcp)
        .websocket("/ws", ws::ws)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", metrics_text)
        .openapi(&openapi())
        .asset("/", application_shell())
        .application(parts)
}

//! The routes of the search server and the OpenAPI document made from their types.

use actix_web::{HttpRequest, web};
use edge_web::{
    Asset, Metrics, Routes, livez, metrics_text, openapi_document, readyz, share_problem,
};
use utoipa::OpenApi;

use crate::handlers;

/// The documented part of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "Orrery search server", description = "Private semantic search over one's own sources."),
    paths(handlers::search, handlers::document, handlers::roles, handlers::health),
    tags(
        (name = "search", description = "Searching and reading documents"),
        (name = "roles", description = "What can be searched"),
        (name = "operation", description = "How the server is"),
    )
)]
struct Documented;

/// The OpenAPI 3.1 document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = Documented::openapi();
    share_problem(&mut document);
    document
}

/// All routes of the search server. The actor tree and the page come from `routes_with`'s caller.
#[must_use]
pub fn routes(metrics: &Metrics) -> Routes {
    let document = openapi_document(&openapi()).expect("a document made from types serialises");
    let mut routes = Routes::new(metrics)
        .get("/health", handlers::health)
        .post("/api/documents/search", handlers::search)
        .get("/api/documents/{id:.+}", handlers::document)
        .get("/api/roles", handlers::roles)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", metrics_text);
    routes = serve_asset(routes, "/api/openapi.json", document);
    for asset in ui::ASSETS {
        routes = serve_asset(
            routes,
            asset.path,
            Asset::new(asset.bytes, asset.content_type),
        );
    }
    routes
}

fn serve_asset(routes: Routes, path: &str, asset: Asset) -> Routes {
    let asset = web::Data::new(asset);
    routes.get(path, move |request: HttpRequest| {
        let asset = asset.clone();
        async move { asset.respond(&request) }
    })
}

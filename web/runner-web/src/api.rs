//! The routes of the runner and the OpenAPI document made from their types.

use edge_web::{ApplicationParts, Metrics, Routes, livez, metrics_text, readyz, share_problem};
use utoipa::OpenApi;

use crate::{dispatch, handlers, log};

/// The documented part of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "Orrery workflow runner", description = "Runs a repository's workflows in microVMs when its forge says that something happened."),
    paths(handlers::webhook, handlers::runs, handlers::run, log::log, dispatch::dispatch, handlers::cancel, handlers::rerun, handlers::artifact, handlers::health),
    components(schemas(handlers::WebhookAnswer, handlers::RunnerHealth, dispatch::DispatchRequest, dispatch::Dispatched)),
    tags(
        (name = "webhooks", description = "What a forge sends"),
        (name = "runs", description = "What is run, and what came of it"),
        (name = "operation", description = "How the runner is"),
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

/// All routes.
#[must_use]
pub fn routes(metrics: &Metrics) -> Routes {
    Routes::new(metrics)
        .get("/", handlers::home)
        .post("/webhook", handlers::webhook)
        .get("/runs", handlers::runs)
        .post("/runs/dispatch", dispatch::dispatch)
        .get("/runs/{id}", handlers::run)
        .get("/runs/{id}/log", log::log)
        .post("/runs/{id}/cancel", handlers::cancel)
        .post("/runs/{id}/rerun", handlers::rerun)
        .get("/runs/{id}/artifacts/{name}", handlers::artifact)
        .get("/assets/{name}", handlers::asset)
        .get("/favicon.ico", handlers::icon)
        .get("/health", handlers::health)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", metrics_text)
        .get("/admin/actors", handlers::actors)
        .get("/admin/actors/events", handlers::actor_changes)
        .openapi(&openapi())
        .application(&ApplicationParts::new("workflow-runner").part("runner", ""))
}

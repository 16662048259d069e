//! The routes of the runner and the OpenAPI document made from their types.

use edge_web::{ApplicationParts, Metrics, Routes, livez, metrics_text, readyz, share_problem};
use utoipa::OpenApi;

use crate::job_services::identity;
use crate::{
    changes, deliveries, dispatch, drain, handlers, list, log, log_parts, receiver, reload,
    reviews, run_facts, shell, summaries, tests_api, vm_hosts,
};

/// The documented part of the API.
#[derive(OpenApi)]
#[openapi(
    info(title = "Orrery workflow runner", description = "Runs a repository's workflows in microVMs when its forge says that something happened."),
    paths(receiver::webhook, list::runs, list::repositories, run_facts::workflows, changes::all, handlers::run, changes::answer_change, run_facts::graph, run_facts::last_green, run_facts::artifacts, summaries::summaries, tests_api::of_run, tests_api::of_repository, tests_api::history, log::log, log_parts::overview, log_parts::lines, log_parts::search, log_parts::text, dispatch::dispatch, handlers::cancel, handlers::rerun, reviews::approve, reviews::reject, shell::kept, shell::kept_of_run, shell::release, shell::open, handlers::artifact, handlers::health, drain::drain, reload::reload, vm_hosts::list, vm_hosts::cordon, vm_hosts::uncordon, vm_hosts::drain),
    components(schemas(deliveries::WebhookAnswer, handlers::RunnerHealth, dispatch::DispatchRequest, dispatch::DispatchResponse, reviews::ReviewRequest, reviews::ReviewResponse)),
    tags(
        (name = "webhooks", description = "What a forge sends"),
        (name = "runs", description = "What is run, and what came of it"),
        (name = "tests", description = "What a project's own tests said"),
        (name = "operation", description = "How the runner is"),
    )
)]
struct ApiDoc;

/// The OpenAPI 3.1 document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = ApiDoc::openapi();
    share_problem(&mut document);
    document
}

/// All routes. `wants_token`: whether they answer only with one, which the page is told.
#[must_use]
pub fn routes(metrics: &Metrics, wants_token: bool) -> Routes {
    let parts = ApplicationParts::new("workflow-runner").part("runner", "");
    Routes::new(metrics)
        .get("/", handlers::home)
        .post("/webhook", receiver::webhook)
        .get("/runs", list::runs)
        .get("/repositories", list::repositories)
        .get("/workflows", run_facts::workflows)
        .post("/runs/dispatch", dispatch::dispatch)
        // Before the pattern that would take `changes` and `kept` for ids.
        .get("/runs/changes", changes::all)
        .get("/runs/kept", shell::kept)
        .get("/runs/{id}", handlers::run)
        .get("/runs/{id}/changes", changes::answer_change)
        .get("/runs/{id}/graph", run_facts::graph)
        .get("/runs/{id}/last-green", run_facts::last_green)
        .get("/runs/{id}/summaries", summaries::summaries)
        .get("/runs/{id}/tests", tests_api::of_run)
        .get("/tests", tests_api::of_repository)
        .get("/tests/history", tests_api::history)
        .get("/runs/{id}/log", log::log)
        .get("/runs/{id}/log/overview", log_parts::overview)
        .get("/runs/{id}/log/lines", log_parts::lines)
        .get("/runs/{id}/log/search", log_parts::search)
        .get("/runs/{id}/log/text", log_parts::text)
        .post("/runs/{id}/cancel", handlers::cancel)
        .post("/runs/{id}/rerun", handlers::rerun)
        .post("/runs/{id}/approve", reviews::approve)
        .post("/runs/{id}/reject", reviews::reject)
        .get("/runs/{id}/kept", shell::kept_of_run)
        .delete("/runs/{id}/kept", shell::release)
        .get("/runs/{id}/shell", shell::open)
        .get("/runs/{id}/artifacts", run_facts::artifacts)
        .get("/runs/{id}/artifacts/{name}", handlers::artifact)
        .get("/assets/{name}", handlers::asset)
        .get("/favicon.ico", handlers::icon)
        .get("/.well-known/openid-configuration", identity::configuration)
        .get("/.well-known/jwks", identity::keys)
        .get("/vm-hosts", vm_hosts::list)
        .post("/vm-hosts/{name}/cordon", vm_hosts::cordon)
        .delete("/vm-hosts/{name}/cordon", vm_hosts::uncordon)
        .post("/vm-hosts/{name}/drain", vm_hosts::drain)
        .get("/health", handlers::health)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", metrics_text)
        .post("/admin/drain", drain::drain)
        .post("/admin/reload", reload::reload)
        .get("/admin/actors", edge_web::replica::actors)
        .get("/admin/actors/events", handlers::actor_changes)
        .openapi(&openapi())
        .application(&parts.wants_token("runner", wants_token))
}

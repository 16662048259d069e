//! The routes of the VM manager and the OpenAPI document made from their types.

use edge_web::{ApplicationParts, Metrics, Routes, livez, readyz, share_problem};
use utoipa::OpenApi;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};

use crate::handlers::{execs, files, operation, snapshots, stock, terminal, vms};

/// The documented part of the API.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Orrery VM manager",
        description = "Virtual machines for jobs: given out, worked in, released. Tokens are made by `vm-manager token`."
    ),
    paths(
        operation::health, stock::images, stock::pool, vms::list, vms::create, vms::show, vms::release, vms::release_stuck,
        vms::lease, vms::pause, vms::resume,
        snapshots::take, snapshots::list, snapshots::restore, snapshots::forget, files::put, files::get, execs::start, execs::show, execs::kill, terminal::open
    ),
    components(schemas(vmm_api_core::TerminalCommand)),
    tags(
        (name = "vms", description = "Virtual machines"),
        (name = "files", description = "Files into them and out of them"),
        (name = "exec", description = "What runs in them"),
        (name = "operation", description = "How the manager is"),
    )
)]
struct ApiDoc;

/// The OpenAPI 3.1 document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = ApiDoc::openapi();
    share_problem(&mut document);
    let scheme = SecurityScheme::Http(
        Http::builder()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .build(),
    );
    document
        .components
        .get_or_insert_default()
        .security_schemes
        .insert("token".to_owned(), scheme.into());
    document
}

/// All routes.
#[must_use]
pub fn routes(metrics: &Metrics) -> Routes {
    Routes::new(metrics)
        .get("/health", operation::health)
        .get("/images", stock::images)
        .get("/pool", stock::pool)
        .get("/vms", vms::list)
        .post("/vms", vms::create)
        // Before the pattern that would take `stuck` for an id.
        .delete("/vms/stuck", vms::release_stuck)
        .get("/vms/{id}", vms::show)
        .delete("/vms/{id}", vms::release)
        .post("/vms/{id}/lease", vms::lease)
        .post("/vms/{id}/pause", vms::pause)
        .post("/vms/{id}/resume", vms::resume)
        .post("/vms/{id}/snapshots", snapshots::take)
        .get("/vms/{id}/snapshots", snapshots::list)
        .post("/vms/{id}/snapshots/{name}/restore", snapshots::restore)
        .delete("/vms/{id}/snapshots/{name}", snapshots::forget)
        .get("/vms/{id}/terminal", terminal::open)
        .put("/vms/{id}/files", files::put)
        .get("/vms/{id}/files", files::get)
        .post("/vms/{id}/exec", execs::start)
        .get("/vms/{id}/exec/{eid}", execs::show)
        .delete("/vms/{id}/exec/{eid}", execs::kill)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", operation::metrics)
        .get("/admin/actors", operation::actors)
        .get("/admin/actors/events", operation::actor_changes)
        .openapi(&openapi())
        .application(&ApplicationParts::new("vm-manager").part("vm-manager", ""))
}

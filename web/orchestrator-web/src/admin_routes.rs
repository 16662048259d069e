//! The routes of the admin bridge.

use edge_web::{ApplicationParts, Routes, livez, readyz};

use crate::{admin, event_stream, log_stream, openapi, page, planning, vm_hosts};

/// The routes of the admin bridge.
pub(crate) fn routes(metrics: &edge_web::Metrics) -> Routes {
    let routes = Routes::new(metrics)
        .get("/admin/status", admin::status)
        .get("/admin/agents", admin::agents)
        .get("/admin/agents/{project}/{agent}/prompt", admin::prompt)
        .get("/admin/runs", admin::runs)
        .get("/admin/runs/{id}", admin::run)
        .get("/admin/runs/{id}/log", log_stream::log)
        .get("/admin/runs/{id}/events", event_stream::run_events)
        .get("/admin/events", event_stream::events)
        .post("/admin/runs/{id}/cancel", admin::cancel)
        .post("/admin/runs/{id}/retry", admin::retry)
        .post("/admin/projects/{id}/pause", admin::pause)
        .post("/admin/projects/{id}/resume", admin::resume)
        .post("/admin/check", admin::check)
        .post("/admin/reload", admin::reload)
        .post("/admin/drain", admin::drain)
        .get("/admin/journal", admin::journal)
        .get("/admin/vm-hosts", vm_hosts::list)
        .post("/admin/vm-hosts/{name}/cordon", vm_hosts::cordon)
        .delete("/admin/vm-hosts/{name}/cordon", vm_hosts::uncordon)
        .get("/admin/calendar", planning::calendar)
        .post("/admin/route", planning::route)
        .get("/admin/actors", admin::actors)
        .get("/admin/actors/events", admin::actor_changes)
        .get("/health", admin::health)
        .get("/healthz", livez)
        .get("/livez", livez)
        .get("/readyz", readyz)
        .get("/metrics", admin::metrics);
    let parts = ApplicationParts::new("orchestrator").part("orchestrator", "");
    page::add(openapi::add(routes))
        .session(None)
        .application(&parts)
}

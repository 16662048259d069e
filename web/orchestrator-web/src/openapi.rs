//! The API document.

use edge_web::{Routes, share_problem};
use utoipa::OpenApi;

use crate::{admin, event_stream, log_stream, planning, receiver, vm_hosts};

#[derive(OpenApi)]
#[openapi(
    info(title = "Orrery orchestrator", description = "Receiver of webhooks, and the admin bridge (Unix socket, loopback)."),
    paths(
        receiver::webhook, admin::status, admin::agents, admin::prompt, admin::runs, admin::run, log_stream::log,
        admin::cancel, admin::retry, admin::pause, admin::resume, admin::check, admin::reload, admin::drain, admin::health, admin::journal,
        planning::calendar, planning::route, admin::actors, admin::actor_changes, event_stream::events, event_stream::run_events,
        vm_hosts::list, vm_hosts::cordon, vm_hosts::uncordon
    ),
    tags((name = "receiver", description = "Webhooks of the forge"), (name = "admin", description = "For operators"))
)]
struct ApiDoc;

/// The OpenAPI 3.1 document.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    let mut document = ApiDoc::openapi();
    share_problem(&mut document);
    document
}

/// Adds the document to the routes.
pub(crate) fn add(routes: Routes) -> Routes {
    routes.openapi(&openapi())
}

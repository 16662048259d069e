//! How the manager is.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use edge_web::{Metrics, Problem, metrics_text};
use supervision::ActorTree;
use vm_actors::VmService;
use vm_actors::images::HostState;
use vm_core::wire;

use super::json;
use crate::auth::Reader;
use crate::state::VmState;

/// Tells how the manager is, what isolation its VMs have, and why. Needs no token.
#[utoipa::path(
    get, path = "/health", tag = "operation",
    responses((status = 200, description = "How it is.", body = wire::Health))
)]
pub(crate) async fn health(state: web::Data<VmState>) -> HttpResponse {
    let shared = &state.shared;
    let host = shared.images.host();
    let (ready, target, in_use) = VmService::pool_counts(shared);
    let status = match host.state {
        HostState::Failed(_) => wire::HealthStatus::Failed,
        HostState::Preparing(_) => wire::HealthStatus::Degraded,
        HostState::Ready if ready < target || state.desk.incarnation().is_none() => {
            wire::HealthStatus::Degraded
        }
        HostState::Ready => wire::HealthStatus::Ok,
    };
    let health = wire::Health {
        status,
        isolation: shared.driver.isolation(),
        driver: shared.driver.name(),
        kvm: host.kvm,
        pool: wire::PoolView {
            ready,
            target,
            in_use,
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    json(StatusCode::OK, &health)
}

/// `GET /metrics`, with a token.
pub(crate) async fn metrics(
    _caller: Reader,
    metrics: web::Data<Metrics>,
) -> Result<HttpResponse, Problem> {
    metrics_text(metrics).await
}

/// `GET /admin/actors`, with a token.
pub(crate) async fn actors(
    _caller: Reader,
    tree: web::Data<ActorTree>,
) -> Result<HttpResponse, Problem> {
    edge_web::actor_tree(async move { Ok(tree.snapshot()) }).await
}

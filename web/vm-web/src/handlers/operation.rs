//! How the manager is.

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use edge_web::{Metrics, Problem, metrics_text};
use supervision::ActorTree;
use vm_actors::images::HostState;
use vmm_api_core::{HealthStatus, ManagerHealth};

use super::json;
use crate::auth::ReadCaller;
use crate::state::VmWebState;

/// Tells how the manager is, what isolation its VMs have, and why. Needs no token.
#[utoipa::path(
    get, path = "/health", tag = "operation",
    responses((status = 200, description = "How it is.", body = ManagerHealth))
)]
pub(crate) async fn health(state: web::Data<VmWebState>) -> HttpResponse {
    let view = state.view.clone();
    let images = tokio::task::spawn_blocking(move || view.shared_images()).await;
    let host = state.view.host();
    let pool = state.view.pool();
    let preparing = match &host.state {
        HostState::Preparing(progress) => Some(progress.clone()),
        HostState::Ready | HostState::Failed(_) => None,
    };
    let status = match host.state {
        HostState::Failed(_) => HealthStatus::Failed,
        HostState::Preparing(_) => HealthStatus::Degraded,
        HostState::Ready if pool.ready < pool.target || state.scheduler.incarnation().is_none() => {
            HealthStatus::Degraded
        }
        HostState::Ready => HealthStatus::Ok,
    };
    let health = ManagerHealth {
        status,
        preparing,
        isolation: state.view.isolation(),
        driver: state.view.driver().label().to_owned(),
        kvm: host.kvm,
        pool,
        capacity: Some(state.view.capacity()),
        images: images.ok().flatten(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    json(StatusCode::OK, &health)
}

/// `GET /metrics`, with a token.
pub(crate) async fn metrics(
    _caller: ReadCaller,
    metrics: web::Data<Metrics>,
) -> Result<HttpResponse, Problem> {
    metrics_text(metrics).await
}

/// `GET /admin/actors`, with a token.
pub(crate) async fn actors(
    _caller: ReadCaller,
    tree: web::Data<ActorTree>,
) -> Result<HttpResponse, Problem> {
    edge_web::actor_tree(async move { Ok(tree.snapshot()) }).await
}

/// `GET /admin/actors/events`, with a token.
pub(crate) async fn actor_changes(
    _caller: ReadCaller,
    tree: web::Data<ActorTree>,
) -> Result<HttpResponse, Problem> {
    edge_web::actor_events(&tree)
}

//! The hosts that agents' VMs are asked of: how they are, and taking one out of use.

use actix_web::{HttpResponse, web};
use edge_web::{CordonQuery, Problem, host_named, host_stored};
use orchestrator_actors::VmHostView;

use crate::state::WebState;

/// The hosts of VMs.
#[utoipa::path(get, path = "/admin/vm-hosts", tag = "admin",
    responses((status = 200, description = "All of them, as they are configured.", body = Vec<VmHostView>)))]
pub(crate) async fn list(state: web::Data<WebState>) -> HttpResponse {
    HttpResponse::Ok().json(state.view.vm_hosts().list())
}

/// From now on a host takes no new runs; those that have a VM there go on. It stays so over
/// restarts.
#[utoipa::path(post, path = "/admin/vm-hosts/{name}/cordon", tag = "admin",
    params(("name" = String, Path, description = "The host"), CordonQuery),
    responses((status = 200, description = "The host now.", body = VmHostView), (status = 404, description = "No such host.")))]
pub(crate) async fn cordon(
    state: web::Data<WebState>,
    name: web::Path<String>,
    query: web::Query<CordonQuery>,
) -> Result<HttpResponse, Problem> {
    let (hosts, index) = host_named(state.view.vm_hosts(), &name)?;
    host_stored(hosts.cordon(index, caller_name(&query)).await)?;
    Ok(HttpResponse::Ok().json(hosts.show(index)))
}

/// A host takes new runs again.
#[utoipa::path(delete, path = "/admin/vm-hosts/{name}/cordon", tag = "admin",
    params(("name" = String, Path, description = "The host"), CordonQuery),
    responses((status = 200, description = "The host now.", body = VmHostView), (status = 404, description = "No such host.")))]
pub(crate) async fn uncordon(
    state: web::Data<WebState>,
    name: web::Path<String>,
    query: web::Query<CordonQuery>,
) -> Result<HttpResponse, Problem> {
    let (hosts, index) = host_named(state.view.vm_hosts(), &name)?;
    host_stored(hosts.uncordon(index, caller_name(&query)).await)?;
    Ok(HttpResponse::Ok().json(hosts.show(index)))
}

fn caller_name(query: &CordonQuery) -> &str {
    query.by.as_deref().unwrap_or("operator")
}

//! The hosts of VMs: which there are and how they are, and taking one out of use.

use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{CordonQuery, Problem, host_named, host_stored};
use runner_actors::{VmHostView, VmHosts};
use serde::Serialize;
use utoipa::ToSchema;

use crate::shell;
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// A host that is drained.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Drained)]
pub(crate) struct DrainResponse {
    /// The host now.
    #[serde(flatten)]
    host: VmHostView,
    /// Kept VMs there in which a shell is open.
    shells: usize,
}

/// The hosts of VMs.
#[utoipa::path(get, path = "/vm-hosts", operation_id = "vm_hosts", tag = "operation",
    responses((status = 200, body = Vec<VmHostView>, description = "All of them, as they are configured")))]
pub(crate) async fn list(state: State) -> HttpResponse {
    HttpResponse::Ok().json(state.view.vm_hosts().list())
}

/// From now on a host takes no new jobs; those that have a VM there go on. It stays so over
/// restarts. Only where an API token is configured.
#[utoipa::path(post, path = "/vm-hosts/{name}/cordon", operation_id = "cordon_vm_host", tag = "operation", params(("name" = String, Path, description = "The host's name"), CordonQuery),
    responses((status = 200, body = VmHostView, description = "The host now"), (status = 403, description = "No API token is configured"), (status = 404, description = "No such host")))]
pub(crate) async fn cordon(
    state: State,
    request: HttpRequest,
    name: web::Path<String>,
    query: web::Query<CordonQuery>,
) -> Result<HttpResponse, Problem> {
    let (hosts, index, by) = find_host(&state, &request, &name, &query)?;
    host_stored(hosts.cordon(index, &by).await)?;
    Ok(HttpResponse::Ok().json(hosts.show(index)))
}

/// A host takes new jobs again. Only where an API token is configured.
#[utoipa::path(delete, path = "/vm-hosts/{name}/cordon", operation_id = "uncordon_vm_host", tag = "operation", params(("name" = String, Path, description = "The host's name"), CordonQuery),
    responses((status = 200, body = VmHostView, description = "The host now"), (status = 403, description = "No API token is configured"), (status = 404, description = "No such host")))]
pub(crate) async fn uncordon(
    state: State,
    request: HttpRequest,
    name: web::Path<String>,
    query: web::Query<CordonQuery>,
) -> Result<HttpResponse, Problem> {
    let (hosts, index, by) = find_host(&state, &request, &name, &query)?;
    host_stored(hosts.uncordon(index, &by).await)?;
    Ok(HttpResponse::Ok().json(hosts.show(index)))
}

/// Cordons a host, and gives back the VMs of failed jobs that are kept there, but for those in
/// which a shell is open. It is empty once `jobs` and `shells` are 0. Only where an API token is
/// configured.
#[utoipa::path(post, path = "/vm-hosts/{name}/drain", operation_id = "drain_vm_host", tag = "operation", params(("name" = String, Path, description = "The host's name"), CordonQuery),
    responses((status = 200, body = DrainResponse, description = "The host now"), (status = 403, description = "No API token is configured"), (status = 404, description = "No such host")))]
pub(crate) async fn drain(
    state: State,
    request: HttpRequest,
    name: web::Path<String>,
    query: web::Query<CordonQuery>,
) -> Result<HttpResponse, Problem> {
    let (hosts, index, by) = find_host(&state, &request, &name, &query)?;
    host_stored(hosts.cordon(index, &by).await)?;
    let shells = state.view.kept().release_host(&name, &by).await;
    let host = hosts.show(index);
    Ok(HttpResponse::Ok().json(DrainResponse { host, shells }))
}

fn find_host<'a>(
    state: &'a RunnerState,
    request: &HttpRequest,
    name: &str,
    query: &CordonQuery,
) -> Result<(&'a VmHosts, usize, String), Problem> {
    let by = shell::identify_caller(state, request, query.by.as_deref())?;
    let (hosts, index) = host_named(state.view.vm_hosts(), name)?;
    Ok((hosts, index, by))
}

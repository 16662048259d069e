//! The hosts that agents' VMs are asked of: how they are, and taking one out of use.

use actix_web::{HttpResponse, web};
use edge_web::Problem;
use orchestrator_actors::{VmHostView, VmHosts};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::state::WebState;

/// Who takes a host out of use.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct CordonQuery {
    /// Who asks, for the record.
    by: Option<String>,
}

impl CordonQuery {
    fn by(&self) -> &str {
        self.by.as_deref().unwrap_or("operator")
    }
}

/// The hosts of VMs.
#[utoipa::path(get, path = "/admin/vm-hosts", tag = "admin",
    responses((status = 200, description = "All of them, as they are configured.", body = Vec<VmHostView>)))]
pub(crate) async fn list(state: web::Data<WebState>) -> HttpResponse {
    let hosts = state.view.vm_hosts().map(VmHosts::list);
    HttpResponse::Ok().json(hosts.unwrap_or_default())
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
    let (hosts, index) = meant(&state, &name)?;
    stored(hosts.cordon(index, query.by()).await)?;
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
    let (hosts, index) = meant(&state, &name)?;
    stored(hosts.uncordon(index, query.by()).await)?;
    Ok(HttpResponse::Ok().json(hosts.show(index)))
}

fn meant<'a>(state: &'a WebState, name: &str) -> Result<(&'a VmHosts, usize), Problem> {
    let hosts = state.view.vm_hosts();
    let found = hosts.and_then(|hosts| Some((hosts, hosts.named(name)?)));
    found.ok_or_else(|| {
        let names = hosts.into_iter().flat_map(VmHosts::list);
        let names: Vec<String> = names.map(|host| host.name).collect();
        Problem::not_found(match names.is_empty() {
            true => "there are no hosts of VMs: `[vm_hosts]` names none".to_owned(),
            false => format!("no VM host has this name; there are: {}", names.join(", ")),
        })
    })
}

fn stored(result: Result<(), store::StoreError>) -> Result<(), Problem> {
    result.map_err(|error| Problem::unavailable(format!("it cannot be stored now: {error}"), 5))
}

//! Taking hosts of VMs out of use over HTTP.

use cluster_actors::vm_hosts::VmHosts;
use serde::Deserialize;
use store::StoreError;
use utoipa::IntoParams;

use crate::problem::Problem;

/// Who takes a host out of use.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CordonQuery {
    /// Who asks, for the record.
    pub by: Option<String>,
}

/// The host of this name.
///
/// # Errors
/// 404, with the names that there are.
pub fn host_named<'a>(hosts: &'a VmHosts, name: &str) -> Result<(&'a VmHosts, usize), Problem> {
    let found = hosts.named(name).map(|index| (hosts, index));
    found.ok_or_else(|| {
        let names = hosts.answering().into_iter();
        let names: Vec<String> = names.map(|(name, _)| name).collect();
        Problem::not_found(match names.is_empty() {
            true => "there are no hosts of VMs: `[vm_hosts]` names none".to_owned(),
            false => format!("no VM host has this name; there are: {}", names.join(", ")),
        })
    })
}

/// What is to be written down of a host.
///
/// # Errors
/// 503 where it was not.
pub fn host_stored(result: Result<(), StoreError>) -> Result<(), Problem> {
    result.map_err(|error| Problem::unavailable(format!("it cannot be stored now: {error}"), 5))
}

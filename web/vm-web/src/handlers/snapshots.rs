//! Snapshots of a VM: taken, listed, gone back to, forgotten.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use edge_web::{ApiJson, Problem};
use supervision::{AskError, ChildRef};
use vm_actors::messages::{ForgetSnapshot, RestoreSnapshot, TakeSnapshot, VmFailure};
use vm_actors::{SNAPSHOT_TIMEOUT, Vm};
use vm_core::SnapshotName;
use vmm_api_core::{NewSnapshot, SnapshotView};

use super::json;
use crate::auth::{ReadCaller, WriteCaller};
use crate::problems::{of_ask, of_vm};
use crate::state::VmWebState;

/// Longer than taking one, or going back to it, may take.
const TIMEOUT: Duration = SNAPSHOT_TIMEOUT.saturating_add(Duration::from_secs(60));

/// Keeps memory and disk of a VM as they are, to go back to. It stands still meanwhile. Only while
/// nothing runs in it, no files are on their way and no program has a connection open.
#[utoipa::path(
    post, path = "/vms/{id}/snapshots", tag = "vms", operation_id = "take_snapshot", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    request_body = NewSnapshot,
    responses(
        (status = 201, description = "It was taken.", body = SnapshotView),
        (status = 200, description = "There is one of this name already.", body = SnapshotView),
        (status = 409, description = "Something is under way in the VM, it has as many as it may, or its driver cannot."),
        (status = 503, description = "The host's disk has no room for it."),
    )
)]
pub(crate) async fn take(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
    body: ApiJson<NewSnapshot>,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let NewSnapshot { name } = body.0;
    let taken = actor.ask_within(TakeSnapshot { name }, TIMEOUT).await;
    let taken = taken.map_err(|error| of_ask(&error))?;
    let (view, is_new) = taken.map_err(|failure| of_vm(&failure))?;
    let status = if is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    Ok(json(status, &view))
}

/// Lists the snapshots of a VM, the oldest first.
#[utoipa::path(
    get, path = "/vms/{id}/snapshots", tag = "vms", operation_id = "list_snapshots", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    responses((status = 200, description = "What it can go back to.", body = Vec<SnapshotView>))
)]
pub(crate) async fn list(
    caller: ReadCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let vm = state.vm(&id, &caller.0)?;
    Ok(json(StatusCode::OK, &vm.entry.snapshots()))
}

/// Lets a VM be as it was at a snapshot, with the host's time; it runs afterwards. Only while
/// nothing runs in it.
#[utoipa::path(
    post, path = "/vms/{id}/snapshots/{name}/restore", tag = "vms", operation_id = "restore_snapshot", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), ("name" = String, Path, description = "The snapshot")),
    responses(
        (status = 204, description = "It runs from there."),
        (status = 404, description = "There is no such snapshot."),
        (status = 409, description = "Something is under way in the VM, or it has ended."),
    )
)]
pub(crate) async fn restore(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let ask = async |vm: ChildRef<Vm>, name| vm.ask_within(RestoreSnapshot { name }, TIMEOUT).await;
    change_snapshot(&caller, &state, &path, ask).await
}

/// Forgets a snapshot of a VM. That there is none is no error.
#[utoipa::path(
    delete, path = "/vms/{id}/snapshots/{name}", tag = "vms", operation_id = "forget_snapshot", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), ("name" = String, Path, description = "The snapshot")),
    responses((status = 204, description = "There is none of this name."), (status = 409, description = "The VM has ended."))
)]
pub(crate) async fn forget(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    path: web::Path<(String, String)>,
) -> Result<HttpResponse, Problem> {
    let ask = async |vm: ChildRef<Vm>, name| vm.ask_within(ForgetSnapshot { name }, TIMEOUT).await;
    change_snapshot(&caller, &state, &path, ask).await
}

/// Has the VM's actor do something with one of its snapshots.
async fn change_snapshot(
    caller: &WriteCaller,
    state: &VmWebState,
    (id, name): &(String, String),
    ask: impl AsyncFnOnce(ChildRef<Vm>, SnapshotName) -> Result<Result<(), VmFailure>, AskError>,
) -> Result<HttpResponse, Problem> {
    let vm = state.actor(id, &caller.0)?;
    let answer = ask(vm, named(name)?).await;
    answer
        .map_err(|error| of_ask(&error))?
        .map_err(|failure| of_vm(&failure))?;
    Ok(HttpResponse::NoContent().finish())
}

/// What is no name at all is the name of no snapshot.
fn named(name: &str) -> Result<SnapshotName, Problem> {
    name.parse()
        .map_err(|error: vm_core::VmmIdError| Problem::not_found(error.to_string()))
}

//! VMs: given out, listed, held longer, released.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use edge_web::{ApiJson, FieldError, Problem};
use supervision::AskError;
use vm_actors::PROMPT_TIMEOUT;
use vm_actors::keys::{IdempotencyKey, MAX_KEY};
use vm_actors::messages::{
    CreateVm, ExtendLease, PauseVm, ReleaseStuck, ReleaseVm, ReleasedVms, ResumeVm,
};
use vm_core::{LeaseError, VmSpec};
use vmm_api_core::{
    AllocationView, LeaseRequest, LeaseView, NewVm, PauseRequest, ReleasedVm, ReleasedVmList,
    VmView,
};

use super::json;
use crate::auth::{ReadCaller, WriteCaller};
use crate::problems::{of_ask, of_create, of_vm};
use crate::state::{VmWebState, running};

/// Longer than a VM may take to stand still or to go on.
const PAUSE_TIMEOUT: Duration = Duration::from_secs(60);

/// Longer than a VM's boot, in which it cannot be ended, and its kill.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(60);

/// Lists the VMs that are given out.
#[utoipa::path(
    get, path = "/vms", tag = "vms", security(("token" = [])),
    responses((status = 200, description = "All VMs the caller sees, by id.", body = Vec<VmView>))
)]
pub(crate) async fn list(caller: ReadCaller, state: web::Data<VmWebState>) -> HttpResponse {
    let vms = state.view.vms().into_iter();
    let seen = vms.filter(|vm| caller.0.sees(&vm.entry.subject));
    let views: Vec<VmView> = seen.map(|vm| vm.entry.view()).collect();
    json(StatusCode::OK, &views)
}

/// Gives out a VM: it is ready when the answer comes. Sent again with the same `Idempotency-Key`,
/// the same VM is the answer.
#[utoipa::path(
    post, path = "/vms", tag = "vms", security(("token" = [])), request_body = NewVm,
    params(("Idempotency-Key" = Option<String>, Header, description = "Tells an order sent twice from two orders; at most 200 visible characters.")),
    responses(
        (status = 201, description = "The VM is ready.", body = AllocationView),
        (status = 409, description = "Less isolation than asked for is all there is."),
        (status = 410, description = "The VM of this Idempotency-Key has ended."),
        (status = 422, description = "Outside of the limits, an unknown image, a network that is not allowed, or a key that was used for another order."),
        (status = 502, description = "The VM did not start."),
        (status = 503, description = "No room, or the image is being made; `Retry-After` says when to come again."),
    )
)]
pub(crate) async fn create(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    request: HttpRequest,
    body: ApiJson<NewVm>,
) -> Result<HttpResponse, Problem> {
    let subject = caller.0.subject;
    let spec = VmSpec::from(body.0);
    let key = request_key(&request, &subject, &spec)?;
    let create = CreateVm { spec, subject, key };
    let answer = state.scheduler.ask(create).await;
    let created = answer.map_err(|error| of_ask(&error))?.map_err(of_create)?;
    let allocated = AllocationView {
        id: created.id.to_string(),
        state: created.state.label().to_owned(),
        source: created.source,
        isolation: Some(created.isolation),
        lease_until: Some(created.lease_until),
        alloc_ms: u64::try_from(created.took.as_millis()).unwrap_or(u64::MAX),
    };
    Ok(json(StatusCode::CREATED, &allocated))
}

fn request_key(
    request: &HttpRequest,
    subject: &str,
    spec: &VmSpec,
) -> Result<Option<IdempotencyKey>, Problem> {
    let Some(value) = request.headers().get("idempotency-key") else {
        return Ok(None);
    };
    let key = value.to_str().unwrap_or_default().trim();
    if key.is_empty() || key.len() > MAX_KEY {
        let detail = format!("the Idempotency-Key must have 1 to {MAX_KEY} visible characters");
        let field = FieldError::new("Idempotency-Key", detail.clone());
        return Err(Problem::unprocessable(detail, vec![field]));
    }
    // With every default written out: `{}` is the same request as one that names them.
    let body = serde_json::to_vec(&NewVm::from(spec)).map_err(|_| Problem::internal())?;
    Ok(Some(IdempotencyKey {
        subject: subject.to_owned(),
        key: key.to_owned(),
        digest: *blake3::hash(&body).as_bytes(),
    }))
}

/// Shows one VM.
#[utoipa::path(
    get, path = "/vms/{id}", tag = "vms", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    responses((status = 200, description = "The VM.", body = VmView), (status = 404, description = "There is none, or it is somebody else's."))
)]
pub(crate) async fn show(
    caller: ReadCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let vm = state.vm(&id, &caller.0)?;
    Ok(json(StatusCode::OK, &vm.entry.view()))
}

/// Releases a VM: nothing of it is left when the answer comes. One that is gone is no error.
#[utoipa::path(
    delete, path = "/vms/{id}", tag = "vms", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    responses((status = 204, description = "It is gone."))
)]
pub(crate) async fn release(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let Ok(vm) = state.vm(&id, &caller.0) else {
        return Ok(HttpResponse::NoContent().finish());
    };
    let actor = running(vm)?;
    match actor
        .ask_within(ReleaseVm { reason: None }, RELEASE_TIMEOUT)
        .await
    {
        // Its actor ends with it, and may do so before this question.
        Ok(()) | Err(AskError::Unavailable { .. } | AskError::NoReply { .. }) => {
            Ok(HttpResponse::NoContent().finish())
        }
        Err(error) => Err(of_ask(&error)),
    }
}

/// Releases what is stuck: lease over, boot over its deadline, guest silent, process gone. Without
/// the scope `vms:admin` only the caller's own.
#[utoipa::path(
    delete, path = "/vms/stuck", tag = "vms", security(("token" = [])),
    responses((status = 200, description = "What was released and why, and how many are fine.", body = ReleasedVmList))
)]
pub(crate) async fn release_stuck(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
) -> Result<HttpResponse, Problem> {
    let subject = caller.0.only();
    let released = state
        .scheduler
        .ask_within(ReleaseStuck { subject }, RELEASE_TIMEOUT)
        .await;
    let ReleasedVms { released, kept } = released.map_err(|error| of_ask(&error))?;
    let released = released.into_iter().map(|(id, reason)| ReleasedVm {
        id: id.to_string(),
        reason: reason.label().to_owned(),
    });
    let released = ReleasedVmList {
        released: released.collect(),
        kept,
    };
    Ok(json(StatusCode::OK, &released))
}

/// Holds a VM longer: so many seconds from now on.
#[utoipa::path(
    post, path = "/vms/{id}/lease", tag = "vms", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    request_body = LeaseRequest,
    responses((status = 200, description = "When the lease ends now.", body = LeaseView), (status = 409, description = "It is over, or as long as any may be."))
)]
pub(crate) async fn lease(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
    body: ApiJson<LeaseRequest>,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let lease = Duration::from_secs(body.0.lease_s);
    let extended = actor
        .ask_within(ExtendLease { lease }, PROMPT_TIMEOUT)
        .await;
    let lease_until = extended
        .map_err(|error| of_ask(&error))?
        .map_err(|error| match error {
            LeaseError::Zero => {
                let field = FieldError::new("lease_s", error.to_string());
                Problem::unprocessable(error.to_string(), vec![field])
            }
            LeaseError::Over { .. } | LeaseError::Exhausted { .. } => {
                Problem::conflict(error.to_string())
            }
        })?;
    Ok(json(StatusCode::OK, &LeaseView { lease_until }))
}

/// Lets a VM stand still: it keeps its memory and its lease, uses no processor time, and takes no
/// work. With `reclaimable` it may be ended when others need its room. One that is paused already
/// is no error.
#[utoipa::path(
    post, path = "/vms/{id}/pause", tag = "vms", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    request_body = PauseRequest,
    responses((status = 204, description = "It stands still."), (status = 409, description = "Something runs in it, or its driver cannot."))
)]
pub(crate) async fn pause(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
    body: ApiJson<PauseRequest>,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let reclaimable = body.0.reclaimable;
    let paused = actor
        .ask_within(PauseVm { reclaimable }, PAUSE_TIMEOUT)
        .await;
    paused
        .map_err(|error| of_ask(&error))?
        .map_err(|failure| of_vm(&failure))?;
    Ok(HttpResponse::NoContent().finish())
}

/// Lets a VM go on, with the host's time. One that is not paused is no error.
#[utoipa::path(
    post, path = "/vms/{id}/resume", tag = "vms", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    responses((status = 204, description = "It runs."), (status = 409, description = "It has ended."))
)]
pub(crate) async fn resume(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let resumed = actor.ask_within(ResumeVm, PAUSE_TIMEOUT).await;
    resumed
        .map_err(|error| of_ask(&error))?
        .map_err(|failure| of_vm(&failure))?;
    Ok(HttpResponse::NoContent().finish())
}

//! Commands: started, followed, killed.

use std::time::Duration;

use actix_web::http::{StatusCode, header};
use actix_web::{HttpResponse, web};
use edge_web::{ApiJson, FieldError, Problem};
use serde::Deserialize;
use utoipa::IntoParams;
use vm_actors::ExecRecord;
use vm_actors::messages::{KillExec, StartExec};
use vm_core::{ExecError, ExecId, ExecSpec};
use vmm_api_core::{Chunk, ExecReport, ExecStarted, NewExec};

use super::json;
use crate::auth::{Caller, ReadCaller, WriteCaller};
use crate::follow;
use crate::problems::{of_ask, of_vm};
use crate::state::VmWebState;

/// How long a guest may take to begin, or to hear of the end of, a command.
const GUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time that a command may have to clean up.
const MAX_GRACE: Duration = Duration::from_secs(60);

/// What `GET /vms/{id}/exec/{eid}` takes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct FollowQuery {
    /// `1`: output as it comes, then how it ended.
    follow: Option<String>,
}

/// Runs something in a VM.
#[utoipa::path(
    post, path = "/vms/{id}/exec", tag = "exec", security(("token" = [])), params(("id" = String, Path, description = "A VM's id")),
    request_body = NewExec,
    responses((status = 202, description = "It was started.", body = ExecStarted), (status = 409, description = "The VM takes no work."))
)]
pub(crate) async fn start(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
    body: ApiJson<NewExec>,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let spec = ExecSpec::try_from(body.0).map_err(|error| {
        let field = FieldError::new(field(&error), error.to_string());
        Problem::unprocessable(error.to_string(), vec![field])
    })?;
    let started = actor.ask_within(StartExec(spec), GUEST_TIMEOUT).await;
    let started = started.map_err(|error| of_ask(&error))?;
    let exec_id = started.map_err(|failure| of_vm(&failure))?;
    Ok(json(
        StatusCode::ACCEPTED,
        &ExecStarted {
            exec_id: exec_id.to_string(),
        },
    ))
}

fn field(error: &ExecError) -> &'static str {
    match error {
        ExecError::ScriptOrArgv | ExecError::TooLarge { .. } => "script",
        ExecError::NoProgram => "argv",
        ExecError::Shell(_) => "shell",
        ExecError::Cwd(_) => "cwd",
        ExecError::EnvName(_) => "env",
        ExecError::Nul(field) => field,
        ExecError::Timeout { .. } => "timeout_ms",
        ExecError::Terminal => "terminal",
    }
}

/// Shows how something stands, or with `follow=1` its output from the beginning, as it comes.
#[utoipa::path(
    get, path = "/vms/{id}/exec/{eid}", tag = "exec", operation_id = "show_exec", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), ("eid" = String, Path, description = "What was started"), FollowQuery),
    responses(
        (status = 200, description = "Without `follow`: the state. With it: lines of JSON, of which the last is the state.",
            content((ExecReport = "application/json"), (Chunk = "application/x-ndjson"))),
        (status = 404, description = "Nothing of this id was started there."),
    )
)]
pub(crate) async fn show(
    caller: ReadCaller,
    state: web::Data<VmWebState>,
    path: web::Path<(String, String)>,
    query: web::Query<FollowQuery>,
) -> Result<HttpResponse, Problem> {
    let (vm, exec) = path.into_inner();
    let record = find(&state, &caller.0, &vm, &exec)?;
    match query.follow.as_deref() {
        None | Some("0" | "false") => Ok(json(StatusCode::OK, &record.view())),
        Some("1" | "true") => Ok(HttpResponse::Ok()
            .insert_header((header::CONTENT_TYPE, "application/x-ndjson"))
            .insert_header((header::CACHE_CONTROL, "no-store"))
            .streaming(follow::lines(record))),
        Some(_) => {
            let field = FieldError::new("follow", "expected `0` or `1`");
            Err(Problem::unprocessable(
                "follow: expected `0` or `1`",
                vec![field],
            ))
        }
    }
}

pub(super) fn find(
    state: &VmWebState,
    caller: &Caller,
    vm: &str,
    exec: &str,
) -> Result<std::sync::Arc<ExecRecord>, Problem> {
    let vm = state.vm(vm, caller)?;
    let id = exec.parse::<ExecId>().ok();
    let record = id.and_then(|id| vm.entry.exec(&id));
    record.ok_or_else(|| Problem::not_found("nothing with this id was started in the VM"))
}

/// What `DELETE /vms/{id}/exec/{eid}` takes.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct KillQuery {
    /// Milliseconds, 60,000 at most, in which it may clean up: it gets SIGINT, and SIGTERM after
    /// three quarters of them. Without it, it is killed at once.
    grace_ms: Option<u32>,
}

impl KillQuery {
    fn grace(&self) -> Result<Duration, Problem> {
        let grace = Duration::from_millis(self.grace_ms.unwrap_or(0).into());
        if grace <= MAX_GRACE {
            return Ok(grace);
        }
        let why = "at most 60000";
        let field = FieldError::new("grace_ms", why);
        Err(Problem::unprocessable(
            format!("grace_ms: {why}"),
            vec![field],
        ))
    }
}

/// Kills all that a command has started. One that has ended is no error.
#[utoipa::path(
    delete, path = "/vms/{id}/exec/{eid}", tag = "exec", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), ("eid" = String, Path, description = "What was started"), KillQuery),
    responses((status = 204, description = "The VM was told."), (status = 404, description = "Nothing of this id was started there."), (status = 422, description = "The time to clean up is too long."))
)]
pub(crate) async fn kill(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    path: web::Path<(String, String)>,
    query: web::Query<KillQuery>,
) -> Result<HttpResponse, Problem> {
    let (vm, exec) = path.into_inner();
    let record = find(&state, &caller.0, &vm, &exec)?;
    let grace = query.grace()?;
    let actor = state.actor(&vm, &caller.0)?;
    let kill = KillExec {
        exec: record.id.clone(),
        grace,
    };
    let killed = actor.ask_within(kill, GUEST_TIMEOUT).await;
    killed
        .map_err(|error| of_ask(&error))?
        .map_err(|failure| of_vm(&failure))?;
    Ok(HttpResponse::NoContent().finish())
}

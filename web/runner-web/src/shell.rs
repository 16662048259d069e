//! Shells in kept VMs: which VMs are kept, a terminal in one as a WebSocket, and giving one back.
//!
//! ```text
//! client ──binary: what is typed, text: TerminalCommand──▶ runner ──the same──▶ VM manager
//! client ◀─binary: output, text: TerminalEvent──────────── runner ◀─the same── VM manager
//! ```

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use actix_ws::{MessageStream, Session};
use edge_web::relay::{PassOptions, pass_frames};
use edge_web::{ConcurrencyLimit, Problem};
use http_clients::vmm::{TerminalEvent, TerminalSize, VmmError};
use runner_actors::{KeptVmView, KeptVms, OpenShell, ShellOpenError, ShellRequest};
use serde::Deserialize;
use tokio::sync::watch;
use utoipa::IntoParams;

use crate::problems::find;
use crate::state::RunnerState;

type State = web::Data<RunnerState>;

/// The subprotocol: what a page names beside the one that carries its token (`bearer.…`), so that
/// the answer has one to name.
const PROTOCOL: &str = "orrery";
/// Shells at once.
const CONNECTIONS: usize = 32;
/// Largest message.
const MESSAGE_BYTES: usize = 64 << 10;
/// How long one side may take nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(600);
/// Longest name of who opens a shell, in characters.
const MAX_NAME: usize = 100;

/// How many shells may be open at once; shared by the workers.
#[derive(Debug, Clone)]
pub(crate) struct ShellGate(ConcurrencyLimit);

impl Default for ShellGate {
    fn default() -> Self {
        Self(ConcurrencyLimit::new(CONNECTIONS, 5))
    }
}

/// Whose VM.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseQuery {
    /// The job's name or key; the only one that is kept without it.
    job: Option<String>,
    /// Who asks, for the run's log.
    by: Option<String>,
}

/// Where a shell is opened.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellQuery {
    /// The job's name or key; the only one that is kept without it.
    job: Option<String>,
    /// As it was before this step, by its number: what was done in the VM since is lost.
    before_step: Option<u32>,
    /// Columns of the terminal; 80 without it.
    columns: Option<u16>,
    /// Rows of the terminal; 24 without it.
    rows: Option<u16>,
    /// Who opens it, for the run's log: whoever has the API token may, whatever name they give.
    by: Option<String>,
}

/// The VMs of failed jobs that are kept.
#[utoipa::path(get, path = "/runs/kept", tag = "runs",
    responses((status = 200, body = Vec<KeptVmView>, description = "All of them, the oldest first")))]
pub(crate) async fn kept(state: State) -> HttpResponse {
    HttpResponse::Ok().json(state.view.kept().list(None))
}

/// The VMs of a run's failed jobs that are kept.
#[utoipa::path(get, path = "/runs/{id}/kept", tag = "runs", params(("id" = String, Path, description = "The run's id")),
    responses((status = 200, body = Vec<KeptVmView>, description = "Those that are kept now"), (status = 404, description = "No such run")))]
pub(crate) async fn kept_of_run(
    state: State,
    id: web::Path<String>,
) -> Result<HttpResponse, Problem> {
    let record = find(&state.view, &id).await?;
    let kept: Vec<KeptVmView> = state.view.kept().list(Some(&record.id));
    Ok(HttpResponse::Ok().json(kept))
}

/// Gives a kept VM back now. Only where an API token is configured.
#[utoipa::path(delete, path = "/runs/{id}/kept", tag = "runs", params(("id" = String, Path, description = "The run's id"), ReleaseQuery),
    responses((status = 204, description = "It is given back"), (status = 403, description = "No API token is configured"), (status = 404, description = "None is kept"), (status = 409, description = "Several are kept, and none is named")))]
pub(crate) async fn release(
    state: State,
    request: HttpRequest,
    id: web::Path<String>,
    query: web::Query<ReleaseQuery>,
) -> Result<HttpResponse, Problem> {
    let by = identify_caller(&state, &request, query.by.as_deref())?;
    let released = state
        .view
        .kept()
        .release(&id, query.job.as_deref(), &by)
        .await;
    released.map_err(|error| of_shell(&error))?;
    Ok(HttpResponse::NoContent().finish())
}

/// A shell in the VM of a failed job that is kept, as a WebSocket: binary messages are what is
/// typed and what is shown, text messages are JSON: `{"resize": {"columns": 80, "rows": 24}}` to
/// it, `{"dropped": 4096}` and at last `{"ended": {"exit_code": 0, …}}` from it. Only where an API
/// token is configured; the run's log says who has opened it.
#[utoipa::path(get, path = "/runs/{id}/shell", tag = "runs", params(("id" = String, Path, description = "The run's id"), ShellQuery),
    responses((status = 101, description = "Messages both ways", body = TerminalEvent), (status = 400, description = "No WebSocket"), (status = 403, description = "No API token is configured"),
        (status = 404, description = "No VM of this job is kept"), (status = 409, description = "Several are kept and none is named, or it is gone"), (status = 503, description = "As many shells as may be are open")))]
pub(crate) async fn open(
    state: State,
    gate: web::Data<ShellGate>,
    id: web::Path<String>,
    query: web::Query<ShellQuery>,
    request: HttpRequest,
    body: web::Payload,
) -> Result<HttpResponse, Problem> {
    let by = identify_caller(&state, &request, query.by.as_deref())?;
    let size = TerminalSize {
        columns: query.columns.unwrap_or(TerminalSize::USUAL.columns),
        rows: query.rows.unwrap_or(TerminalSize::USUAL.rows),
    };
    if !size.is_valid() {
        return Err(Problem::bad_request(
            "a terminal has 1 to 1000 columns and rows",
        ));
    }
    let kept: &KeptVms = state.view.kept();
    let shell = ShellRequest {
        run: id.into_inner(),
        job: query.job.clone(),
        before_step: query.before_step,
        size,
        by,
    };
    kept.check(&shell).map_err(|error| of_shell(&error))?;
    if !request.headers().contains_key("sec-websocket-key") {
        return Err(Problem::bad_request("this path speaks WebSocket only"));
    }
    let permit = gate.0.try_acquire()?;
    let opened = kept.open(shell);
    let shell = opened.await.map_err(|error| of_shell(&error))?;
    let upgraded = actix_ws::handle_with_protocols(&request, body, &[PROTOCOL]);
    let (response, session, messages) = match upgraded {
        Ok(upgraded) => upgraded,
        Err(error) => {
            shell.closing.close().await;
            return Err(Problem::bad_request(format!(
                "this path speaks WebSocket only: {error}"
            )));
        }
    };
    let messages = messages.max_frame_size(MESSAGE_BYTES);
    actix_web::rt::spawn(async move {
        pass(shell, session, messages).await;
        drop(permit);
    });
    Ok(response)
}

/// Who asks, for the record; nobody where everybody may.
pub(crate) fn identify_caller(
    state: &RunnerState,
    request: &HttpRequest,
    by: Option<&str>,
) -> Result<String, Problem> {
    if !state.has_token {
        return Err(Problem::forbidden(
            "set WORKFLOW_RUNNER_API_TOKEN: whoever may do this must be known",
        ));
    }
    let name = by.unwrap_or("somebody with the API token").trim();
    if name.is_empty() || name.chars().count() > MAX_NAME || name.contains(char::is_control) {
        let text = format!("`by` has 1 to {MAX_NAME} characters in one line");
        return Err(Problem::bad_request(text));
    }
    let from = request.peer_addr();
    let from = from.map_or_else(String::new, |peer| format!(" from {}", peer.ip()));
    Ok(format!("{name}{from}"))
}

fn of_shell(error: &ShellOpenError) -> Problem {
    let detail = error.to_string();
    match error {
        ShellOpenError::NoRun(_) | ShellOpenError::NoVm { .. } => Problem::not_found(detail),
        ShellOpenError::Which(_) | ShellOpenError::NoSnapshot { .. } | ShellOpenError::InUse(_) => {
            Problem::conflict(detail)
        }
        ShellOpenError::Vmm(VmmError::NotFound(_)) => {
            Problem::conflict(format!("the kept VM is gone: {detail}"))
        }
        ShellOpenError::Vmm(VmmError::Full { .. }) => Problem::unavailable(detail, 5),
        ShellOpenError::Vmm(VmmError::Isolation(_)) => Problem::conflict(detail),
        ShellOpenError::Vmm(_) => Problem::new(StatusCode::BAD_GATEWAY, detail),
    }
}

/// Passes messages until one side has ended, or is too slow.
async fn pass(shell: OpenShell, session: Session, messages: MessageStream) {
    let OpenShell {
        sender,
        receiver,
        closing,
    } = shell;
    // The runner's end ends the VM, and the shell with it.
    let (_open, ending) = watch::channel(false);
    let options = PassOptions {
        write_timeout: WRITE_TIMEOUT,
        gone: "the shell is gone",
    };
    pass_frames((sender, receiver), session, messages, ending, options).await;
    closing.close().await;
}

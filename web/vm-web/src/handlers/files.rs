//! Files into a VM and out of it, as tars that are passed on as they come.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use edge_web::{FieldError, Problem};
use futures_util::{Stream, StreamExt as _, stream};
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::IntoParams;
use vm_actors::PROMPT_TIMEOUT;
use vm_actors::messages::{GetFiles, PutFiles, TarPart, VmFailure};
use vmm_api_core::FilesPut;

use super::json;
use crate::auth::{ReadCaller, WriteCaller};
use crate::problems::{of_ask, of_vm};
use crate::state::VmWebState;

/// The largest tar that is passed on, in bytes.
const MAX_TAR: u64 = 16 << 30;

/// The longest pause in a tar that comes.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Pieces on their way between the edge and the VM.
const PIECES: usize = 8;

/// The longest path in a VM.
const MAX_PATH: usize = 4096;

/// What both calls take.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilesQuery {
    /// A path in the VM; absolute.
    path: String,
}

impl FilesQuery {
    fn check(self) -> Result<String, Problem> {
        let climbs = self.path.split('/').any(|part| part == "..");
        if !self.path.starts_with('/')
            || self.path.len() > MAX_PATH
            || climbs
            || self.path.contains('\0')
        {
            let detail = "path must be absolute, without `..` and NUL, and have at most 4096 bytes";
            return Err(Problem::unprocessable(
                detail,
                vec![FieldError::new("path", detail)],
            ));
        }
        Ok(self.path)
    }
}

/// Unpacks a tar in a folder of the VM.
#[utoipa::path(
    put, path = "/vms/{id}/files", tag = "files", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), FilesQuery),
    request_body(content = Vec<u8>, content_type = "application/x-tar", description = "The tar, at most 16 GiB."),
    responses((status = 200, description = "What was unpacked.", body = FilesPut), (status = 422, description = "It is no tar, or would leave its folder."), (status = 507, description = "The VM's disk is full."))
)]
pub(crate) async fn put(
    caller: WriteCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
    query: web::Query<FilesQuery>,
    request: HttpRequest,
    payload: web::Payload,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let path = query.into_inner().check()?;
    check_head(request.headers())?;
    let (send, tar) = mpsc::channel(PIECES);
    // A transfer ends where nothing of it moves; one that moves may take as long as the VM is held.
    let longest = state.view.longest_hold() + PROMPT_TIMEOUT;
    let put = actor.ask_within(PutFiles { path, tar }, longest);
    // Both at once: the VM may refuse in the middle, and then nobody takes the rest.
    let (passed, put) = futures_util::future::join(pass_on(payload, send), put).await;
    let summary = match put.map_err(|error| of_ask(&error))? {
        Ok(summary) => summary,
        // Why it broke off is known here.
        Err(VmFailure::Upload(_)) if passed.is_err() => {
            return Err(passed.err().unwrap_or_else(Problem::internal));
        }
        Err(failure) => return Err(of_vm(&failure)),
    };
    passed?;
    let put = FilesPut {
        entries: summary.entries,
        bytes: summary.bytes,
    };
    Ok(json(StatusCode::OK, &put))
}

fn check_head(headers: &HeaderMap) -> Result<(), Problem> {
    if headers.contains_key(header::CONTENT_ENCODING) {
        return Err(Problem::unsupported_media_type(
            "send the tar as it is, without a content coding",
        ));
    }
    let length = headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok()?.trim().parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_TAR) {
        return Err(too_large());
    }
    Ok(())
}

fn too_large() -> Problem {
    Problem::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        "the tar is larger than the limit of 16 GiB",
    )
    .closing()
}

/// Passes the body on, piece by piece, with a word at its end.
async fn pass_on(mut payload: web::Payload, send: mpsc::Sender<TarPart>) -> Result<(), Problem> {
    let mut total = 0_u64;
    loop {
        let Ok(next) = tokio::time::timeout(IDLE_TIMEOUT, payload.next()).await else {
            return Err(Problem::request_timeout("the tar stood still for 30 s"));
        };
        let Some(piece) = next else { break };
        let piece = piece.map_err(|error| {
            Problem::bad_request(format!("the body could not be read: {error}")).closing()
        })?;
        total += piece.len() as u64;
        if total > MAX_TAR {
            return Err(too_large());
        }
        if send.send(TarPart::Data(piece)).await.is_err() {
            // The VM has refused, and says why.
            return Ok(());
        }
    }
    // As above.
    let _ = send.send(TarPart::End).await;
    Ok(())
}

/// Packs a file or folder of the VM.
#[utoipa::path(
    get, path = "/vms/{id}/files", tag = "files", security(("token" = [])),
    params(("id" = String, Path, description = "A VM's id"), FilesQuery),
    responses((status = 200, description = "A tar. A connection that breaks means that it is not whole.", content_type = "application/x-tar", body = Vec<u8>), (status = 404, description = "No such path."))
)]
pub(crate) async fn get(
    caller: ReadCaller,
    state: web::Data<VmWebState>,
    id: web::Path<String>,
    query: web::Query<FilesQuery>,
) -> Result<HttpResponse, Problem> {
    let actor = state.actor(&id, &caller.0)?;
    let path = query.into_inner().check()?;
    let (tar, mut parts) = mpsc::channel(PIECES);
    let begun = actor
        .ask_within(GetFiles { path, tar }, PROMPT_TIMEOUT)
        .await;
    begun
        .map_err(|error| of_ask(&error))?
        .map_err(|failure| of_vm(&failure))?;
    // The first word tells a path that is not there from one that is.
    let first = match parts.recv().await {
        Some(Ok(part)) => part,
        Some(Err(failure)) => return Err(of_vm(&failure)),
        None => return Err(Problem::bad_gateway("the VM ended meanwhile")),
    };
    Ok(HttpResponse::Ok()
        .insert_header((header::CONTENT_TYPE, "application/x-tar"))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .streaming(tar_stream(first, parts)))
}

/// The tar; it ends with an error, which breaks the connection, unless its end was said.
fn tar_stream(
    first: TarPart,
    parts: mpsc::Receiver<Result<TarPart, VmFailure>>,
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + 'static {
    stream::unfold((Some(Ok(first)), parts), |(next, mut parts)| async move {
        let part = match next {
            Some(part) => part,
            None => parts
                .recv()
                .await
                .unwrap_or_else(|| Err(VmFailure::Gone("the VM ended meanwhile".to_owned()))),
        };
        match part {
            Ok(TarPart::Data(bytes)) => Some((Ok(bytes), (None, parts))),
            Ok(TarPart::End) => None,
            Err(failure) => {
                tracing::warn!(event = "vm.files_broke_off", error = %failure);
                let error = std::io::Error::other(failure.to_string());
                Some((Err(error), (Some(Ok(TarPart::End)), parts)))
            }
        }
    })
}

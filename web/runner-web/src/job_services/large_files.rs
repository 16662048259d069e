//! Large files of git (Git LFS) for jobs. Files that come are on the disk until they are known to
//! be what they are called.

use std::path::PathBuf;

use actix_web::body::SizedStream;
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::{Method, StatusCode, header};
use actix_web::{HttpRequest, HttpResponse, web};
use futures_util::StreamExt as _;
use http_clients::forward::ForwardBody;
use http_clients::http::HttpClient;
use runner_actors::{GatewayRefusal, GitFolder, JobServices, LargeFileTurn};
use runner_core::gateway::{LARGE_FILES_TYPE, LargeFile};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

use super::bodies::{BODY_TIMEOUT, receive};
use super::passage::{ForgeWays, ForwardedChunks, pass_package, passed};
use crate::file_chunks::{FileChunks, stream_file};

/// Largest body that is no file.
const MAX_ASKED: usize = 1 << 20;

/// A request that shows this token, of a path behind the address of repositories; `own` is the
/// address that the job asks.
pub(super) async fn answer(
    request: &HttpRequest,
    payload: web::Payload,
    (token, path, own): (String, &str, &Url),
    (services, http, ways): (&JobServices, &HttpClient, &ForgeWays),
) -> HttpResponse {
    let method = request.method().as_str();
    let turn = services.large_file_turn(&token, method, path).await;
    let answered = match turn {
        Ok(LargeFileTurn::Read(passage)) => {
            return pass_package(request, payload, own, (ways, passage)).await;
        }
        Ok(LargeFileTurn::Write(file, folder, passage)) => {
            let come = come(payload, (file, folder), services).await;
            let (file, folder) = match come {
                Ok(come) => come,
                Err(refusal) => return refused(&refusal),
            };
            let chunks = chunks_of(folder.body());
            let body = ForwardBody::Sized(file.size, chunks);
            let kind = HeaderValue::from_static("application/octet-stream");
            let headers = [(header::CONTENT_TYPE, kind)].into_iter().collect();
            let answer = passed(&Method::PUT, headers, body, own, (ways, passage)).await;
            // It was read to its end when there is an answer.
            drop(folder);
            return answer;
        }
        Ok(LargeFileTurn::Fetch(file, folder, turn)) => {
            return fetched(&token, (file, folder), turn, services).await;
        }
        Ok(LargeFileTurn::Store(file, folder, turn)) => {
            let answer = stored(&token, payload, (file, folder), services).await;
            drop(turn);
            return answer;
        }
        Ok(turn) => match (payload.to_bytes_limited(MAX_ASKED).await, turn) {
            (Ok(Ok(body)), LargeFileTurn::Locks(call)) => {
                let asked = (&call, request.query_string(), body);
                services.large_file_locks(http, &token, asked).await
            }
            (Ok(Ok(body)), _) => {
                let at = place(request, own);
                let asked = (&*body, at.as_str());
                let answer = services.large_file_batch(http, &token, asked).await;
                answer.map(|answer| (200, answer))
            }
            _ => Err(GatewayRefusal {
                status: 413,
                message: format!("the body breaks off, or has more than {MAX_ASKED} bytes"),
            }),
        },
        Err(refusal) => Err(refusal),
    };
    match answered {
        Ok((status, answer)) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
            json_answer(status, &answer)
        }
        Err(refusal) => refused(&refusal),
    }
}

/// The address below which files are, as the job asks: `…/info/lfs`.
fn place(request: &HttpRequest, own: &Url) -> String {
    let path = request.uri().path();
    let end = path.find("/info/lfs/").unwrap_or_default();
    let origin = own.origin().ascii_serialization();
    format!("{origin}{}/info/lfs", &path[..end])
}

/// Gives a file that GitHub keeps elsewhere, once it is whole.
async fn fetched(
    token: &str,
    (file, folder): (LargeFile, GitFolder),
    turn: OwnedSemaphorePermit,
    services: &JobServices,
) -> HttpResponse {
    let fetched = services.fetch_large_file(token, (&file, &folder)).await;
    let checked = match fetched {
        Ok(()) => checked((file, folder), services).await,
        Err(refusal) => Err(refusal),
    };
    let (file, folder) = match checked {
        Ok(checked) => checked,
        Err(refusal) => return refused(&refusal),
    };
    let chunks = chunks_of(folder.body());
    // Both go with the answer.
    let kept = (folder, turn);
    let chunks = chunks.inspect(move |_| {
        let _ = &kept;
    });
    let mut response = HttpResponse::Ok();
    response.content_type("application/octet-stream");
    response.body(SizedStream::new(file.size, chunks))
}

/// Takes a file, and brings it to where GitHub keeps it.
async fn stored(
    token: &str,
    payload: web::Payload,
    of: (LargeFile, GitFolder),
    services: &JobServices,
) -> HttpResponse {
    let (file, folder) = match come(payload, of, services).await {
        Ok(come) => come,
        Err(refusal) => return refused(&refusal),
    };
    let chunks = chunks_of(folder.body());
    let stored = services.store_large_file(token, &file, chunks).await;
    // It was read to its end when there is an answer.
    drop(folder);
    match stored {
        Ok(()) => HttpResponse::Ok().finish(),
        Err(refusal) => refused(&refusal),
    }
}

/// Writes the file to the disk, and looks at it.
async fn come(
    payload: web::Payload,
    (file, folder): (LargeFile, GitFolder),
    services: &JobServices,
) -> Result<(LargeFile, GitFolder), GatewayRefusal> {
    let received = tokio::time::timeout(BODY_TIMEOUT, receive(&folder, payload, file.size));
    received.await.unwrap_or_else(|_| {
        Err(GatewayRefusal {
            status: 408,
            message: "the file takes too long".to_owned(),
        })
    })?;
    checked((file, folder), services).await
}

/// Whether it is the file that it is called.
async fn checked(
    (file, folder): (LargeFile, GitFolder),
    services: &JobServices,
) -> Result<(LargeFile, GitFolder), GatewayRefusal> {
    let services = services.clone();
    let checked = web::block(move || {
        let checked = services.check_large_file(&folder, &file);
        checked.map(|()| (file, folder))
    });
    checked.await.unwrap_or_else(|_| {
        Err(GatewayRefusal {
            status: 503,
            message: "the runner ends".to_owned(),
        })
    })
}

fn chunks_of(path: PathBuf) -> ForwardedChunks {
    Box::pin(stream_file(FileChunks { path, at: 0 }))
}

fn json_answer(status: StatusCode, answer: &Value) -> HttpResponse {
    let mut response = HttpResponse::build(status);
    response.content_type(LARGE_FILES_TYPE);
    if status == StatusCode::UNAUTHORIZED {
        let challenge = "Basic realm=\"token of the job\"";
        response.insert_header((header::WWW_AUTHENTICATE, challenge));
        response.insert_header((HeaderName::from_static("lfs-authenticate"), challenge));
    }
    response.body(answer.to_string())
}

fn refused(refusal: &GatewayRefusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
    json_answer(status, &json!({"message": refusal.message}))
}

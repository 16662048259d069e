//! git for jobs: its smart protocol over HTTP. Bodies go to the disk as they come.

use actix_web::http::StatusCode;
use actix_web::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_ENCODING, HOST, HeaderName, LOCATION,
};
use actix_web::{HttpRequest, HttpResponse, web};
use http_clients::http::HttpClient;
use runner_actors::{GatewayRefusal, GitAnswer, GitRequest, JobServices};
use runner_core::gateway::render_refusal;
use url::Url;

use super::bodies::{BODY_TIMEOUT, bad_request, receive};
use super::forge::token;
use super::large_files;
use super::passage::ForgeWays;
use crate::file_chunks::FileChunks;

/// Any request of git's for a repository.
pub(super) async fn call(
    request: HttpRequest,
    (services, http, ways): (
        web::Data<JobServices>,
        web::Data<HttpClient>,
        web::Data<ForgeWays>,
    ),
    payload: web::Payload,
) -> HttpResponse {
    let header = |name: HeaderName| request.headers().get(name)?.to_str().ok();
    let token = token(header(AUTHORIZATION).unwrap_or_default());
    let path = request.uri().path();
    let host = header(HOST).unwrap_or_default();
    if services.has_large_files(path)
        && let Ok(own) = Url::parse(&format!("http://{host}/"))
    {
        let asked = (token, path, &own);
        return large_files::answer(&request, payload, asked, (&services, &http, &ways)).await;
    }
    let asked = (token, path, request.uri().query());
    answer(&request, payload, asked, &services).await
}

/// A request that shows this token, of a path behind the address of repositories.
pub(super) async fn answer(
    request: &HttpRequest,
    payload: web::Payload,
    (token, path, query): (String, &str, Option<&str>),
    services: &JobServices,
) -> HttpResponse {
    let header = |name: &str| request.headers().get(name)?.to_str().ok();
    let asked_at = path.to_owned();
    let asked = GitRequest {
        token,
        method: request.method().as_str().to_owned(),
        path: path.to_owned(),
        query: query.map(str::to_owned),
        protocol: header("git-protocol")
            .filter(|text| is_protocol(text))
            .map(str::to_owned),
    };
    let mut admitted = match services.admit_git(asked) {
        Ok(admitted) => admitted,
        Err(refusal) => return refused(&asked_at, &refusal),
    };
    let failed = |message: &str| {
        refused(
            &asked_at,
            &GatewayRefusal {
                status: 500,
                message: message.to_owned(),
            },
        )
    };
    admitted.wait_for_turn().await;
    let Ok(folder) = admitted.folder() else {
        return failed("the runner has no place for the request");
    };
    if admitted.has_body() {
        let received = receive(&folder, payload, admitted.max_body());
        let received = tokio::time::timeout(BODY_TIMEOUT, received).await;
        let too_slow = || Err(bad_request("the body takes too long"));
        if let Err(refusal) = received.unwrap_or_else(|_| too_slow()) {
            return refused(&asked_at, &refusal);
        }
        match header(CONTENT_ENCODING.as_str()).unwrap_or("identity") {
            "identity" => {}
            "gzip" | "x-gzip" => {
                let unpacked = web::block(move || {
                    let unpacked = admitted.unpack(&folder);
                    (admitted, folder, unpacked)
                });
                return match unpacked.await {
                    Ok((admitted, folder, Ok(()))) => {
                        answered(&asked_at, admitted.serve(folder).await)
                    }
                    _ => refused(&asked_at, &bad_request("the packed body cannot be read")),
                };
            }
            _ => {
                return refused(
                    &asked_at,
                    &bad_request("the body is packed in an unknown way"),
                );
            }
        }
    }
    answered(&asked_at, admitted.serve(folder).await)
}

/// As git writes it: `version=2`, and settings like it.
fn is_protocol(text: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"=:.-".contains(&byte);
    text.len() <= 64 && text.bytes().all(known)
}

fn answered(asked_at: &str, answer: Result<GitAnswer, GatewayRefusal>) -> HttpResponse {
    let of = |kind: String| {
        let mut response = HttpResponse::Ok();
        response.content_type(kind);
        response.insert_header((CACHE_CONTROL, "no-cache"));
        response
    };
    match answer {
        Ok(GitAnswer::Whole(kind, bytes)) => of(kind).body(bytes),
        Ok(GitAnswer::File(kind, path, folder)) => {
            let state = (FileChunks { path, at: 0 }, folder);
            // The folder goes with the stream.
            of(kind).streaming(futures_util::stream::unfold(
                state,
                |(mut chunks, folder)| async move {
                    match chunks.next().await {
                        Ok(bytes) if bytes.is_empty() => None,
                        read => Some((read, (chunks, folder))),
                    }
                },
            ))
        }
        Ok(GitAnswer::Elsewhere(address)) => HttpResponse::Found()
            .insert_header((LOCATION, address))
            .finish(),
        Err(refusal) => refused(asked_at, &refusal),
    }
}

/// git shows plain text as what the remote says, and of what it has sent already its own words.
fn refused(asked_at: &str, refusal: &GatewayRefusal) -> HttpResponse {
    if refusal.status != 401
        && let Some((kind, answer)) = render_refusal(asked_at, &refusal.message)
    {
        return HttpResponse::Ok().content_type(kind).body(answer);
    }
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
    let mut response = HttpResponse::build(status);
    if status == StatusCode::UNAUTHORIZED {
        response.insert_header(("WWW-Authenticate", "Basic realm=\"token of the job\""));
    }
    response
        .content_type("text/plain; charset=utf-8")
        .body(format!("{}\n", refusal.message))
}

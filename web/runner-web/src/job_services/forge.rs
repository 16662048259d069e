//! The forge's API for jobs.

use actix_web::http::header::{AUTHORIZATION, CONTENT_LENGTH};
use actix_web::{HttpRequest, HttpResponse, web};
use base64::Engine as _;
use futures_util::StreamExt as _;
use http_clients::http::HttpClient;
use runner_actors::{GatewayAnswer, GatewayBody, GatewayRefusal, GatewayRequest, JobServices};
use runner_core::gateway::{MAX_UPLOAD, is_upload};
use serde_json::json;

/// Largest body of a call.
const MAX_BODY: usize = 32 << 20;
/// Headers that are passed on.
const PASSED: [&str; 5] = [
    "accept",
    "content-type",
    "if-none-match",
    "if-modified-since",
    "x-github-api-version",
];

/// Any call below `/api/v3` (GitHub) or `/api/v1` (Gitea, Forgejo), GraphQL, and calls of a
/// repository as api.github.com has them.
pub(super) async fn call(
    request: HttpRequest,
    services: web::Data<JobServices>,
    http: web::Data<HttpClient>,
    payload: web::Payload,
) -> HttpResponse {
    let header = request.headers().get(AUTHORIZATION);
    let header = header.and_then(|value| value.to_str().ok());
    // As it stands in the request line: what is decoded could be read otherwise.
    let path = request.uri().path();
    let path = ["/api/v3", "/api/v1", "/api"]
        .iter()
        .find_map(|prefix| path.strip_prefix(prefix))
        .unwrap_or(path);
    let asked = (
        token(header.unwrap_or_default()),
        path,
        request.uri().query(),
    );
    answer(&request, payload, asked, (&services, &http)).await
}

/// A call that shows this token, of a path below the API.
pub(super) async fn answer(
    request: &HttpRequest,
    payload: web::Payload,
    (token, path, query): (String, &str, Option<&str>),
    (services, http): (&JobServices, &HttpClient),
) -> HttpResponse {
    let header = |name: &str| request.headers().get(name)?.to_str().ok();
    // What a body takes of the memory is bounded before it is read.
    let _turn = match services
        .forge_turn(&token, request.method().as_str(), path)
        .await
    {
        Ok(turn) => turn,
        Err(refusal) => return refused(&refusal),
    };
    let bytes = header(CONTENT_LENGTH.as_str()).and_then(|length| length.parse().ok());
    let uploads = is_upload(request.method().as_str(), path);
    let body = match bytes {
        Some(bytes) if uploads => file(bytes, payload),
        None if uploads => {
            return refused(&GatewayRefusal {
                status: 411,
                message: "a file of a release is sent with its length (Content-Length)".to_owned(),
            });
        }
        _ => read_body(payload).await,
    };
    let body = match body {
        Ok(body) => body,
        Err(message) => {
            return refused(&GatewayRefusal {
                status: 413,
                message,
            });
        }
    };
    let passed = PASSED.iter().filter_map(|name| {
        let value = header(name)?;
        Some((*name, value.to_owned()))
    });
    let asked = GatewayRequest {
        token,
        method: request.method().as_str().to_owned(),
        path: path.to_owned(),
        query: query.map(str::to_owned),
        headers: passed.collect(),
        is_gh: header("user-agent").is_some_and(|agent| agent.starts_with("GitHub CLI")),
        body,
    };
    match services.call_forge(http, asked).await {
        Ok(answer) => answered(answer),
        Err(refusal) => refused(&refusal),
    }
}

/// A body that is read before it is decided on.
async fn read_body(payload: web::Payload) -> Result<GatewayBody, String> {
    let body = payload.to_bytes_limited(MAX_BODY).await;
    let body = body.ok().and_then(Result::ok);
    let wrong = || format!("the body breaks off, or has more than {MAX_BODY} bytes");
    body.map(GatewayBody::Whole).ok_or_else(wrong)
}

/// A file that is passed on as it comes.
fn file(bytes: u64, payload: web::Payload) -> Result<GatewayBody, String> {
    if bytes > MAX_UPLOAD {
        return Err(format!(
            "the file has {bytes} bytes, and one of a release at most {MAX_UPLOAD}"
        ));
    }
    let chunks = payload.map(|chunk| chunk.map_err(std::io::Error::other));
    Ok(GatewayBody::File {
        bytes,
        chunks: Box::pin(chunks),
    })
}

fn answered(answer: GatewayAnswer) -> HttpResponse {
    let status = actix_web::http::StatusCode::from_u16(answer.status);
    let status = status.unwrap_or(actix_web::http::StatusCode::BAD_GATEWAY);
    let mut response = HttpResponse::build(status);
    for header in answer.headers {
        response.insert_header(header);
    }
    response.body(answer.body)
}

fn refused(refusal: &GatewayRefusal) -> HttpResponse {
    let answer = json!({
        "message": refusal.message,
        "documentation_url": "https://docs.github.com/rest",
        "status": refusal.status.to_string(),
    });
    let status = actix_web::http::StatusCode::from_u16(refusal.status);
    HttpResponse::build(status.unwrap_or(actix_web::http::StatusCode::FORBIDDEN)).json(answer)
}

/// The token of a header, in the ways that clients of forges write it.
pub(super) fn token(header: &str) -> String {
    let (scheme, value) = header.trim().split_once(' ').unwrap_or_default();
    let value = value.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" | "token" => value.to_owned(),
        "basic" => {
            let pair = base64::engine::general_purpose::STANDARD.decode(value);
            let pair = pair.ok().and_then(|pair| String::from_utf8(pair).ok());
            let pair = pair.unwrap_or_default();
            let (_, password) = pair.split_once(':').unwrap_or_default();
            password.to_owned()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i17_tokens_are_read_as_clients_write_them() {
        for (header, found) in [
            ("Bearer abc", "abc"),
            ("token abc", "abc"),
            ("basic eDphYmM=", "abc"),
            ("abc", ""),
            ("Digest abc", ""),
            ("", ""),
        ] {
            assert_eq!(token(header), found, "{header}");
        }
    }
}

//! What a job asks of the forge at its own address: by the job's token what the gateway answers,
//! else what the forge does, where the machine's network reaches it.

use actix_web::http::header::{self, HeaderValue};
use actix_web::http::{Method, StatusCode};
use actix_web::{HttpRequest, HttpResponse, web};
use http_clients::http::HttpClient;
use runner_actors::{GatewayRefusal, JobServices, PackageTurn};
use runner_core::gateway::{OwnPath, own_path, presented_tokens, without_token};
use serde_json::json;
use url::Url;

use super::front::ForgeConnection;
use super::passage::{ForgeWays, pass, pass_package, refused};
use super::{forge, git, large_files};

/// Answers one request.
pub(super) async fn answer(
    request: &HttpRequest,
    payload: web::Payload,
    led: &ForgeConnection,
    (services, http, ways): (&JobServices, &HttpClient, &ForgeWays),
) -> HttpResponse {
    if !is_for(request, &led.base) {
        return refused(
            StatusCode::MISDIRECTED_REQUEST,
            "the request names another host than its connection",
        );
    }
    let header = |name: &str| request.headers().get(name)?.to_str().ok();
    let (path, query) = (request.uri().path(), request.uri().query());
    let shown = presented_tokens(header("authorization"), header("x-nuget-apikey"), query);
    let kind = own_path(path, led.base.path());
    let Some(token) = services.known_token(&shown) else {
        return match &led.unreached {
            None => pass(request, payload, led, (ways, None)).await,
            Some(reason) => unreached(request, led, kind, reason),
        };
    };
    let query = query.and_then(|query| without_token(query, &token));
    let query = query.as_deref();
    let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
    match kind {
        OwnPath::Api(path) if is_read && services.is_of_other_repository(&token, path) => {
            as_anybody(request, payload, led, (ways, query)).await
        }
        // Programs that sign in ask this first.
        OwnPath::Api("/user") if is_read => match services.account_of(http, &token).await {
            Ok((login, id)) => HttpResponse::Ok().json(json!({
                "id": id, "login": login, "username": login, "login_name": "",
                "full_name": "", "email": "", "is_admin": false,
            })),
            Err(refusal) => package_refused(&refusal),
        },
        OwnPath::Api(path) => {
            let asked = (token, path, query);
            forge::answer(request, payload, asked, (services, http)).await
        }
        OwnPath::Git(path) => {
            let reads = query == Some("service=git-upload-pack") || path.ends_with("upload-pack");
            if reads && services.is_of_other_repository(&token, &format!("/repos{path}")) {
                return as_anybody(request, payload, led, (ways, query)).await;
            }
            if services.has_large_files(path) {
                let is_others = services.is_of_other_repository(&token, &format!("/repos{path}"));
                if is_others {
                    return as_anybody(request, payload, led, (ways, query)).await;
                }
                let asked = (token, path, &led.base);
                return large_files::answer(request, payload, asked, (services, http, ways)).await;
            }
            git::answer(request, payload, (token, path, query), services).await
        }
        OwnPath::Packages(path) => {
            let method = request.method().as_str();
            let turn = services.package_turn(&token, method, (path, query)).await;
            match turn {
                Ok(PackageTurn::Pass(passage)) => {
                    pass_package(request, payload, &led.base, (ways, passage)).await
                }
                Ok(PackageTurn::Anybody) => as_anybody(request, payload, led, (ways, query)).await,
                Ok(PackageTurn::Welcome) => {
                    HttpResponse::Ok().insert_header(REGISTRY).json(json!({}))
                }
                Ok(PackageTurn::OwnToken(true)) => HttpResponse::Ok().json(json!({
                    "token": token, "access_token": token, "expires_in": 3600,
                })),
                Ok(PackageTurn::OwnToken(false)) => HttpResponse::Ok()
                    .content_type("text/plain; charset=utf-8")
                    .body(token),
                Err(refusal) => package_refused(&refusal),
            }
        }
        OwnPath::Page(path) if is_read => {
            match services.download_turn(http, &token, (path, query)).await {
                Ok(Some(file)) => pass_package(request, payload, &led.base, (ways, file)).await,
                Ok(None) => as_anybody(request, payload, led, (ways, query)).await,
                Err(refusal) => file_refused(&refusal),
            }
        }
        OwnPath::Page(_) => as_anybody(request, payload, led, (ways, query)).await,
    }
}

/// Said by registries of images.
const REGISTRY: (&str, &str) = ("Docker-Distribution-API-Version", "registry/2.0");

/// Without the job's token, which the forge does not know: what anybody may see.
async fn as_anybody(
    request: &HttpRequest,
    payload: web::Payload,
    led: &ForgeConnection,
    (ways, query): (&ForgeWays, Option<&str>),
) -> HttpResponse {
    if let Some(reason) = &led.unreached {
        return refused(StatusCode::FORBIDDEN, &unreached_text(reason));
    }
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    let target = format!("{}{query}", request.uri().path());
    pass(request, payload, led, (ways, Some(&target))).await
}

/// Whether a request names the host that its connection was led here for, and no other.
fn is_for(request: &HttpRequest, base: &Url) -> bool {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let names = |authority: &str| {
        let named = Url::parse(&format!("{}://{authority}/", base.scheme()));
        let is_plain = authority.bytes().all(|byte| byte.is_ascii_graphic())
            && !authority.contains(['/', '?', '#', '@', '\\']);
        is_plain && named.is_ok_and(|named| named.origin() == base.origin())
    };
    let in_line = request.uri().authority();
    let scheme = request.uri().scheme_str();
    host.is_some_and(names)
        && in_line.is_none_or(|named| names(named.as_str()))
        && scheme.is_none_or(|named| named.eq_ignore_ascii_case(base.scheme()))
}

/// Nothing is passed on that the machine could not ask for by itself. Who has a token, and shows it
/// only when asked to, is asked to.
fn unreached(
    request: &HttpRequest,
    led: &ForgeConnection,
    kind: OwnPath<'_>,
    reason: &str,
) -> HttpResponse {
    let text = unreached_text(reason);
    let shows = request.headers().contains_key(header::AUTHORIZATION);
    let challenge = match kind {
        OwnPath::Packages(path) if path.starts_with("/v2") && path != "/v2/token" => {
            let origin = led.base.origin().ascii_serialization();
            format!("Bearer realm=\"{origin}/v2/token\",service=\"container_registry\",scope=\"*\"")
        }
        OwnPath::Git(_) | OwnPath::Packages(_) => "Basic realm=\"the token of the job\"".to_owned(),
        OwnPath::Api(_) | OwnPath::Page(_) => return refused(StatusCode::FORBIDDEN, &text),
    };
    if shows {
        return refused(StatusCode::FORBIDDEN, &text);
    }
    let mut response = refused(StatusCode::UNAUTHORIZED, &text);
    let headers = response.headers_mut();
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        headers.insert(header::WWW_AUTHENTICATE, challenge);
    }
    headers.insert(
        header::HeaderName::from_static("docker-distribution-api-version"),
        HeaderValue::from_static(REGISTRY.1),
    );
    response
}

fn unreached_text(reason: &str) -> String {
    format!(
        "{reason}: without its network the machine reaches the forge only with the token of the job, where that counts; `network` and `allow` of the machine's label, and `allow` in [network] of the VM manager, let it reach the forge"
    )
}

fn file_refused(refusal: &GatewayRefusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
    refused(status, &refusal.message)
}

/// As clients of registries read it.
fn package_refused(refusal: &GatewayRefusal) -> HttpResponse {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
    HttpResponse::build(status).json(json!({
        "message": refusal.message,
        "errors": [{"code": "DENIED", "message": refusal.message}],
    }))
}

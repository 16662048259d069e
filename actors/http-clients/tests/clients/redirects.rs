//! Redirects: which are followed, and what goes along.

use std::net::SocketAddr;

use actix_web::{HttpRequest, HttpResponse, web};
use config_core::Secret;
use http_clients::http::{HttpClient, HttpError, HttpOptions, Redirects, Request};
use serde_json::{Value, json};

use crate::common::{options, serve, url};

fn client(redirects: Redirects) -> HttpClient {
    HttpClient::new(HttpOptions {
        redirects,
        ..options()
    })
}

/// Tells what came.
fn mirror() -> SocketAddr {
    serve(|app| {
        app.default_service(web::to(async |request: HttpRequest, body: String| {
            let header = |name: &str| {
                request
                    .headers()
                    .get(name)
                    .map(|value| value.to_str().unwrap().to_owned())
            };
            HttpResponse::Ok().json(json!({
                "method": request.method().as_str(), "body": body, "plain": header("x-plain"),
                "authorization": header("authorization"), "secret": header("x-secret"),
                "type": header("content-type"),
            }))
        }));
    })
}

/// Redirects `/<status>` to this address, and `/loop` to itself.
fn redirecting(to: String) -> SocketAddr {
    serve(move |app| {
        let to = to.clone();
        app.default_service(web::to(move |request: HttpRequest| {
            let path = request.path();
            let status = path[1..].parse().unwrap_or(302);
            let to = if path == "/loop" { "/loop" } else { &*to };
            let status = actix_web::http::StatusCode::from_u16(status).unwrap();
            let response = HttpResponse::build(status)
                .insert_header(("location", to))
                .finish();
            std::future::ready(response)
        }));
    })
}

fn with_secrets(request: Request) -> Request {
    request
        .authorization("Bearer", &Secret::new("vmm-token".into()))
        .secret_header("x-secret", Secret::new("other".into()))
        .header("x-plain", "seen")
}

#[actix_rt::test]
async fn r18_secrets_do_not_follow_to_another_host() {
    let mirror = mirror();
    let server = redirecting(url(mirror, "/").into());
    let request = with_secrets(Request::get(url(server, "/302")));
    let response = client(Redirects::Anywhere(3)).call(request).await.unwrap();
    let seen: Value = response.json().unwrap();
    assert_eq!(seen["authorization"], Value::Null);
    assert_eq!(seen["secret"], Value::Null);
    assert_eq!(seen["plain"], "seen");
    assert_eq!(response.url, url(mirror, "/"));
}

#[actix_rt::test]
async fn r18_another_host_is_not_followed_unless_asked_for() {
    let mirror = mirror();
    let server = redirecting(url(mirror, "/").into());
    let request = || with_secrets(Request::get(url(server, "/302")));
    let response = client(Redirects::Never).call(request()).await.unwrap();
    assert_eq!(response.status, 302);
    let error = client(Redirects::SameOrigin(3))
        .call(request())
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::Redirected { .. }), "{error}");
}

#[actix_rt::test]
async fn within_one_origin_secrets_go_along() {
    let server = serve(|app| {
        app.route(
            "/a",
            web::to(async || {
                HttpResponse::TemporaryRedirect()
                    .insert_header(("location", "b"))
                    .finish()
            }),
        )
        .default_service(web::to(async |request: HttpRequest, body: String| {
            let token = request
                .headers()
                .get("authorization")
                .unwrap()
                .to_str()
                .unwrap();
            format!("{} {} {token} {body}", request.method(), request.path())
        }));
    });
    let request = with_secrets(Request::post(url(server, "/a")).body("text"));
    let response = client(Redirects::SameOrigin(3))
        .call(request)
        .await
        .unwrap();
    assert_eq!(response.body, "POST /b Bearer vmm-token text");
}

#[actix_rt::test]
async fn methods_change_as_the_status_says() {
    let mirror = mirror();
    let server = redirecting(url(mirror, "/").into());
    let client = client(Redirects::Anywhere(3));
    for (status, method, body) in [
        ("/301", "GET", ""),
        ("/302", "GET", ""),
        ("/303", "GET", ""),
        ("/307", "POST", "{\"a\":1}"),
        ("/308", "POST", "{\"a\":1}"),
    ] {
        let request = Request::post(url(server, status)).json(&json!({"a": 1}));
        let seen: Value = client.call(request).await.unwrap().json().unwrap();
        assert_eq!(
            (&seen["method"], &seen["body"]),
            (&json!(method), &json!(body)),
            "{status}"
        );
        assert_eq!(seen["type"].is_null(), method == "GET", "{status}");
    }
}

#[actix_rt::test]
async fn loops_and_strange_schemes_end() {
    let server = redirecting("ftp://127.0.0.1/".into());
    let client = client(Redirects::Anywhere(5));
    for path in ["/loop", "/302"] {
        let error = client
            .call(Request::get(url(server, path)))
            .await
            .unwrap_err();
        assert!(
            matches!(error, HttpError::Redirected { .. }),
            "{path}: {error}"
        );
    }
}

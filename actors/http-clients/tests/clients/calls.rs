//! Calls: what is sent, deadlines, statuses, repetition.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use config_core::Secret;
use http_clients::http::{CallPhase, HttpClient, HttpError, HttpOptions, Request, RetryPolicy};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::common::{LONG, client, options, raw, serve, url};

const QUICK: RetryPolicy = RetryPolicy {
    attempts: 4,
    first: Duration::from_millis(1),
    longest: Duration::from_millis(20),
};

async fn echo(request: HttpRequest, body: String) -> HttpResponse {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value.map(|value| value.to_str().unwrap().to_owned())
    };
    HttpResponse::Ok()
        .insert_header(("x-peer", request.peer_addr().unwrap().to_string()))
        .json(json!({
            "method": request.method().as_str(), "uri": request.uri().to_string(), "body": body,
            "host": header("host"), "agent": header("user-agent"),
            "authorization": header("authorization"), "type": header("content-type"),
        }))
}

#[actix_rt::test]
async fn a_request_arrives_as_it_was_made() {
    let server = serve(|app| {
        app.default_service(web::to(echo));
    });
    let request = Request::post(url(server, "/a%20b?c=d%26e"))
        .authorization("token", &Secret::new("t-1".into()))
        .json(&json!({"x": 1}));
    let response = client().call(request).await.unwrap().ok().unwrap();
    let expected = json!({
        "method": "POST", "uri": "/a%20b?c=d%26e", "body": "{\"x\":1}", "host": server.to_string(),
        "agent": format!("orrery/{}", env!("CARGO_PKG_VERSION")), "authorization": "token t-1",
        "type": "application/json",
    });
    assert_eq!(response.json::<Value>().unwrap(), expected);
}

#[actix_rt::test]
async fn a_connection_is_used_again() {
    let server = serve(|app| {
        app.default_service(web::to(echo));
    });
    let client = client();
    let mut peers = Vec::new();
    for _ in 0..3 {
        let response = client.call(Request::get(url(server, "/"))).await.unwrap();
        peers.push(response.headers.get("x-peer").unwrap().to_owned());
    }
    assert!(peers.iter().all(|peer| *peer == peers[0]), "{peers:?}");
}

#[actix_rt::test]
async fn a_slow_head_and_a_slow_body_end_at_the_deadline() {
    let silent = raw("", LONG).await;
    let half = raw("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", LONG).await;
    for (server, phase) in [(silent, CallPhase::Waiting), (half, CallPhase::Reading)] {
        let after = Duration::from_millis(150);
        let request = Request::get(url(server, "/x?secret=1")).with_deadline(after);
        let error = timeout(LONG / 2, client().call(request))
            .await
            .unwrap()
            .unwrap_err();
        let expected = HttpError::TimedOut {
            url: url(server, "/x").into(),
            after,
            phase,
        };
        assert_eq!(error, expected);
    }
}

#[actix_rt::test]
async fn what_cannot_be_reached_was_not_sent() {
    let nobody = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for address in [
        url(nobody, "/"),
        "http://no-such-host.invalid/".parse().unwrap(),
    ] {
        let error = client().call(Request::get(address)).await.unwrap_err();
        assert!(
            matches!(error, HttpError::Unavailable { sent: false, .. }),
            "{error}"
        );
        assert!(error.was_not_sent());
    }
}

#[actix_rt::test]
async fn a_peer_that_says_nothing_or_nonsense_is_told_apart() {
    let closes = raw("", Duration::ZERO).await;
    let error = client()
        .call(Request::get(url(closes, "/")))
        .await
        .unwrap_err();
    assert!(
        matches!(error, HttpError::Unavailable { sent: true, .. }),
        "{error}"
    );
    let nonsense = raw("SSH-2.0-OpenSSH_9.2\r\n\r\n", Duration::ZERO).await;
    let error = client()
        .call(Request::get(url(nonsense, "/")))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::BadBody { .. }), "{error}");
    let endless = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'a'; 4 << 20]].concat();
    let endless = raw(endless, Duration::ZERO).await;
    let error = client()
        .call(Request::get(url(endless, "/")))
        .await
        .unwrap_err();
    assert!(matches!(error, HttpError::BadBody { .. }), "{error}");
}

#[actix_rt::test]
async fn a_status_is_an_answer_and_an_error_when_asked_for() {
    let server = serve(|app| {
        app.default_service(web::to(async || {
            HttpResponse::ServiceUnavailable()
                .insert_header(("retry-after", "7"))
                .body("busy\r\nnow")
        }));
    });
    let response = client().call(Request::get(url(server, "/"))).await.unwrap();
    assert_eq!(response.status, 503);
    let expected = HttpError::Status {
        url: url(server, "/").into(),
        status: 503,
        retry_after: Some(Duration::from_secs(7)),
        body: "busy now".into(),
    };
    assert_eq!(response.ok().unwrap_err(), expected);
}

/// A server that fails `failures` times with this status, then answers; and how often it was asked.
fn failing(failures: u32, status: u16) -> (std::net::SocketAddr, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let server = serve(move |app| {
        let count = count.clone();
        app.default_service(web::to(move || {
            let failed = count.fetch_add(1, Ordering::SeqCst) < failures;
            let code = if failed { status } else { 200 };
            let code = actix_web::http::StatusCode::from_u16(code).unwrap();
            std::future::ready(HttpResponse::build(code).finish())
        }));
    });
    (server, asked)
}

#[actix_rt::test]
async fn what_may_pass_is_asked_again() {
    let table: [(u32, u16, bool, u16, u32); 6] = [
        // Failures, status, idempotent; the last status, and how often it was asked.
        (2, 503, true, 200, 3),
        (9, 500, true, 500, 4),
        (9, 404, true, 404, 1),
        (9, 401, true, 401, 1),
        (1, 500, false, 500, 1),
        (1, 429, true, 200, 2),
    ];
    for (failures, status, idempotent, last, times) in table {
        let (server, asked) = failing(failures, status);
        let request = Request::post(url(server, "/"));
        let request = if idempotent {
            request.idempotent()
        } else {
            request
        };
        let response = client().call_retrying(request, &QUICK).await.unwrap();
        assert_eq!(response.status, last, "{failures} times {status}");
        assert_eq!(
            asked.load(Ordering::SeqCst),
            times,
            "{failures} times {status}"
        );
    }
}

#[actix_rt::test]
async fn what_was_not_sent_is_sent_again_whatever_it_is() {
    let address = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let late = async {
        actix_rt::time::sleep(Duration::from_millis(50)).await;
        let listener = tokio::net::TcpListener::bind(address).await.unwrap();
        let (mut connection, _) = listener.accept().await.unwrap();
        use tokio::io::AsyncWriteExt;
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
        connection.write_all(answer).await.unwrap();
        connection
    };
    let patient = RetryPolicy {
        attempts: 1000,
        first: Duration::from_millis(5),
        longest: Duration::from_millis(20),
    };
    let client = client();
    let asking = client.call_retrying(Request::post(url(address, "/")), &patient);
    let (response, _connection) = timeout(LONG, futures_util::future::join(asking, late))
        .await
        .unwrap();
    assert_eq!(response.unwrap().body, "ok");
}

#[actix_rt::test]
async fn a_condition_that_holds_gives_304() {
    let server = serve(|app| {
        app.default_service(web::to(async |request: HttpRequest| {
            let known = request
                .headers()
                .get("if-none-match")
                .is_some_and(|tag| tag == "\"v1\"");
            let mut response = match known {
                true => HttpResponse::NotModified(),
                false => HttpResponse::Ok(),
            };
            response
                .insert_header(("etag", "\"v1\""))
                .body(if known { "" } else { "text" })
        }));
    });
    let client = client();
    let first = client.call(Request::get(url(server, "/"))).await.unwrap();
    let tag = first.headers.get("etag").unwrap();
    let again = Request::get(url(server, "/")).header("if-none-match", tag);
    let second = client.call(again).await.unwrap();
    assert_eq!((first.status, second.status), (200, 304));
    assert!(second.body.is_empty());
}

#[actix_rt::test]
async fn wrong_requests_are_refused_before_they_are_sent() {
    let server = serve(|app| {
        app.default_service(web::to(echo));
    });
    let wrong = [
        Request::get("ftp://127.0.0.1/".parse().unwrap()),
        Request::get(url(server, "/")).header("x-y", "a\r\nx-evil: 1"),
        Request::get(url(server, "/")).secret_header("x-y", Secret::new("s3\n".into())),
    ];
    for request in wrong {
        let error = client().call(request).await.unwrap_err();
        assert!(matches!(error, HttpError::BadRequest { .. }), "{error}");
        assert!(!error.to_string().contains("s3"), "{error}");
    }
}

#[actix_rt::test]
async fn o08_secrets_are_never_shown() {
    let secret = Secret::new("hunter2".to_owned());
    let address = "http://me:hunter2@127.0.0.1:1/p?token=hunter2#hunter2";
    let request = Request::get(address.parse().unwrap()).authorization("Bearer", &secret);
    let shown = format!("{request:?}");
    assert!(!shown.contains("hunter2"), "{shown}");
    let error = client().call(request).await.unwrap_err();
    assert!(
        !format!("{error} {error:?}").contains("hunter2"),
        "{error:?}"
    );
    assert!(
        error.to_string().contains("http://127.0.0.1:1/p"),
        "{error}"
    );
}

#[actix_rt::test]
async fn a_unix_socket_serves_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let server = actix_web::HttpServer::new(|| {
        actix_web::App::new().default_service(web::to(async || "through the socket"))
    });
    let server = server.workers(1).disable_signals().bind_uds(&path).unwrap();
    actix_rt::spawn(server.run());
    let client = HttpClient::new(HttpOptions {
        unix_socket: Some(path),
        ..options()
    });
    let request = Request::get("http://localhost/x".parse().unwrap());
    assert_eq!(
        client.call(request).await.unwrap().body,
        "through the socket"
    );
}

//! A server with sessions that forgets them, as one does that was started anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

use super::{PATIENT, mcp_error, source, titles};

/// What it has seen.
#[derive(Debug, Default)]
struct SessionLog {
    /// Sessions it has begun; the last one is the one it knows.
    sessions: AtomicUsize,
    calls: AtomicUsize,
    /// Forgets each session before it is used.
    forgets: bool,
}

async fn serve(
    request: HttpRequest,
    body: web::Json<Value>,
    seen: web::Data<SessionLog>,
) -> HttpResponse {
    let id = body["id"].clone();
    let result = |result: Value| json!({"jsonrpc": "2.0", "id": id, "result": result});
    let now = seen.sessions.load(Ordering::SeqCst);
    let method = body["method"].as_str().unwrap_or_default();
    if method == "server/discover" {
        let error =
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "what?"}});
        return HttpResponse::Ok().json(error);
    }
    if method == "initialize" {
        let session = format!("s{}", seen.sessions.fetch_add(1, Ordering::SeqCst) + 1);
        let result = result(json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "forgetful", "version": "1"},
        }));
        return HttpResponse::Ok()
            .insert_header(("mcp-session-id", session))
            .json(result);
    }
    let session = request
        .headers()
        .get("mcp-session-id")
        .and_then(|id| id.to_str().ok());
    let is_known = session == Some(format!("s{now}").as_str());
    if method == "tools/call" {
        seen.calls.fetch_add(1, Ordering::SeqCst);
    }
    if !is_known || (seen.forgets && method == "tools/call") {
        return HttpResponse::NotFound().body("no such session");
    }
    match method {
        "tools/list" => HttpResponse::Ok().json(result(json!({"tools": [
            {"name": "search", "inputSchema": {"properties": {"query": {"type": "string"}}}},
        ]}))),
        "tools/call" => HttpResponse::Ok().json(result(json!({"structuredContent": {"results": [
            {"title": format!("Pump of {}", session.unwrap_or_default()), "url": "https://e.example/1", "text": "valve"},
        ]}}))),
        _ => HttpResponse::Accepted().finish(),
    }
}

/// Address and what it sees; it ends with the runtime.
fn forgetful(forgets: bool) -> (String, web::Data<SessionLog>) {
    let seen = web::Data::new(SessionLog {
        forgets,
        ..SessionLog::default()
    });
    let data = Arc::clone(&seen);
    let server = HttpServer::new(move || {
        let app = App::new().app_data(web::Data::from(Arc::clone(&data)));
        app.default_service(web::to(serve))
    });
    let server = server
        .workers(1)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .unwrap();
    let url = format!("http://{}/mcp", server.addrs()[0]);
    actix_rt::spawn(server.run());
    (url, seen)
}

#[actix_rt::test]
async fn a_session_that_is_over_is_begun_anew_and_the_question_asked_again() {
    let (url, seen) = forgetful(false);
    let source = source(&url, "{}", PATIENT);
    let found = source.search("pump", 10).await.unwrap();
    assert_eq!(titles(&found), ["Pump of s1"]);
    // The server was started anew: it knows another session only.
    seen.sessions.fetch_add(1, Ordering::SeqCst);
    let found = source.search("valve", 10).await.unwrap();
    assert_eq!(titles(&found), ["Pump of s3"]);
    assert_eq!(
        seen.calls.load(Ordering::SeqCst),
        3,
        "asked, refused, asked again"
    );
    let again = source.search("planet", 10).await.unwrap();
    assert_eq!(titles(&again), ["Pump of s3"]);
    assert_eq!(seen.sessions.load(Ordering::SeqCst), 3);
}

#[actix_rt::test]
async fn a_server_that_forgets_every_session_is_asked_twice_and_no_more() {
    let (url, seen) = forgetful(true);
    let source = source(&url, "{}", PATIENT);
    let error = mcp_error(source.search("pump", 10).await).to_string();
    assert!(error.contains("404"), "{error}");
    assert_eq!(seen.calls.load(Ordering::SeqCst), 2);
    assert_eq!(seen.sessions.load(Ordering::SeqCst), 2);
}

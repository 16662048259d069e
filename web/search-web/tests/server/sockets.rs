//! `/ws`: news of the configuration, tokens of pages, and another server behind it.

use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use actix_ws::Item;
use awc::error::WsClientError;
use awc::ws::{CloseCode, CloseReason, Frame, Message};
use base64::Engine as _;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};

use crate::harness::{DEADLINE, Home, Server};
use crate::settings::{Configured, roles};
use crate::socket::Socket;

fn run(test: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(test);
}

#[test]
fn a_changed_configuration_is_news() {
    let running = Configured::start(&roles());
    run(async {
        let mut socket = Socket::open(&running.server).await;
        socket
            .say(&json!({"type": "subscribe", "id": 1, "topic": "config"}))
            .await;
        assert_eq!(socket.hear().await["type"], "subscribed");
        let first = socket.hear_a("config").await;
        assert_eq!(first["roles"]["default_role"], "Reader");
        assert!(!first.to_string().contains("sk-"), "{first}");
        let saved = running.change(|document| document["roles"][0]["name"] = "Other".into());
        assert_eq!(saved.status, 200, "{}", saved.text());
        let second = socket.hear_a("config").await;
        assert_eq!(second["roles"]["default_role"], "Other");
        assert_ne!(
            second["configuration"]["version"],
            first["configuration"]["version"]
        );
        std::fs::write(running.home.path().join("roles.json"), "{").expect("written");
        let third = socket.hear_a("config").await;
        assert!(third["configuration"]["error"].is_string(), "{third}");
        socket
            .say(&json!({"type": "unsubscribe", "topic": "config"}))
            .await;
        assert_eq!(socket.hear_a("unsubscribed").await["topic"], "config");
    });
}

/// The runner and the orchestrator tell of their runs themselves.
#[test]
fn topics_of_others_are_refused_by_name() {
    let home = Home::new();
    let server = home.start();
    run(async {
        let mut socket = Socket::open(&server).await;
        for topic in ["runs", "config"] {
            socket
                .say(&json!({"type": "subscribe", "id": topic, "topic": topic}))
                .await;
            let refused = socket.hear().await;
            assert_eq!(
                (&refused["type"], &refused["id"]),
                (&json!("error"), &json!(topic))
            );
            assert_eq!(refused["problem"]["status"], 422);
            assert_eq!(
                refused["problem"]["type"],
                "urn:orrery:problem:no-such-news"
            );
        }
    });
}

#[test]
fn s15_a_page_sends_its_token_as_a_subprotocol() {
    let home = Home::new();
    let server = home.start_guarded("t0ken");
    let bearer = |token: &str| {
        let encoded = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(token);
        format!("bearer.{encoded}")
    };
    run(async {
        for wrong in [
            vec![],
            vec!["orrery".to_owned()],
            vec!["orrery".to_owned(), bearer("other")],
        ] {
            let offered: Vec<&str> = wrong.iter().map(String::as_str).collect();
            let refused = Socket::offering(server.address, &offered).await;
            let Err(WsClientError::InvalidResponseStatus(status)) = refused else {
                panic!("{offered:?} is no token");
            };
            assert_eq!(status.as_u16(), 401);
        }
        let right = bearer("t0ken");
        let opened = Socket::offering(server.address, &["orrery", &right]).await;
        let (response, mut socket) = opened.expect("the upgrade");
        let named = response
            .headers()
            .get("sec-websocket-protocol")
            .map(|it| it.to_str().expect("text"));
        assert_eq!(
            named,
            Some("orrery"),
            "a browser wants one of those it offered, and the token is not repeated"
        );
        socket.say(&json!({"type": "ping"})).await;
        assert_eq!(socket.hear().await["type"], "pong");
    });
    // Only for a WebSocket.
    let headers = [("Sec-WebSocket-Protocol", bearer("t0ken"))];
    let headers: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    server.send("GET", "/api/roles", &headers, b"").problem(401);
}

/// A server that says what it hears, and has two orders of its own.
async fn echo(request: HttpRequest, body: web::Payload) -> Result<HttpResponse, actix_web::Error> {
    let (response, mut session, mut messages) = actix_ws::handle(&request, body)?;
    actix_rt::spawn(async move {
        while let Some(Ok(message)) = messages.recv().await {
            let sent = match message {
                Message::Text(text) if text == "end" => {
                    let reason = CloseReason {
                        code: CloseCode::Other(4001),
                        description: Some("as told".to_owned()),
                    };
                    let _ = session.close(Some(reason)).await;
                    return;
                }
                Message::Text(text) => session.text(text).await,
                Message::Binary(bytes) => session.binary(bytes).await,
                Message::Continuation(item) => session.continuation(item).await,
                Message::Ping(bytes) => session.pong(&bytes).await,
                _ => return,
            };
            if sent.is_err() {
                return;
            }
        }
    });
    Ok(response)
}

/// The echo on a thread of its own; it ends with the test's process.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (started, wait) = mpsc::channel();
    std::thread::spawn(move || {
        actix_rt::System::new().block_on(async move {
            let server = HttpServer::new(|| App::new().route("/events", web::get().to(echo)));
            let server = server.workers(1).disable_signals().listen(listener);
            let server = server.expect("a server").run();
            let _ = started.send(());
            let _ = server.await;
        });
    });
    wait.recv_timeout(DEADLINE).expect("it starts");
    address
}

fn leading_to(home: &Home, url: &str) -> Server {
    home.start_with(&home.role("BM25F"), |options| {
        options.ws_upstream = Some(url.parse().expect("a URL"));
    })
}

#[test]
fn frames_are_passed_to_another_server_and_back() {
    let home = Home::new();
    let address = upstream();
    let server = leading_to(&home, &format!("ws://{address}/events"));
    run(async {
        let mut socket = Socket::open(&server).await;
        // Whatever it is: this server has no opinion of it.
        socket.say(&json!({"type": "nonsense", "n": 1})).await;
        assert_eq!(socket.hear().await, json!({"type": "nonsense", "n": 1}));
        let bytes: Vec<u8> = (0..=255).cycle().take(60_000).collect();
        socket
            .says
            .send(Message::Binary(bytes.clone().into()))
            .await
            .expect("sent");
        assert_eq!(socket.frame().await, Frame::Binary(bytes.into()));
        for item in [
            Item::FirstText("a".into()),
            Item::Continue("b".into()),
            Item::Last("c".into()),
        ] {
            let sent = Message::Continuation(match &item {
                Item::FirstText(text) => Item::FirstText(text.clone()),
                Item::Continue(text) => Item::Continue(text.clone()),
                Item::Last(text) => Item::Last(text.clone()),
                Item::FirstBinary(bytes) => Item::FirstBinary(bytes.clone()),
            });
            socket.says.send(sent).await.expect("sent");
            assert_eq!(socket.frame().await, Frame::Continuation(item));
        }
        socket
            .says
            .send(Message::Ping("p".into()))
            .await
            .expect("sent");
        assert_eq!(socket.frame().await, Frame::Pong("p".into()));
        socket
            .says
            .send(Message::Text("end".into()))
            .await
            .expect("sent");
        let Frame::Close(Some(reason)) = socket.frame().await else {
            panic!("the other server has closed");
        };
        assert_eq!(reason.code, CloseCode::Other(4001));
        assert_eq!(reason.description.as_deref(), Some("as told"));
    });
    // One that is held open does not keep the server from ending.
    run(async {
        let mut socket = Socket::open(&server).await;
        socket.say(&json!({"n": 2})).await;
        socket.hear().await;
        let ends = std::thread::spawn(move || drop(server));
        let frame = tokio::time::timeout(DEADLINE, socket.hears.next())
            .await
            .expect("in time");
        assert!(matches!(frame, Some(Ok(Frame::Close(_)))), "{frame:?}");
        // The client goes, so that the connection can end.
        drop(socket);
        ends.join().expect("a clean end");
    });
}

/// "any /ws: upgrade request".
#[test]
fn contract_what_is_no_upgrade_is_told_to_upgrade() {
    let home = Home::new();
    let server = leading_to(&home, "ws://127.0.0.1:1/events");
    for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] {
        let answer = server.send(method, "/ws", &[], b"");
        assert_eq!(answer.header("upgrade"), Some("websocket"), "{method}");
        answer.problem(426);
    }
}

#[test]
fn s01_s04_hosts_and_origins_are_checked_before_another_server_is_asked() {
    let home = Home::new();
    let server = leading_to(&home, "ws://127.0.0.1:1/events");
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let with = |more: (&'static str, &'static str)| {
        let mut headers = upgrade.to_vec();
        headers.push(more);
        server.send("GET", "/ws", &headers, b"")
    };
    with(("Origin", "http://evil.example")).problem(403);
    with(("Host", "evil.example")).problem(421);
    // Nobody is there: a status, before any upgrade.
    let problem: Value = with(("X-Any", "thing")).problem(502);
    assert!(!problem.to_string().contains("127.0.0.1:1"), "{problem}");
}

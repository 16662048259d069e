//! The door in front of a product of the tests, both as real servers.

use std::net::TcpListener;
use std::time::Duration;

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use awc::ws::{Frame, Message};
use config_core::Secret;
use edge_web::guard::{ApiToken, HostPolicy};
use edge_web::{EdgeConfig, EdgeServer, HealthChecks, Metrics, Routes, ServeOptions};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::{ProductRoute, door};

const HOUSE: &str = "the token of the house";
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a free port")
}

/// What the product heard, and what came as body.
async fn echo(request: HttpRequest, body: web::Payload) -> HttpResponse {
    let names = ["authorization", "cookie", "origin", "x-forwarded-prefix"];
    let heard = names.map(|name| {
        let value = request.headers().get(name);
        let value = value.and_then(|value| value.to_str().ok());
        format!("{name}={};", value.unwrap_or("-"))
    });
    let head = futures_util::stream::iter([Ok(web::Bytes::from(heard.concat()))]);
    HttpResponse::Ok()
        .insert_header(("set-cookie", "house=1"))
        .streaming(head.chain(body.map(|chunk| chunk.map_err(actix_web::Error::from))))
}

async fn elsewhere() -> HttpResponse {
    HttpResponse::SeeOther()
        .insert_header(("location", "/runs/1"))
        .finish()
}

async fn refuses() -> HttpResponse {
    HttpResponse::Unauthorized().finish()
}

/// Two pieces; the second only after a while that a client must not wait for.
async fn slowly() -> HttpResponse {
    let pieces = futures_util::stream::unfold(0, |nth| async move {
        if nth == 1 {
            tokio::time::sleep(Duration::from_secs(3600)).await;
        }
        Some((
            Ok::<_, actix_web::Error>(web::Bytes::from("data: 1\n\n")),
            nth + 1,
        ))
    });
    HttpResponse::Ok()
        .content_type("text/event-stream")
        .streaming(pieces)
}

async fn socket(request: HttpRequest, body: web::Payload) -> actix_web::Result<HttpResponse> {
    let (response, mut session, mut messages) =
        actix_ws::handle_with_protocols(&request, body, &["house"])?;
    let token = request.headers().get("authorization").cloned();
    actix_web::rt::spawn(async move {
        let token = token.and_then(|token| token.to_str().ok().map(str::to_owned));
        let _ = session.text(token.unwrap_or_default()).await;
        while let Some(Ok(actix_ws::Message::Text(text))) = messages.next().await {
            let _ = session.text(text).await;
        }
        let _ = session.close(None).await;
    });
    Ok(response)
}

/// A house of one product, and one that is down.
struct House {
    address: std::net::SocketAddr,
    _stop: oneshot::Sender<()>,
}

fn house() -> House {
    let product = listener();
    let inner = product.local_addr().expect("an address");
    let serving = HttpServer::new(|| {
        App::new()
            .route("/echo", web::to(echo))
            .route("/elsewhere", web::get().to(elsewhere))
            .route("/refuses", web::get().to(refuses))
            .route("/slowly", web::get().to(slowly))
            .route("/ws", web::get().to(socket))
            .route("/closed", web::get().to(HttpResponse::Forbidden))
    })
    .workers(1)
    .disable_signals()
    .listen(product)
    .expect("it listens")
    .run();
    actix_rt::spawn(serving);
    let down = listener().local_addr().expect("an address");
    let mount = |part, prefix, address| ProductRoute {
        product: part,
        part,
        prefix,
        address,
        token: Some(Secret::new("the product's".to_owned())),
    };
    let mounts = vec![
        mount("runner", "/runner", inner),
        mount("vm-manager", "/vm-manager", down),
    ];
    let door = door(mounts, ApiToken::new(HOUSE).expect("a token"), true);
    let outer = listener();
    let address = outer.local_addr().expect("an address");
    let metrics = Metrics::new();
    let edge = EdgeConfig {
        guarded: door.guarded.clone(),
        sign_in: Some(door.sign_in.clone()),
        ..EdgeConfig::new(HostPolicy::new(address, []), &metrics)
    };
    let options = ServeOptions {
        workers: 1,
        ..ServeOptions::default()
    };
    let routes = door.routes.clone();
    let server = EdgeServer::new(
        edge,
        options,
        (&metrics, HealthChecks::new()),
        move |metrics| routes(Routes::new(metrics)),
    );
    let (stop, stopped) = oneshot::channel::<()>();
    actix_rt::spawn(server.serve(outer, async move {
        let _ = stopped.await;
    }));
    House {
        address,
        _stop: stop,
    }
}

impl House {
    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn get(&self, path: &str) -> awc::ClientRequest {
        let client = awc::Client::builder().disable_redirects().finish();
        client.get(self.url(path)).bearer_auth(HOUSE)
    }
}

#[actix_rt::test]
async fn t7_bodies_go_both_ways_as_they_come() {
    let house = house();
    let sent = web::Bytes::from(vec![b'x'; 3 << 20]);
    let client = awc::Client::new();
    let request = client
        .post(house.url("/runner/echo"))
        .bearer_auth(HOUSE)
        .insert_header(("cookie", "mine=1"));
    let mut answer = request.send_body(sent.clone()).await.expect("an answer");
    assert_eq!(answer.status(), 200);
    assert!(!answer.headers().contains_key("set-cookie"));
    let body = answer.body().limit(8 << 20).await.expect("a whole body");
    let head = b"authorization=Bearer the product's;cookie=-;origin=-;x-forwarded-prefix=/runner;";
    assert_eq!(&body[..head.len()], head);
    assert_eq!(body[head.len()..], sent, "not a byte less");
    // In chunks of no known length.
    let chunks = futures_util::stream::iter(
        ["a", "b"].map(|text| Ok::<_, actix_web::Error>(web::Bytes::from(text))),
    );
    let request = awc::Client::new()
        .post(house.url("/runner/echo"))
        .bearer_auth(HOUSE);
    let mut answer = request.send_stream(chunks).await.expect("an answer");
    assert!(answer.body().await.expect("a body").ends_with(b"ab"));
}

#[actix_rt::test]
async fn t7_a_stream_is_there_before_its_end() {
    let house = house();
    let mut answer = house.get("/runner/slowly").send().await.expect("an answer");
    assert_eq!(
        answer.headers().get("content-type").expect("a type"),
        "text/event-stream"
    );
    let first = timeout(TEST_TIMEOUT, answer.next()).await.expect("in time");
    assert_eq!(first.expect("a piece").expect("a whole one"), "data: 1\n\n");
}

#[actix_rt::test]
async fn t7_a_product_that_is_down_is_said_to_be() {
    let house = house();
    let mut answer = house
        .get("/vm-manager/vms")
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 502);
    let problem: serde_json::Value = answer.json().await.expect("JSON");
    assert_eq!(problem["type"], "urn:orrery:problem:product-down");
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(detail.contains("vm-manager is down"), "{detail}");
    assert!(
        !detail.contains("127.0.0.1"),
        "where it stands is the house's own: {detail}"
    );
    // What a product and the door have between them is not the person's sign-in.
    let refused = house
        .get("/runner/refuses")
        .send()
        .await
        .expect("an answer");
    assert_eq!(refused.status(), 502);
}

#[actix_rt::test]
async fn t7_redirects_lead_below_the_door() {
    let house = house();
    let answer = house
        .get("/runner/elsewhere")
        .send()
        .await
        .expect("an answer");
    assert_eq!(answer.status(), 303);
    assert_eq!(
        answer.headers().get("location").expect("a place"),
        "/runner/runs/1"
    );
}

#[actix_rt::test]
async fn i17_a_product_that_refuses_a_web_socket_is_not_down() {
    let house = house();
    let client = awc::Client::new();
    let status = async |path: &str| {
        let url = format!("ws://{}/runner/{path}", house.address);
        let asked = client
            .ws(&url)
            .header("authorization", format!("Bearer {HOUSE}"));
        match asked.connect().await {
            Err(awc::error::WsClientError::InvalidResponseStatus(status)) => status.as_u16(),
            other => panic!("{path}: {:?}", other.map(|_| ())),
        }
    };
    assert_eq!(status("closed").await, 403);
    assert_eq!(status("nothing-here").await, 404);
    assert_eq!(
        status("refuses").await,
        502,
        "the door's own token is wrong"
    );
}

#[actix_rt::test]
async fn t7_web_sockets_pass_and_need_the_token_too() {
    let house = house();
    let client = awc::Client::new();
    let url = format!("ws://{}/runner/ws", house.address);
    let refused = client.ws(&url).connect().await;
    assert!(refused.is_err(), "without a token there is no socket");
    let connected = client
        .ws(&url)
        .header("authorization", format!("Bearer {HOUSE}"))
        .protocols(["house"])
        .connect();
    let (response, mut frames) = timeout(TEST_TIMEOUT, connected)
        .await
        .expect("in time")
        .expect("an upgrade");
    assert_eq!(
        response
            .headers()
            .get("sec-websocket-protocol")
            .expect("a protocol"),
        "house"
    );
    let mut heard = Vec::new();
    frames
        .send(Message::Text("hello".into()))
        .await
        .expect("it is sent");
    while heard.len() < 2 {
        let frame = timeout(TEST_TIMEOUT, frames.next()).await.expect("in time");
        if let Frame::Text(text) = frame.expect("it stays open").expect("a frame") {
            heard.push(String::from_utf8_lossy(&text).into_owned());
        }
    }
    assert_eq!(heard, ["Bearer the product's", "hello"]);
}

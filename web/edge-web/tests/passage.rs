//! i18: a WebSocket through a standby reaches the leader, as all else does: shells, and whatever
//! pages follow.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that fails here should say where"
)]

use std::net::TcpListener;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use awc::error::WsClientError;
use awc::ws::{Frame, Message};
use cluster_actors::replica::{RoleControl, RoleEvent, StoreSight};
use edge_web::replica::{LeaderPassage, PassageOptions, PassageTimeouts};
use edge_web::{Metrics, REPLICA_KEY, Routes};
use futures_util::{SinkExt as _, StreamExt as _};
use store::Leadership;

const WITHIN: Duration = Duration::from_secs(30);

/// What a process waits for is what it is told; these are shorter than a user's.
const TIMEOUTS: PassageTimeouts = PassageTimeouts {
    next_leader: Duration::from_secs(2),
    last_answer: Duration::from_millis(500),
    last_body: Duration::from_millis(500),
    silence: Duration::from_millis(300),
    alive: Duration::from_secs(1),
};

async fn shell(request: HttpRequest, body: web::Payload) -> actix_web::Result<HttpResponse> {
    let header = |name: &str| {
        let value = request.headers().get(name);
        value
            .and_then(|it| it.to_str().ok())
            .unwrap_or_default()
            .to_owned()
    };
    let heard = [REPLICA_KEY, "host", "authorization"].map(header).join(" ");
    let offered = ["orrery"];
    let (response, mut session, mut messages) =
        actix_ws::handle_with_protocols(&request, body, &offered)?;
    actix_web::rt::spawn(async move {
        let _ = session.text(heard).await;
        while let Some(Ok(actix_ws::Message::Binary(bytes))) = messages.next().await {
            let _ = session.binary(bytes).await;
        }
        let _ = session.close(None).await;
    });
    Ok(response)
}

/// A leader, and a standby that knows it; the standby's address.
fn pair() -> String {
    let (control, leader) = (RoleControl::new("127.0.0.1:1"), leader());
    control.publish(sight_of(leader));
    standby(&control)
}

/// A leader's address.
fn leader() -> String {
    let leader = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = leader.local_addr().unwrap().to_string();
    serve_leader(leader);
    address
}

fn serve_leader(leader: TcpListener) {
    let serving = HttpServer::new(|| {
        App::new()
            .route("/runs/{id}/shell", web::get().to(shell))
            .route("/closed", web::get().to(HttpResponse::Forbidden))
    });
    let serving = serving.workers(1).disable_signals().listen(leader).unwrap();
    actix_web::rt::spawn(serving.run());
}

fn sight_of(address: String) -> StoreSight {
    StoreSight {
        leader: Some(Leadership {
            address,
            forward_key: "the key".to_owned(),
            is_locked: true,
            worked_for: None,
            is_anothers: false,
            closed: None,
            epoch: 1,
            by: String::new(),
            is_released: false,
            silent: Duration::ZERO,
        }),
        ..StoreSight::default()
    }
}

/// A standby's address.
fn standby(control: &RoleControl) -> String {
    let standby = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = standby.local_addr().unwrap().to_string();
    serve_standby(control, standby);
    address
}

fn serve_standby(control: &RoleControl, standby: TcpListener) -> ServerHandle {
    let control = control.clone();
    let serving = HttpServer::new(move || {
        let options = PassageOptions {
            timeouts: TIMEOUTS,
            ..PassageOptions::default()
        };
        let passage = LeaderPassage::new(&control, options);
        let routes = passage.add(Routes::new(&Metrics::new()));
        App::new().configure(|config| routes.configure(config))
    });
    let serving = serving
        .workers(1)
        .disable_signals()
        .listen(standby)
        .unwrap();
    let serving = serving.run();
    let handle = serving.handle();
    actix_web::rt::spawn(serving);
    handle
}

#[actix_web::test]
async fn i18_a_web_socket_through_a_standby_reaches_the_leader() {
    let standby = pair();
    let client = awc::Client::new();
    let connecting = client
        .ws(format!("ws://{standby}/runs/one/shell?columns=80"))
        .header("host", "ci.example")
        .header("authorization", "Bearer theirs")
        .protocols(["orrery"])
        .connect();
    let connected = tokio::time::timeout(WITHIN, connecting).await.unwrap();
    let (response, mut frames) = connected.expect("an upgrade");
    let chosen = response.headers().get("sec-websocket-protocol").unwrap();
    assert_eq!(chosen, "orrery");
    frames.send(Message::Binary("ls".into())).await.unwrap();
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let frame = tokio::time::timeout(WITHIN, frames.next()).await.unwrap();
        match frame.expect("it stays open").unwrap() {
            Frame::Text(bytes) | Frame::Binary(bytes) => {
                heard.push(String::from_utf8_lossy(&bytes).into_owned());
            }
            _ => {}
        }
    }
    assert_eq!(heard, ["the key ci.example Bearer theirs", "ls"]);
    let refused = client.ws(format!("ws://{standby}/closed")).connect().await;
    match refused.map(drop) {
        Err(WsClientError::InvalidResponseStatus(status)) => assert_eq!(status.as_u16(), 403),
        other => panic!("{other:?}"),
    }
}

#[actix_web::test]
async fn i18_a_request_within_a_hand_over_waits_for_the_next_leader() {
    let (control, leader) = (RoleControl::new("127.0.0.1:1"), leader());
    // It led until now, and sees itself still.
    control.publish(sight_of("127.0.0.1:1".to_owned()));
    let standby = standby(&control);
    let client = awc::Client::new();
    let asking = client.get(format!("http://{standby}/closed")).send();
    let following = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        control.publish(sight_of(leader));
    };
    let (answer, ()) = tokio::join!(tokio::time::timeout(WITHIN, asking), following);
    // The leader's answer.
    assert_eq!(answer.unwrap().unwrap().status().as_u16(), 403);
}

/// It has taken the store, and its actors are starting: what it passed on to itself now would come
/// back to the standby that still answers.
#[actix_web::test]
async fn i18_a_request_within_a_take_over_waits_until_the_process_answers_as_the_leader() {
    let standby_listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = standby_listener.local_addr().unwrap().to_string();
    let control = RoleControl::new(&own);
    control.publish(sight_of(own.clone()));
    let served = serve_standby(&control, standby_listener.try_clone().unwrap());
    control.apply(RoleEvent::Took(1));
    let client = awc::Client::new();
    let asking = client.get(format!("http://{own}/closed")).send();
    let starting = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        // The other side accepts on the same address from here on.
        served.pause().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        serve_leader(standby_listener);
        control.apply(RoleEvent::TreeStarted);
    };
    let (answer, ()) = tokio::join!(tokio::time::timeout(WITHIN, asking), starting);
    // The leader's answer.
    assert_eq!(answer.unwrap().unwrap().status().as_u16(), 403);
}

/// A leader that is paused: its connections live, and it says nothing.
#[actix_web::test]
async fn i18_what_a_paused_leader_was_asked_is_answered_when_another_follows() {
    let paused = TcpListener::bind("127.0.0.1:0").unwrap();
    let control = RoleControl::new("127.0.0.1:1");
    control.publish(sight_of(paused.local_addr().unwrap().to_string()));
    let standby = standby(&control);
    let client = awc::Client::builder().timeout(WITHIN).finish();
    let asking = client.get(format!("http://{standby}/runs")).send();
    let following = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        let mut sight = sight_of(leader());
        let next = sight.leader.as_mut().unwrap();
        next.forward_key = "the next key".to_owned();
        control.publish(sight);
    };
    let (answer, ()) = tokio::join!(tokio::time::timeout(WITHIN, asking), following);
    let answer = answer.unwrap().expect("an answer");
    assert_eq!(answer.status().as_u16(), 503);
    assert_eq!(answer.headers().get("retry-after").unwrap(), "1");
    drop(paused);
}

/// Packets to the leader vanish, and the database says that it is well: its connections are taken
/// by the system here, and nothing ever answers.
#[actix_web::test]
async fn i18_what_a_leader_out_of_reach_was_asked_is_not_waited_for_to_the_end() {
    let unreached = TcpListener::bind("127.0.0.1:0").unwrap();
    let control = RoleControl::new("127.0.0.1:1");
    control.publish(sight_of(unreached.local_addr().unwrap().to_string()));
    let standby = standby(&control);
    let client = awc::Client::builder().timeout(WITHIN).finish();
    let asked = client.get(format!("http://{standby}/runs")).send();
    let mut answer = asked
        .await
        .expect("an answer before the forwarder's minute");
    assert_eq!(answer.status().as_u16(), 503);
    assert_eq!(answer.headers().get("retry-after").unwrap(), "2");
    let body = answer.body().await.unwrap();
    let body = String::from_utf8_lossy(&body);
    assert!(body.contains("urn:orrery:problem:no-leader"), "{body}");
    drop(unreached);
}

/// One that lives and takes its time is waited for.
#[actix_web::test]
async fn i18_a_leader_that_takes_its_time_is_waited_for() {
    let leader = TcpListener::bind("127.0.0.1:0").unwrap();
    let control = RoleControl::new("127.0.0.1:1");
    control.publish(sight_of(leader.local_addr().unwrap().to_string()));
    let serving = HttpServer::new(|| {
        let slow = web::get().to(|| async {
            // Longer than one that is out of reach is waited for.
            tokio::time::sleep(Duration::from_secs(3)).await;
            HttpResponse::Ok().body("at last")
        });
        let lives = web::get().to(HttpResponse::Ok);
        App::new().route("/slow", slow).route("/livez", lives)
    });
    let serving = serving.workers(1).disable_signals().listen(leader).unwrap();
    actix_web::rt::spawn(serving.run());
    let standby = standby(&control);
    let client = awc::Client::builder().timeout(WITHIN).finish();
    let mut answer = client
        .get(format!("http://{standby}/slow"))
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 200);
    assert_eq!(answer.body().await.unwrap(), "at last");
}

/// A log that is followed through a standby which does not lead next: before, it said nothing for
/// ever.
#[actix_web::test]
async fn i18_an_answer_that_had_begun_breaks_off_when_another_leads() {
    let paused = TcpListener::bind("127.0.0.1:0").unwrap();
    let control = RoleControl::new("127.0.0.1:1");
    control.publish(sight_of(paused.local_addr().unwrap().to_string()));
    let serving = HttpServer::new(|| {
        let log = web::get().to(|| async {
            let begun = futures_util::stream::iter([Ok::<_, actix_web::Error>("begun".into())]);
            HttpResponse::Ok().streaming(begun.chain(futures_util::stream::pending()))
        });
        App::new().route("/log", log)
    });
    let serving = serving.workers(1).disable_signals().listen(paused).unwrap();
    actix_web::rt::spawn(serving.run());
    let standby = standby(&control);
    let client = awc::Client::builder().timeout(WITHIN).finish();
    let mut log = client
        .get(format!("http://{standby}/log"))
        .send()
        .await
        .unwrap();
    let first = tokio::time::timeout(WITHIN, log.next()).await.unwrap();
    assert_eq!(first.unwrap().unwrap(), "begun");
    let mut sight = sight_of(leader());
    let next = sight.leader.as_mut().unwrap();
    next.forward_key = "the next key".to_owned();
    control.publish(sight);
    let rest = tokio::time::timeout(WITHIN, log.next()).await;
    let rest = rest.expect("an end within half a minute");
    assert!(
        rest.is_none_or(|chunk| chunk.is_err()),
        "nothing is made up"
    );
}

#[actix_web::test]
async fn i18_a_database_that_is_restarted_is_waited_for_and_one_that_stays_away_is_not() {
    let (control, leader) = (RoleControl::new("127.0.0.1:1"), leader());
    let silent = || StoreSight {
        trouble: Some("it is starting up".to_owned()),
        ..StoreSight::default()
    };
    control.publish(silent());
    let standby = standby(&control);
    let client = awc::Client::builder().timeout(WITHIN).finish();
    let ask = || client.get(format!("http://{standby}/closed")).send();
    let answering = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        control.publish(silent());
        control.publish(sight_of(leader));
    };
    let (answer, ()) = tokio::join!(ask(), answering);
    assert_eq!(
        answer.unwrap().status().as_u16(),
        403,
        "the leader's answer"
    );
    control.publish(silent());
    tokio::time::sleep(TIMEOUTS.next_leader).await;
    // Who waited would have the answer of the leader that comes.
    let (answer, ()) = tokio::join!(ask(), async {
        tokio::time::sleep(TIMEOUTS.next_leader / 2).await;
        control.publish(sight_of(self::leader()));
    });
    assert_eq!(answer.unwrap().status().as_u16(), 503, "said at once");
}

//! `/ws`, by a real WebSocket client.

use std::time::Duration;

use awc::ws::{Frame, Message};
use futures_util::SinkExt as _;
use scripted_peers::Answer as Scripted;
use serde_json::json;

use crate::chat::{Model, home, streamed, with_model};
use crate::harness::{DEADLINE, Home, Server};
use crate::socket::Socket;

fn run(test: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(test);
}

#[test]
fn a_search_as_one_types_is_answered_and_a_newer_one_takes_its_place() {
    let home = home();
    let server = home.start();
    run(async {
        let mut socket = Socket::open(&server).await;
        socket.say(&json!({"type": "ping", "id": 7})).await;
        assert_eq!(socket.hear().await, json!({"type": "pong", "id": 7}));
        socket
            .say(&json!({"type": "search", "id": "a", "search_term": "pump", "limit": 3}))
            .await;
        let first = socket.hear().await;
        assert_eq!(
            (&first["type"], &first["id"]),
            (&json!("results"), &json!("a"))
        );
        assert_eq!(first["answer"]["results"][0]["title"], "Pumps");
        // All are read in one go, so only the last can be under way when the first could be
        // answered.
        for id in 0..50 {
            socket
                .say(&json!({"type": "search", "id": id, "search_term": "orbit"}))
                .await;
        }
        let mut last = socket.hear().await;
        let mut answers = 1;
        while last["id"] != 49 {
            let next = socket.hear().await;
            assert!(
                next["id"].as_u64() > last["id"].as_u64(),
                "never an older one after a newer one"
            );
            (last, answers) = (next, answers + 1);
        }
        assert!(answers <= 50);
        socket.say(&json!({"type": "ping"})).await;
        assert_eq!(
            socket.hear().await["type"],
            "pong",
            "nothing follows the newest"
        );
    });
}

#[test]
fn wrong_messages_are_answered_and_the_connection_goes_on() {
    let home = home();
    let server = home.start();
    run(async {
        let mut socket = Socket::open(&server).await;
        for (message, status) in [
            (json!([]), 400),
            (json!({"type": "dance"}), 400),
            (
                json!({"type": "search", "search_term": "x", "limit": -1}),
                422,
            ),
            (
                json!({"type": "search", "search_term": "x", "colour": 1}),
                400,
            ),
            (json!({"type": "search", "search_term": "NOT open"}), 422),
            (
                json!({"type": "search", "search_term": "x", "role": "Nobody"}),
                422,
            ),
            (json!({"type": "chat"}), 422),
            (json!({"type": "subscribe", "topic": "weather"}), 400),
        ] {
            socket.say(&message).await;
            let answer = socket.hear().await;
            assert_eq!(
                (&answer["type"], &answer["problem"]["status"]),
                (&json!("error"), &json!(status)),
                "{message}: {answer}"
            );
        }
        socket
            .says
            .send(Message::Binary(vec![1].into()))
            .await
            .expect("sent");
        assert_eq!(socket.hear().await["problem"]["status"], 400);
        socket
            .say(&json!({"type": "search", "search_term": "x".repeat(70_000)}))
            .await;
        assert!(
            matches!(socket.frame().await, Frame::Close(_)),
            "too large a message ends it"
        );
    });
}

#[test]
fn a_chat_is_streamed_and_can_be_cancelled() {
    let home = home();
    let model = Model::ollama(streamed(&["Eleven ", "litres [1]."]));
    let line = format!(
        "{}\n",
        json!({"message": {"content": "Never"}, "done": false})
    );
    let endless = Scripted::chunks("application/x-ndjson", [line]).hang(DEADLINE * 2);
    model.script.answer("/api/chat", endless);
    let role = with_model(&home, &model.script.url());
    let server = home.start_with(&role, |options| options.chat.at_once = 1);
    run(async {
        let mut socket = Socket::open(&server).await;
        socket
            .say(&json!({"type": "chat", "id": 1, "message": "How much does the pump move?"}))
            .await;
        let mut kinds = Vec::new();
        let done = loop {
            let message = socket.hear().await;
            assert_eq!(message["id"], 1);
            kinds.push(message["type"].as_str().expect("a type").to_owned());
            if message["type"] == "done" {
                break message;
            }
        };
        assert_eq!(kinds, ["start", "delta", "delta", "done"]);
        assert_eq!(done["answer"]["message"], "Eleven litres [1].");
        socket
            .say(&json!({"type": "chat", "id": 2, "message": "pump"}))
            .await;
        socket.hear_a("delta").await;
        socket.say(&json!({"type": "cancel"})).await;
        socket.hear_a("cancelled").await;
        // The place is free again, though the model would still be silent.
        let mut id = 3;
        loop {
            socket
                .say(&json!({"type": "chat", "id": id, "message": "pump"}))
                .await;
            if socket.hear().await["type"] == "start" {
                break;
            }
            id += 1;
        }
    });
}

#[test]
fn subscribers_see_the_index_change() {
    let home = home();
    let server = home.start();
    run(async {
        let mut socket = Socket::open(&server).await;
        socket
            .say(&json!({"type": "subscribe", "topic": "index"}))
            .await;
        assert_eq!(socket.hear().await["type"], "subscribed");
        assert_eq!(socket.hear().await["sources"][0]["documents"], 2);
        home.write("new.md", "# New\n\nMore text.\n");
        while socket.hear_a("index").await["sources"][0]["documents"] != 3 {}
        socket
            .say(&json!({"type": "unsubscribe", "topic": "index"}))
            .await;
        socket.hear_a("unsubscribed").await;
    });
}

const UPGRADE: [(&str, &str); 4] = [
    ("Upgrade", "websocket"),
    ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ("Connection", "Upgrade"),
];

fn refused(server: &Server, header: (&str, &str)) -> u16 {
    let mut headers = UPGRADE.to_vec();
    headers.push(header);
    server.send("GET", "/ws", &headers, b"").status
}

#[test]
fn s01_s04_another_page_or_name_does_not_get_a_connection() {
    let home = home();
    let server = home.start();
    assert_eq!(refused(&server, ("Host", "evil.example")), 421);
    assert_eq!(refused(&server, ("Origin", "http://evil.example")), 403);
    assert_eq!(refused(&server, ("Origin", "null")), 403);
    assert_eq!(server.get("/ws").status, 426, "no upgrade asked for");
}

#[test]
fn the_end_of_the_server_closes_connections() {
    let home: Home = home();
    let server = home.start();
    run(async {
        let mut socket = Socket::open(&server).await;
        // Dropping waits for the end, which would wait for the connection.
        let ending = std::thread::spawn(move || drop(server));
        let frame = tokio::time::timeout(Duration::from_secs(5), socket.frame()).await;
        assert!(matches!(frame, Ok(Frame::Close(_))), "{frame:?}");
        drop(socket);
        ending.join().expect("a clean end");
    });
}

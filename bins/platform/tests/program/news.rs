//! What a WebSocket of the search server tells of the runs in the same process.

use std::time::Duration;

use awc::ws::{Frame, Message};
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use rustix::process::Signal;
use scripted_peers::{deliver, push_event};
use serde_json::{Value, json};

use crate::site::{Platform, SECRET, Site};

const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// The next message of the server.
async fn hear<E: std::fmt::Debug>(
    frames: &mut (impl Stream<Item = Result<Frame, E>> + Unpin),
) -> Value {
    loop {
        let frame = tokio::time::timeout(TEST_TIMEOUT, frames.next()).await;
        let frame = frame.expect("in time").expect("it stays open");
        match frame.expect("a frame") {
            Frame::Text(text) => return serde_json::from_slice(&text).expect("JSON"),
            Frame::Ping(_) | Frame::Pong(_) => {}
            other => panic!("{other:?} is no text"),
        }
    }
}

async fn say<E: std::fmt::Debug>(
    says: &mut (impl Sink<Message, Error = E> + Unpin),
    message: &Value,
) {
    let text = Message::Text(message.to_string().into());
    says.send(text).await.expect("it is sent");
}

/// A signed push of a repository that is nowhere to be had: its run fails.
fn push(platform: &Platform) -> String {
    let sha = "0123456789abcdef0123456789abcdef01234567";
    let body = push_event("http://127.0.0.1:1/acme/rocket.git", sha);
    let reply = deliver(&platform.address("runner"), SECRET, "push", "d-1", &body);
    let reply = reply.expect("it answers");
    assert_eq!(reply.status, 202, "{reply:?}");
    reply.json()["run"].as_str().expect("a run").to_owned()
}

/// The token of the runner's API.
const TOKEN: &str = "a token of the runner's API";

#[test]
fn t11_runs_of_this_process_are_news_with_their_token_only() {
    let site = Site::new();
    let mut platform = site.start_with(|command| {
        command.env("WORKFLOW_RUNNER_API_TOKEN", TOKEN);
    });
    let url = format!("ws://{}/ws", platform.address("search"));
    actix_rt::System::new().block_on(async {
        let (response, socket) = awc::Client::new()
            .ws(url)
            .connect()
            .await
            .expect("an upgrade");
        assert_eq!(response.status(), 101);
        let (mut says, mut hears) = socket.split();
        for token in [Value::Null, json!("another token")] {
            let message = json!({"type": "subscribe", "id": 7, "topic": "runs", "token": token});
            say(&mut says, &message).await;
            let refused = hear(&mut hears).await;
            assert_eq!(
                (&refused["type"], &refused["id"]),
                (&json!("error"), &json!(7))
            );
            assert_eq!(refused["problem"]["status"], 401, "{refused}");
            let detail = refused["problem"]["detail"].as_str().expect("a detail");
            assert!(detail.contains("WORKFLOW_RUNNER_API_TOKEN"), "{detail}");
        }
        let message = json!({"type": "subscribe", "id": 1, "topic": "runs", "token": TOKEN});
        say(&mut says, &message).await;
        let subscribed = hear(&mut hears).await;
        assert_eq!(
            (&subscribed["type"], &subscribed["topic"]),
            (&json!("subscribed"), &json!("runs"))
        );
        let first = hear(&mut hears).await;
        assert_eq!(first, json!({"type": "runs", "runs": []}));
        let run = push(&platform);
        loop {
            let news = hear(&mut hears).await;
            assert_eq!(news["type"], "runs");
            let runs = news["runs"].as_array().expect("a list");
            assert_eq!(runs.len(), 1, "only what has changed: {news}");
            let told = &runs[0];
            assert_eq!(
                (&told["product"], &told["id"]),
                (&json!("runner"), &json!(run))
            );
            assert_eq!(told["repository"], "acme/rocket");
            if told["ended"] == true {
                assert_eq!(told["state"], "failed", "{told}");
                assert!(told["reason"].is_string(), "{told}");
                break;
            }
        }
        say(&mut says, &json!({"type": "unsubscribe", "topic": "runs"})).await;
        assert_eq!(hear(&mut hears).await["type"], "unsubscribed");
    });
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

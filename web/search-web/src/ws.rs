//! `/ws`: searching as one types, chats as they come, and news of the indexes, over one connection.
//!
//! ```text
//! client ──{"type": "subscribe" | "unsubscribe" | "search" | "chat" | "cancel" | "ping", "id"?, …}──▶ server
//! client ◀─{"type": "subscribed" | "unsubscribed" | "index" | "config" | "runs" | "results" | "start" | "delta" | "done" | "error" | "pong", "id"?, …}── server
//! ```
//! With `SERVICE_WS_UPSTREAM` frames are passed to that server instead, both ways. One search and
//! one chat of a connection are under way at most: a newer one takes the place of the older, whose
//! work ends. Runs are told of only with the token of who keeps them. Host and Origin were checked
//! by the edge before the upgrade; frames, messages, connections and silence are bounded.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, web};
use actix_ws::{AggregatedMessage, AggregatedMessageStream, CloseCode, CloseReason, Session};
use edge_web::relay::{PassOptions, pass_frames};
use edge_web::{ConcurrencyLimit, Permit, Problem};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::chat::ChatState;
use crate::config::ConfigState;
use crate::state::SearchState;
use crate::ws_limits::{MESSAGE_BYTES, WRITE_TIMEOUT};
use crate::ws_upstream;
use crate::ws_work::{ConnectionWork, WebSocketMessage, error};

/// The subprotocol: what a page names beside the one that carries its token (`bearer.…`), so that
/// the answer has one to name.
const PROTOCOL: &str = "orrery";
/// Connections at once, of all clients together.
const CONNECTIONS: usize = 256;
/// How often the indexes are looked at for those who subscribed.
const NEWS_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Silence after which a connection is pinged, and after which it is closed.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const SILENCE_TIMEOUT: Duration = Duration::from_secs(90);

/// How many connections there may be, and how they are told that the server ends; shared by the
/// workers.
#[derive(Debug, Clone)]
pub(crate) struct WsGate {
    limit: ConcurrencyLimit,
    closing: Arc<watch::Sender<bool>>,
}

impl Default for WsGate {
    fn default() -> Self {
        Self {
            limit: ConcurrencyLimit::new(CONNECTIONS, 5),
            closing: Arc::new(watch::Sender::new(false)),
        }
    }
}

impl WsGate {
    /// Closes all connections.
    pub(crate) fn close(&self) {
        self.closing.send_replace(true);
    }
}

/// Upgrades a connection.
pub(crate) async fn ws(
    request: HttpRequest,
    body: web::Payload,
    search: web::Data<SearchState>,
    chat: web::Data<ChatState>,
    config: web::Data<Option<ConfigState>>,
    gate: web::Data<WsGate>,
) -> Result<HttpResponse, Problem> {
    let asked = request.headers().get(header::UPGRADE);
    let asked = asked.map(|name| name.as_bytes().to_ascii_lowercase());
    if !asked.is_some_and(|names| names.split(|byte| *byte == b',').any(is_websocket)) {
        return Err(Problem::upgrade_required());
    }
    let permit = gate.limit.try_acquire()?;
    let upgraded = || {
        actix_ws::handle_with_protocols(&request, body, &[PROTOCOL]).map_err(|error| {
            Problem::bad_request(format!("this path speaks WebSocket only: {error}"))
        })
    };
    if let Some(url) = &search.ws_upstream {
        // Before the upgrade, so that a server that is not there has a status.
        let upstream = ws_upstream::connect(url).await?;
        let (response, session, messages) = upgraded()?;
        let messages = messages.max_frame_size(MESSAGE_BYTES);
        let closing = gate.closing.subscribe();
        actix_web::rt::spawn(async move {
            pass_frames(upstream, session, messages, closing, PassOptions::default()).await;
            drop(permit);
        });
        return Ok(response);
    }
    let peer = request.peer_addr().map(|peer| peer.ip());
    let (response, session, messages) = upgraded()?;
    let messages = messages
        .max_frame_size(MESSAGE_BYTES)
        .aggregate_continuations()
        .max_continuation_size(MESSAGE_BYTES);
    let connection = Connection {
        session,
        work: ConnectionWork::new(search, chat, config, peer),
        closing: gate.closing.subscribe(),
        _permit: permit,
    };
    actix_web::rt::spawn(connection.run(messages));
    Ok(response)
}

fn is_websocket(protocol: &[u8]) -> bool {
    protocol.trim_ascii() == b"websocket"
}

struct Connection {
    session: Session,
    work: ConnectionWork,
    closing: watch::Receiver<bool>,
    _permit: Permit,
}

/// The client is gone, or too slow.
struct Disconnected;

impl Connection {
    async fn run(mut self, mut messages: AggregatedMessageStream) {
        let reason = self.talk(&mut messages).await;
        if let Ok(reason) = reason {
            // Whoever does not read it is gone anyway.
            let _ = timeout(WRITE_TIMEOUT, self.session.close(reason)).await;
        }
    }

    /// Until the client closes, breaks the protocol, or is silent for too long.
    async fn talk(
        &mut self,
        messages: &mut AggregatedMessageStream,
    ) -> Result<Option<CloseReason>, Disconnected> {
        let mut looks = interval(NEWS_POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut pings = interval(PING_INTERVAL);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut heard = Instant::now();
        let mut closing = self.closing.clone();
        loop {
            let news = tokio::select! {
                message = messages.recv() => {
                    heard = Instant::now();
                    match message {
                        None => return Err(Disconnected),
                        Some(Err(error)) => return Ok(Some(broken(&error))),
                        Some(Ok(AggregatedMessage::Close(reason))) => return Ok(reason),
                        Some(Ok(message)) => self.take(message).await?,
                    }
                }
                news = self.work.next() => Some(news),
                _ = closing.changed() => return Ok(Some(CloseCode::Away.into())),
                _ = looks.tick(), if self.work.is_subscribed() => self.work.news(),
                _ = pings.tick() => {
                    if heard.elapsed() > SILENCE_TIMEOUT {
                        return Ok(Some(CloseCode::Away.into()));
                    }
                    in_time(self.session.ping(b"")).await?;
                    None
                }
            };
            if let Some(news) = news {
                self.send(&news).await?;
            }
        }
    }

    async fn take(
        &mut self,
        message: AggregatedMessage,
    ) -> Result<Option<WebSocketMessage>, Disconnected> {
        Ok(match message {
            AggregatedMessage::Text(text) => self.work.handle_message(text.as_bytes()),
            AggregatedMessage::Binary(_) => {
                let problem = Problem::bad_request("send messages as text, not binary");
                Some(error(&Value::Null, &problem))
            }
            AggregatedMessage::Ping(bytes) => {
                in_time(self.session.pong(&bytes)).await?;
                None
            }
            AggregatedMessage::Pong(_) | AggregatedMessage::Close(_) => None,
        })
    }

    async fn send(&mut self, news: &WebSocketMessage) -> Result<(), Disconnected> {
        in_time(self.session.text(news.to_string())).await
    }
}

async fn in_time(
    sending: impl Future<Output = Result<(), actix_ws::Closed>>,
) -> Result<(), Disconnected> {
    match timeout(WRITE_TIMEOUT, sending).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(Disconnected),
    }
}

fn broken(error: &actix_ws::ProtocolError) -> CloseReason {
    let code = match error {
        actix_ws::ProtocolError::Overflow => CloseCode::Size,
        _ => CloseCode::Protocol,
    };
    (code, error.to_string()).into()
}

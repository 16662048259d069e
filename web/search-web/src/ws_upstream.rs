//! `/ws` when it leads to another server: frames are passed as they are, both ways.

use actix_ws::{CloseCode, CloseReason, Message, MessageStream, Session};
use edge_web::Problem;
use http_clients::http::HttpError;
use http_clients::ws::{self, Frame, WsOptions, WsReceiver, WsSender};
use tokio::sync::watch;
use tokio::time::timeout;
use url::Url;

use crate::ws_limits::{MESSAGE_BYTES, WRITE_TIMEOUT};

/// Connects to the other server.
pub(crate) async fn connect(url: &Url) -> Result<(WsSender, WsReceiver), Problem> {
    let options = WsOptions {
        max_frame: MESSAGE_BYTES,
        ..WsOptions::default()
    };
    ws::connect(url, &options).await.map_err(|error| {
        tracing::warn!(event = "ws.upstream_failed", %error, "the server behind /ws is not there");
        match error {
            HttpError::TimedOut { .. } => {
                Problem::gateway_timeout("the server behind /ws does not answer")
            }
            _ => Problem::bad_gateway("the server behind /ws cannot be reached"),
        }
    })
}

/// Passes frames until one side has ended, is too slow, or this server ends.
pub async fn pass(
    (sender, receiver): (WsSender, WsReceiver),
    session: Session,
    messages: MessageStream,
    mut closing: watch::Receiver<bool>,
) {
    let reason = tokio::select! {
        reason = up(messages, sender) => reason,
        reason = down(receiver, session.clone()) => reason,
        _ = closing.changed() => Some(CloseCode::Away.into()),
    };
    // Whoever does not read it is gone anyway.
    let _ = timeout(WRITE_TIMEOUT, session.close(reason)).await;
}

/// From the client to the other server; the reason to close with.
async fn up(mut messages: MessageStream, mut sender: WsSender) -> Option<CloseReason> {
    loop {
        let message = match messages.recv().await {
            Some(Ok(Message::Close(reason))) => {
                let _ = timeout(WRITE_TIMEOUT, sender.send(Message::Close(reason.clone()))).await;
                return reason;
            }
            Some(Ok(message)) => message,
            Some(Err(error)) => return Some((CloseCode::Protocol, error.to_string()).into()),
            None => return None,
        };
        match timeout(WRITE_TIMEOUT, sender.send(message)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return Some(gone()),
        }
    }
}

/// From the other server to the client; the reason to close with.
async fn down(mut receiver: WsReceiver, mut session: Session) -> Option<CloseReason> {
    while let Some(frame) = receiver.next().await {
        let Ok(frame) = frame else { break };
        let sent = match frame {
            Frame::Text(text) => match String::from_utf8(text.to_vec()) {
                Ok(text) => timeout(WRITE_TIMEOUT, session.text(text)).await,
                Err(_) => return Some((CloseCode::Invalid, "a text that is not UTF-8").into()),
            },
            Frame::Binary(bytes) => timeout(WRITE_TIMEOUT, session.binary(bytes)).await,
            Frame::Continuation(item) => timeout(WRITE_TIMEOUT, session.continuation(item)).await,
            Frame::Ping(bytes) => timeout(WRITE_TIMEOUT, session.ping(&bytes)).await,
            Frame::Pong(bytes) => timeout(WRITE_TIMEOUT, session.pong(&bytes)).await,
            Frame::Close(reason) => return reason,
        };
        if !matches!(sent, Ok(Ok(()))) {
            return None;
        }
    }
    Some(gone())
}

fn gone() -> CloseReason {
    (CloseCode::Error, "the server behind this one is gone").into()
}

//! A real WebSocket client.

use std::net::SocketAddr;
use std::pin::Pin;

use awc::error::WsProtocolError as ProtocolError;
use awc::ws::{Frame, Message};
use futures_util::{Sink, SinkExt as _, Stream, StreamExt as _};
use serde_json::Value;

use crate::harness::{DEADLINE, Server};

/// A client's connection: what it hears, and what it says.
pub(crate) struct Socket {
    pub(crate) hears: Pin<Box<dyn Stream<Item = Result<Frame, ProtocolError>>>>,
    pub(crate) says: Pin<Box<dyn Sink<Message, Error = ProtocolError>>>,
}

impl Socket {
    pub(crate) async fn open(server: &Server) -> Self {
        let (response, socket) = Self::offering(server.address, &[])
            .await
            .expect("the upgrade");
        assert_eq!(response.status(), 101);
        socket
    }

    /// Connects as a page does: with subprotocols, and no other headers.
    pub(crate) async fn offering(
        address: SocketAddr,
        protocols: &[&str],
    ) -> Result<(awc::ClientResponse, Self), awc::error::WsClientError> {
        let request = awc::Client::new().ws(format!("ws://{address}/ws"));
        let request = match protocols {
            [] => request,
            offered => request.protocols(offered),
        };
        let (response, framed) = request.max_frame_size(1 << 20).connect().await?;
        let (says, hears) = framed.split();
        let socket = Self {
            hears: Box::pin(hears),
            says: Box::pin(says),
        };
        Ok((response, socket))
    }

    pub(crate) async fn say(&mut self, message: &Value) {
        let text = Message::Text(message.to_string().into());
        self.says.send(text).await.expect("sent");
    }

    /// The next frame that is no ping.
    pub(crate) async fn frame(&mut self) -> Frame {
        loop {
            let frame = tokio::time::timeout(DEADLINE, self.hears.next()).await;
            let frame = frame.expect("in time").expect("open").expect("a frame");
            if !matches!(frame, Frame::Ping(_)) {
                return frame;
            }
        }
    }

    pub(crate) async fn hear(&mut self) -> Value {
        match self.frame().await {
            Frame::Text(text) => serde_json::from_slice(&text).expect("JSON"),
            other => panic!("{other:?} is no text"),
        }
    }

    /// The next message of this type; others are passed over.
    pub(crate) async fn hear_a(&mut self, kind: &str) -> Value {
        loop {
            let message = self.hear().await;
            if message["type"] == kind {
                return message;
            }
        }
    }
}

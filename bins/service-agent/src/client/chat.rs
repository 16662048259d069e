//! Chats whose answers come piece by piece.

use std::time::Duration;

use http_clients::http::Request;
use search_core::conversation::ChatAnswer;
use search_sources_core::mcp::sse::Events;
use serde_json::Value;

use super::{Client, MAX_ANSWER};
use crate::failure::ClientFailure;

/// The longest time until an answer begins; the server's own limits are shorter.
const CHAT_TIMEOUT: Duration = Duration::from_secs(300);

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ChatStreamItem {
    /// It begins.
    Start {
        /// The conversation it belongs to.
        conversation: String,
        /// Who answers: a provider's name.
        provider: String,
    },
    /// More text.
    Text(String),
}

impl Client {
    /// `POST /api/chat` with `stream`: gives each piece to `take`, and the whole answer at the end.
    ///
    /// # Errors
    /// See [`ClientFailure`].
    pub async fn chat(
        &self,
        body: &Value,
        mut take: impl FnMut(ChatStreamItem),
    ) -> Result<ChatAnswer, ClientFailure> {
        let request = Request::post(self.address(&["api", "chat"], &[])?)
            .json(body)
            .header("accept", "text/event-stream")
            .with_deadline(CHAT_TIMEOUT);
        let opened = self.http.open_or_read(self.with_token(request)).await;
        let mut stream = match opened.map_err(|error| self.failure(&error))? {
            Ok(stream) => stream.idle(CHAT_TIMEOUT),
            Err(response) => return Err(super::refusal(&response)),
        };
        let mut events = Events::new(MAX_ANSWER);
        while let Some(chunk) = stream.next_chunk().await {
            let chunk = chunk.map_err(|error| self.failure(&error))?;
            let came = events.push(&chunk);
            for event in came.map_err(|error| self.not_a_server(&error.to_string()))? {
                match event.name.as_deref() {
                    Some("start") => take(start(&event.data)),
                    Some("delta") => take(ChatStreamItem::Text(text(&event.data, "text"))),
                    Some("done") => {
                        let answer = serde_json::from_value(event.data);
                        return answer.map_err(|error| self.not_a_server(&error.to_string()));
                    }
                    Some("error") => return Err(failed(&event.data)),
                    _ => {}
                }
            }
        }
        Err(ClientFailure::Other("the answer breaks off".to_owned()))
    }
}

fn start(data: &Value) -> ChatStreamItem {
    ChatStreamItem::Start {
        conversation: text(data, "conversation_id"),
        provider: text(data, "provider"),
    }
}

fn text(data: &Value, key: &str) -> String {
    data[key].as_str().unwrap_or_default().to_owned()
}

fn failed(problem: &Value) -> ClientFailure {
    let detail = problem["detail"].as_str().unwrap_or("the chat failed");
    match problem["status"].as_u64() {
        Some(504) => ClientFailure::TimedOut {
            url: format!("the language model ({detail})"),
        },
        _ => ClientFailure::Other(detail.to_owned()),
    }
}

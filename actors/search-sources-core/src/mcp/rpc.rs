//! JSON-RPC 2.0 messages.

use serde_json::{Value, json};

/// Not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// JSON, but no request.
pub const INVALID_REQUEST: i64 = -32600;
/// No such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// Its parameters are wrong.
pub const INVALID_PARAMS: i64 = -32602;
/// The receiver failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// A routing header says something else than the body.
pub const HEADER_MISMATCH: i64 = -32020;
/// The revision asked for is not spoken.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Why the other side did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// One of the codes above, or the other side's own.
    pub code: i64,
    /// In words, one line.
    pub message: String,
}

/// A message that came in.
#[derive(Debug, Clone, PartialEq)]
pub enum IncomingMessage {
    /// The answer to a request of ours.
    Response {
        /// The request's number.
        id: u64,
        /// Its result.
        outcome: Result<Value, RpcError>,
    },
    /// A request of the other side.
    Request {
        /// To be repeated in the answer.
        id: Value,
        /// What is asked.
        method: String,
    },
    /// Something it tells, or an answer that nobody waits for.
    Other,
}

/// Longest message of an error that is kept, in characters.
const MAX_MESSAGE: usize = 300;

/// Reads a message as a client.
#[must_use]
pub fn incoming(message: &Value) -> IncomingMessage {
    let method = message.get("method").and_then(Value::as_str);
    let id = message.get("id").filter(|id| !id.is_null());
    if let (Some(method), Some(id)) = (method, id) {
        return IncomingMessage::Request {
            id: id.clone(),
            method: method.to_owned(),
        };
    }
    let Some(id) = id.and_then(Value::as_u64) else {
        return IncomingMessage::Other;
    };
    if let Some(error) = message.get("error") {
        return IncomingMessage::Response {
            id,
            outcome: Err(error_of(error)),
        };
    }
    match message.get("result") {
        Some(result) => IncomingMessage::Response {
            id,
            outcome: Ok(result.clone()),
        },
        None => IncomingMessage::Other,
    }
}

fn error_of(error: &Value) -> RpcError {
    let message = error.get("message").and_then(Value::as_str);
    RpcError {
        code: error.get("code").and_then(Value::as_i64).unwrap_or(0),
        message: one_line(message.unwrap_or("it failed without a word")),
    }
}

/// One line of at most 300 characters.
#[must_use]
pub fn one_line(text: &str) -> String {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").chars().take(MAX_MESSAGE).collect()
}

/// A request.
#[must_use]
pub fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification.
#[must_use]
pub fn notification(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "method": method, "params": params})
}

/// An answer with a result.
#[must_use]
pub fn result(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// An answer that says no; `data` may be null.
#[must_use]
pub fn failure(id: &Value, code: i64, message: &str, data: Value) -> Value {
    let mut error = json!({"code": code, "message": message});
    if !data.is_null() {
        error["data"] = data;
    }
    json!({"jsonrpc": "2.0", "id": id, "error": error})
}

/// What a client says to a request of the server: it offers nothing but to be there.
#[must_use]
pub fn client_reply(id: &Value, method: &str) -> Value {
    match method {
        "ping" => result(id, &json!({})),
        _ => failure(
            id,
            METHOD_NOT_FOUND,
            "this client only searches",
            Value::Null,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        let ok = incoming(&json!({"jsonrpc": "2.0", "id": 3, "result": {"a": 1}}));
        assert_eq!(
            ok,
            IncomingMessage::Response {
                id: 3,
                outcome: Ok(json!({"a": 1}))
            }
        );
        let failed =
            incoming(&json!({"id": 3, "error": {"code": -1, "message": "a\nb\u{1b}[31m"}}));
        let IncomingMessage::Response {
            outcome: Err(error),
            ..
        } = failed
        else {
            panic!("an error")
        };
        assert_eq!(error.to_string(), "a b [31m (-1)");
        let asked = incoming(&json!({"id": "x", "method": "roots/list"}));
        assert!(
            matches!(asked, IncomingMessage::Request { ref method, .. } if method == "roots/list")
        );
        for odd in [
            json!({"method": "notifications/message"}),
            json!([1]),
            json!({"id": null, "error": {}}),
            json!({"id": 1}),
            json!("x"),
        ] {
            assert_eq!(incoming(&odd), IncomingMessage::Other, "{odd}");
        }
        let reply = client_reply(&json!("x"), "roots/list");
        assert_eq!(reply["error"]["code"], METHOD_NOT_FOUND);
    }
}

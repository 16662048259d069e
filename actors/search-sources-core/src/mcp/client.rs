//! What a client sends, and how it finds out which generation a server speaks.

use base64::Engine;
use serde_json::{Map, Value, json};

use crate::mcp::{HANDSHAKE_VERSION, HANDSHAKE_VERSIONS, STATELESS_VERSION, rpc};

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const INFO_KEY: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// How a server is spoken to, once that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Generation {
    /// After a handshake, in this revision.
    Handshake(String),
    /// Each request for itself.
    Stateless,
}

impl Generation {
    /// The revision, for the header `MCP-Protocol-Version`.
    #[must_use]
    pub fn version(&self) -> &str {
        match self {
            Self::Handshake(version) => version,
            Self::Stateless => STATELESS_VERSION,
        }
    }

    /// A request of this generation.
    #[must_use]
    pub fn request(&self, id: u64, method: &str, params: Value) -> Value {
        match self {
            Self::Handshake(_) => rpc::request(id, method, &params),
            Self::Stateless => rpc::request(id, method, &with_envelope(params)),
        }
    }
}

/// This program, as it introduces itself.
fn client_info() -> Value {
    json!({"name": "orrery", "version": env!("CARGO_PKG_VERSION")})
}

fn with_envelope(params: Value) -> Value {
    let mut params = match params {
        Value::Object(params) => params,
        _ => Map::new(),
    };
    let meta =
        json!({VERSION_KEY: STATELESS_VERSION, INFO_KEY: client_info(), CAPABILITIES_KEY: {}});
    params.insert("_meta".to_owned(), meta);
    Value::Object(params)
}

/// The first question: only the stateless generation understands it.
#[must_use]
pub fn discover(id: u64) -> Value {
    Generation::Stateless.request(id, "server/discover", json!({}))
}

/// Whether the answer to [`discover`] says that requests without a handshake are served.
#[must_use]
pub fn is_stateless(discovered: &Value) -> bool {
    let versions = discovered
        .get("supportedVersions")
        .and_then(Value::as_array);
    versions.is_some_and(|versions| versions.iter().any(|version| version == STATELESS_VERSION))
}

/// The first half of the handshake.
#[must_use]
pub fn initialize(id: u64) -> Value {
    let params = json!({"protocolVersion": HANDSHAKE_VERSION, "capabilities": {}, "clientInfo": client_info()});
    rpc::request(id, "initialize", &params)
}

/// The generation that the answer to [`initialize`] agrees to.
///
/// # Errors
/// The revision it wants, when that is none that is known.
pub fn agreed(initialized: &Value) -> Result<Generation, String> {
    let version = initialized.get("protocolVersion").and_then(Value::as_str);
    let version = version.unwrap_or_default();
    if HANDSHAKE_VERSIONS.contains(&version) {
        return Ok(Generation::Handshake(version.to_owned()));
    }
    Err(format!(
        "it speaks the protocol's revision {:?}, which is not known here",
        rpc::one_line(version)
    ))
}

/// The second half of the handshake.
#[must_use]
pub fn initialized() -> Value {
    rpc::notification("notifications/initialized", &json!({}))
}

/// Whether a server says that it has something of this kind (`tools`, `resources`); `introduction`
/// is its answer to [`discover`] or [`initialize`].
#[must_use]
pub fn offers(introduction: &Value, kind: &str) -> bool {
    introduction
        .get("capabilities")
        .and_then(|capabilities| capabilities.get(kind))
        .is_some_and(|value| !value.is_null())
}

/// What the header `Mcp-Name` says of a request, where it has one.
#[must_use]
pub fn routing_name(message: &Value) -> Option<String> {
    let key = match message.get("method")?.as_str()? {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    Some(header_value(message.get("params")?.get(key)?.as_str()?))
}

/// A value as it can stand in a header.
fn header_value(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        && text.trim() == text
        && !text.starts_with("=?base64?");
    if plain {
        return text.to_owned();
    }
    let coded = base64::engine::general_purpose::STANDARD.encode(text);
    format!("=?base64?{coded}?=")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generations_differ_in_the_envelope() {
        let plain = Generation::Handshake("2025-06-18".to_owned());
        let message = plain.request(1, "tools/list", json!({}));
        assert_eq!(message["params"], json!({}));
        let message = Generation::Stateless.request(1, "tools/call", json!({"name": "s"}));
        assert_eq!(message["params"]["_meta"][VERSION_KEY], STATELESS_VERSION);
        assert_eq!(message["params"]["name"], "s");
        assert!(message["params"]["_meta"][CAPABILITIES_KEY].is_object());
    }

    #[test]
    fn what_servers_say_of_themselves() {
        assert!(is_stateless(
            &json!({"supportedVersions": ["2025-11-25", "2026-07-28"]})
        ));
        assert!(!is_stateless(&json!({"supportedVersions": ["2025-11-25"]})));
        assert!(!is_stateless(&json!("2026-07-28")));
        let agreed_to = agreed(&json!({"protocolVersion": "2024-11-05"})).unwrap();
        assert_eq!(agreed_to.version(), "2024-11-05");
        assert!(agreed(&json!({"protocolVersion": "1999"})).is_err() && agreed(&json!(1)).is_err());
        let introduction = json!({"capabilities": {"tools": {}, "resources": null}});
        assert!(offers(&introduction, "tools") && !offers(&introduction, "resources"));
    }

    #[test]
    fn names_travel_in_headers() {
        for (name, header) in [
            ("search", "search"),
            ("süß", "=?base64?c8O8w58=?="),
            (" a", "=?base64?IGE=?="),
            ("=?base64?x", "=?base64?PT9iYXNlNjQ/eA==?="),
        ] {
            let message = rpc::request(1, "tools/call", &json!({"name": name}));
            assert_eq!(routing_name(&message).as_deref(), Some(header));
        }
        assert_eq!(
            routing_name(&rpc::request(1, "tools/list", &json!({}))),
            None
        );
    }
}

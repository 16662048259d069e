//! Payloads and headers for the other modules.

use forge_core::{
    Delivery, EventError, ForgeEvent, ObjectFormats, ParseOptions, WebhookHeaders, WebhookSecrets,
};
use serde_json::Value;

/// A stored payload, as a tree to change in a test.
pub(crate) fn payload(name: &str) -> Value {
    serde_json::from_slice(&raw(name)).expect("a payload is JSON")
}

/// A stored payload, byte by byte.
pub(crate) fn raw(name: &str) -> Vec<u8> {
    let folder = "tests/payloads";
    std::fs::read(format!("{folder}/{name}.json")).expect("the payload exists")
}

/// Headers from text.
pub(crate) fn headers(list: &[(&str, &str)]) -> WebhookHeaders {
    WebhookHeaders::collect(list.iter().map(|(name, value)| (*name, value.as_bytes())))
}

/// The headers a forge names its event with.
pub(crate) fn event_header(name: &str) -> WebhookHeaders {
    headers(&[("X-GitHub-Event", name)])
}

/// Reads a delivery that nobody signed.
pub(crate) fn delivery(headers: &WebhookHeaders, body: &[u8]) -> Result<Delivery, EventError> {
    let secrets = WebhookSecrets::new("a secret").expect("not empty");
    Delivery::parse(headers, body, secrets.digest(body), ParseOptions::default())
}

/// Reads a body under a declared event; none is declared for "".
pub(crate) fn read(event: &str, body: &Value) -> Result<ForgeEvent, EventError> {
    let declared = if event.is_empty() {
        headers(&[])
    } else {
        event_header(event)
    };
    ForgeEvent::parse(&declared, body.to_string().as_bytes(), ObjectFormats::Sha1)
}

/// The message a body is refused with.
pub(crate) fn refusal(event: &str, body: &Value) -> String {
    read(event, body)
        .expect_err("the body must be refused")
        .to_string()
}

/// A payload with the value at a JSON pointer replaced.
pub(crate) fn with(name: &str, pointer: &str, value: Value) -> Value {
    let mut body = payload(name);
    *body.pointer_mut(pointer).expect("the field exists") = value;
    body
}

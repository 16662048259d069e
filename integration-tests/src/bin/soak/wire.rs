//! One HTTP request over a connection of its own; a program that is being killed answers nothing,
//! and that is no error.

use std::net::SocketAddr;
use std::time::Duration;

use scripted_peers::{Reply, ask_within};
use serde_json::Value;

/// A program that is paused does not answer.
pub(crate) const REPLY_TIMEOUT: Duration = Duration::from_secs(20);

/// Sends a request (`GET /path`); `None` when there is no whole answer.
pub(crate) fn ask(
    address: SocketAddr,
    request: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Reply> {
    ask_within(REPLY_TIMEOUT, &address.to_string(), request, headers, body)
}

/// `GET` of JSON; `None` when there is no answer with status 200.
pub(crate) fn get(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Option<Value> {
    let answer = ask(address, &format!("GET {path}"), headers, "")?;
    (answer.status == 200).then(|| answer.json())
}

//! Chats, summaries and `/ws` of a whole server on port 0, with scripted language-model servers.

mod chat;
#[allow(
    dead_code,
    reason = "shared with the tests of the whole, which use more of it"
)]
#[path = "../../../../integration-tests/tests/all/harness.rs"]
mod harness;
mod real_model;
#[allow(dead_code, reason = "shared with other tests, which use more of it")]
#[path = "../socket/mod.rs"]
mod socket;
mod sockets;

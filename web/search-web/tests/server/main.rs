//! A whole server on port 0: its configuration, what it promises, and sources that fail.

mod defects;
mod faults;
#[allow(
    dead_code,
    reason = "shared with the tests of the whole, which use more of it"
)]
#[path = "../../../../integration-tests/tests/all/harness.rs"]
mod harness;
mod progress;
mod reading;
mod settings;
mod settings_guards;
#[allow(dead_code, reason = "shared with other tests, which use more of it")]
#[path = "../socket/mod.rs"]
mod socket;
mod sockets;
mod troubled;

//! W09: memory per connection. A test binary of its own: the figures are the process's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "edge/support.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::time::Duration;

use edge_web::BodyLimits;
use support::{Setup, TestServer};

const LIMIT: usize = 1024 * 1024;
const CLIENTS: usize = 40;

#[test]
fn w09_many_endless_bodies_cost_bounded_memory() {
    let limits = BodyLimits {
        max_bytes: LIMIT,
        deadline: Duration::from_secs(60),
    };
    let server = TestServer::with(Setup {
        limits,
        ..Setup::default()
    });
    let json = "Content-Type: application/json\r\n";
    let chunk = [b"8000\r\n".as_slice(), &[b'x'; 0x8000], b"\r\n"].concat();
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{json}\r\n"
    );
    // The same in small first: the code that all share is in memory then.
    for ending in ["8\r\n01234567\r\n0\r\n\r\n", "xyz\r\n"] {
        let mut first = server.connect();
        first.write(&head);
        first.write(ending);
        first.answer();
    }
    server
        .ask(format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n{json}\r\n"
        ))
        .problem(413);
    let mut clients: Vec<_> = (0..CLIENTS).map(|_| server.connect()).collect();
    clients.iter_mut().for_each(|client| client.write(&head));
    let before = kilobytes("VmRSS:");
    // From here on the kernel's high-water mark counts anew.
    std::fs::write("/proc/self/clear_refs", "5").unwrap();
    // All bodies grow at the same time, each to the limit; then each passes it.
    for _ in 0..LIMIT / 0x8000 {
        clients.iter_mut().for_each(|client| client.write(&chunk));
    }
    // All bytes are in the server, and none has been refused yet.
    let deadline = std::time::Instant::now() + support::TEST_TIMEOUT;
    while (kilobytes("VmRSS:").saturating_sub(before)) * 1024 < CLIENTS * LIMIT * 99 / 100 {
        assert!(
            std::time::Instant::now() < deadline,
            "the bodies do not arrive"
        );
        std::thread::yield_now();
    }
    clients
        .iter_mut()
        .for_each(|client| client.write("1\r\nx\r\n"));
    for client in &mut clients {
        client.answer().problem(413);
    }
    let each = (kilobytes("VmHWM:") - before) * 1024 / CLIENTS;
    assert!(each <= LIMIT + 64 * 1024, "{each} bytes per connection");
}

/// A line of this process's memory figures.
fn kilobytes(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_ascii_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap()
}

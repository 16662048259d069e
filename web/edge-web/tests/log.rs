//! What the edge logs. A test binary of its own: the subscriber is the process's.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "edge/support.rs"]
#[allow(dead_code, reason = "shared with the other tests")]
mod support;

use std::io;
use std::sync::{Arc, Mutex};

use support::TestServer;

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// The lines with a part; waits for the first, as a line may follow its answer.
    fn with(&self, part: &str) -> Vec<String> {
        let deadline = std::time::Instant::now() + support::TEST_TIMEOUT;
        loop {
            let found: Vec<_> = self
                .text()
                .lines()
                .filter(|line| line.contains(part))
                .map(str::to_owned)
                .collect();
            if !found.is_empty() || std::time::Instant::now() > deadline {
                return found;
            }
            std::thread::yield_now();
        }
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn s16_w30_the_log_is_readable_bounded_and_without_secrets() {
    let lines = Lines::default();
    let writer = lines.clone();
    tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .init();
    let server = TestServer::start();

    // The access log: one line a request, with what it takes to find it again.
    server.get_with(
        "/api/documents/7?q=a%0d%0ab%1b[2J&token=hunter2",
        "X-Request-Id: first\r\n",
    );
    let found = lines.with("request_id=first method=GET");
    assert_eq!(found.len(), 1, "{found:?}");
    for part in [
        "event=\"http.request\"",
        "path=/api/documents/7?q=a%0d%0ab%1b[2J&token=…",
        "status=200",
        "ms=",
    ] {
        assert!(found[0].contains(part), "{part} in {found:?}");
    }
    assert!(found[0].contains("DEBUG"), "{found:?}");

    server
        .get_with(
            "/nowhere",
            "X-Request-Id: second\r\nAuthorization: Bearer hunter2\r\nCookie: hunter2\r\n",
        )
        .problem(404);
    let found = lines.with("request_id=second method=GET");
    assert!(
        found.len() == 1 && found[0].contains("INFO") && found[0].contains("status=404"),
        "{found:?}"
    );

    // A panic: its text on one line, under the request's id.
    server
        .get_with("/api/panic", "X-Request-Id: third\r\n")
        .problem(500);
    let found = lines.with("http.panic");
    assert!(
        found.len() == 1 && found[0].contains("request_id=third"),
        "{found:?}"
    );
    assert!(found[0].contains("handler\\r\\nforged line"), "{found:?}");

    // A flood of bad signatures: counted one by one, logged once a second.
    let started = std::time::Instant::now();
    for _ in 0..300 {
        server
            .post("/webhook", "Content-Type: application/json\r\n", "{}")
            .problem(403);
    }
    let seconds = started.elapsed().as_secs() as usize;
    let found = lines.with("http.bad_signature");
    assert!(
        (1..=seconds + 1).contains(&found.len()),
        "{} lines in {seconds} s",
        found.len()
    );
    assert_eq!(server.metrics.bad_signatures().get(), 300);

    let text = lines.text();
    assert!(!text.contains("hunter2"), "no secret is logged");
    let control = |character: char| character.is_control() && character != '\n';
    assert!(!text.contains(control), "no control character is logged");
}

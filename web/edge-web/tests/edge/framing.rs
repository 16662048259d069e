//! W11: requests whose framing can be read in two ways. Each is answered 400, and the connection is
//! closed without the rest being taken for another request.

use std::time::Duration;

use edge_web::ServeOptions;

use crate::support::{Setup, TestServer};

/// Sends `request` followed by a second one that must never be answered.
#[track_caller]
fn assert_400_and_closed(server: &TestServer, request: &str) {
    let mut client = server.connect();
    client.write(format!(
        "{request}GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"
    ));
    assert_eq!(client.answer().status, 400, "{request:?}");
    assert_eq!(client.closed(), "", "{request:?}: nothing more is answered");
}

#[test]
fn w11_two_lengths_or_a_length_and_chunks() {
    let server = TestServer::start();
    for fields in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 3\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3, 3\r\n",
        "Content-Length: +3\r\n",
        "Content-Length: -3\r\n",
        "Content-Length: 0x3\r\n",
        "Content-Length: 3 3\r\n",
        "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 3\r\n",
        "Transfer-Encoding\t: chunked\r\n",
        "Content-Length : 3\r\n",
    ] {
        assert_400_and_closed(
            &server,
            &format!("POST /api/search HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n{{}}"),
        );
    }
}

#[test]
fn w11_folded_lines() {
    let server = TestServer::start();
    for fold in [" ", "\t"] {
        assert_400_and_closed(
            &server,
            &format!("GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n{fold}c\r\n\r\n"),
        );
        assert_400_and_closed(
            &server,
            &format!("GET /livez HTTP/1.1\r\n{fold}Host: localhost\r\n\r\n"),
        );
    }
}

#[test]
fn w11_bare_line_feeds_and_carriage_returns() {
    let server = TestServer::start();
    for request in [
        "GET /livez HTTP/1.1\nHost: localhost\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\n\n",
        "GET /livez HTTP/1.1\nHost: localhost\n\n",
        "\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: b\rX-C: d\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: b\0\r\n\r\n",
    ] {
        assert_400_and_closed(&server, request);
    }
}

#[test]
fn w11_bare_line_feeds_among_chunks() {
    let server = TestServer::start();
    let head = "POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    for chunks in [
        "2\n{}\r\n0\r\n\r\n",
        "2\r\n{}\n0\r\n\r\n",
        "2\r\n{}\r\n0\n\r\n",
        "2\r\n{}\r\n0\r\nX: y\n\r\n",
        "2\r\n{}\r\n0\r\nX: y\n\n",
        "2\r\n{}\r\n0\r\n\n",
        "2;a\nb\r\n{}\r\n0\r\n\r\n",
        "-2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n",
        "10000000000000000\r\n{}\r\n0\r\n\r\n",
    ] {
        assert_400_and_closed(&server, &format!("{head}{chunks}"));
    }
}

#[test]
fn w11_a_bare_line_feed_in_the_second_request_of_a_connection() {
    let server = TestServer::start();
    let mut client = server.connect();
    let body = "{\"search_term\":\n\"a\"}";
    let request = format!(
        "POST /api/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..3 {
        client.write(&request);
        assert_eq!(client.answer().status, 200, "line feeds belong in bodies");
    }
    client.write("GET /livez HTTP/1.1\r\nHost: localhost\n\r\n");
    assert_eq!(client.answer().status, 400);
    client.closed();
}

#[test]
fn w11_missing_and_repeated_host() {
    let server = TestServer::start();
    assert_400_and_closed(&server, "GET /livez HTTP/1.1\r\n\r\n");
    assert_400_and_closed(
        &server,
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    );
}

#[test]
fn a_head_that_never_ends_is_closed_on_used_connections_too() {
    let options = ServeOptions {
        client_request_timeout: Duration::from_millis(500),
        ..ServeOptions::default()
    };
    let server = TestServer::with(Setup {
        options,
        ..Setup::default()
    });
    let mut client = server.connect();
    client.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(client.answer().status, 200);
    client.write("GET /livez HTTP/1.1\r\nHost: loc");
    client.closed();
}

#[test]
fn a_head_without_end_is_a_431() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.write(format!(
        "GET /livez HTTP/1.1\r\nHost: localhost\r\nX-A: {}",
        "a".repeat(140_000)
    ));
    assert_eq!(client.answer().status, 431);
    client.closed();
}

#[test]
fn a_client_that_takes_nothing_of_its_answer_is_dropped() {
    let options = ServeOptions {
        client_stall_timeout: Duration::from_millis(300),
        ..ServeOptions::default()
    };
    let server = TestServer::with(Setup {
        options,
        ..Setup::default()
    });
    let mut client = server.connect();
    client.write("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let deadline = std::time::Instant::now() + crate::support::TEST_TIMEOUT;
    // Nothing is read here; a write fails once the server has closed the connection.
    while std::io::Write::write_all(&mut client.stream, b"x").is_ok() {
        assert!(
            std::time::Instant::now() < deadline,
            "the connection is still open"
        );
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

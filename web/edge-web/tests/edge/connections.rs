//! A full house: who goes, who is told so, and that health answers.

use edge_web::{ConcurrencyLimit, ServeOptions};

use crate::support::{Client, Setup, TestServer};

fn server(max_connections: usize, of_address: Option<usize>) -> TestServer {
    TestServer::with(Setup {
        options: ServeOptions {
            // One: connections are taken in the order of their coming.
            workers: 1,
            max_connections,
            max_connections_per_address: of_address,
            // Nothing but the lack of room closes one here.
            client_request_timeout: crate::support::TEST_TIMEOUT * 10,
            keep_alive: crate::support::TEST_TIMEOUT * 10,
            ..ServeOptions::default()
        },
        gate: ConcurrencyLimit::new(8, 7),
        ..Setup::default()
    })
}

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

#[test]
fn t8_silent_and_half_sent_connections_make_room_for_requests() {
    let server = server(20, None);
    let mut regular = server.connect();
    regular.write(LIVEZ);
    assert_eq!(regular.answer().status, 200);
    // As many as a stranger opens; some begin a request that never ends.
    let mut idle: Vec<Client> = (0..100)
        .map(|number| {
            let mut client = server.connect();
            if number % 2 == 0 {
                client.write("POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Le");
            }
            client
        })
        .collect();
    for path in ["/livez", "/readyz", "/api/documents/7", "/metrics"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    assert_eq!(idle[0].closed(), "", "the oldest ones had to go");
    assert_eq!(idle[1].closed(), "");
    // Whoever has asked before is missed more than whoever never did.
    regular.write(LIVEZ);
    assert_eq!(regular.answer().status, 200);
}

#[test]
fn t8_bodies_that_never_end_make_room_too() {
    let server = server(4, None);
    let head = "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{";
    let mut slow: Vec<Client> = (0..4)
        .map(|_| {
            let mut client = server.connect();
            client.write(head);
            client
        })
        .collect();
    // Each has its place before the next one comes.
    assert_eq!(server.get("/api/documents/7").status, 200);
    let ended = slow[0].closed();
    assert!(
        !ended.contains(" 200 ") && !ended.contains(" 202 "),
        "{ended}"
    );
}

#[test]
fn t8_where_all_are_being_answered_others_are_told_to_come_again_and_health_answers() {
    let server = server(2, None);
    let folder = tempfile::tempdir().unwrap();
    let mut busy: Vec<Client> = Vec::new();
    for number in 0..2 {
        let file = folder.path().join(format!("go-{number}"));
        let mut client = server.connect();
        client.write(format!(
            "GET /api/busy?file={} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            file.display()
        ));
        while !std::path::Path::new(&format!("{}.inside", file.display())).exists() {
            std::thread::yield_now();
        }
        busy.push(client);
    }
    for _ in 0..40 {
        assert_eq!(server.get("/livez").status, 200);
        assert_eq!(server.get("/readyz").status, 200);
        let refused = server.get("/api/documents/7");
        refused.problem(503);
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    for (number, client) in busy.iter_mut().enumerate() {
        std::fs::write(folder.path().join(format!("go-{number}")), "").unwrap();
        assert_eq!(client.answer().status, 200, "who was in goes out well");
    }
    assert_eq!(server.get("/api/documents/7").status, 200);
}

#[test]
fn t8_who_sends_a_request_in_time_is_answered_in_a_crowd_too() {
    let server = server(4, None);
    // More at once than there are places and places aside: all were sent before the first is
    // answered, or nearly.
    let mut crowd: Vec<Client> = (0..300)
        .map(|number| {
            let mut client = server.connect();
            client.write(format!(
                "GET /api/documents/{number} HTTP/1.1\r\nHost: localhost\r\n\r\n"
            ));
            client
        })
        .collect();
    let mut served = 0;
    for (number, client) in crowd.iter_mut().enumerate() {
        let answer = client.answer();
        match answer.status {
            200 => served += 1,
            503 => assert_eq!(answer.header("retry-after"), Some("1"), "{number}"),
            other => panic!("{number}: {other}"),
        }
    }
    assert!(served > 0);
    // Where everybody is being answered and nobody finds a place aside, too.
    let folder = tempfile::tempdir().unwrap();
    let mut waiting: Vec<Client> = (0..60)
        .map(|_| {
            let mut client = server.connect();
            client.write(format!(
                "GET /api/wait?file={}/go HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                folder.path().display()
            ));
            client
        })
        .collect();
    std::fs::write(folder.path().join("go"), "").unwrap();
    for client in &mut waiting {
        let answer = client.answer();
        assert!([200, 503].contains(&answer.status), "{answer:?}");
    }
}

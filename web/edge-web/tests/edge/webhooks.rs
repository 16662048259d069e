//! W: what a receiver of signed webhooks must survive.

use std::io::Write as _;
use std::time::Duration;

use edge_web::BodyLimits;

use crate::support::{Answer, SECRET, Setup, TestServer, post};

const PING: &str =
    r#"{"zen":"Keep it simple.","hook_id":1,"repository":{"full_name":"acme/rocket"}}"#;

/// The headers of a signed delivery.
fn signed(body: &[u8]) -> String {
    let signature = forge_core::sign(SECRET, body).unwrap().hub();
    format!(
        "Content-Type: application/json\r\nX-GitHub-Event: ping\r\nX-Hub-Signature-256: {signature}\r\n"
    )
}

fn with_signature(value: &str) -> String {
    format!(
        "Content-Type: application/json\r\nX-GitHub-Event: ping\r\nX-Hub-Signature-256: {value}\r\n"
    )
}

#[track_caller]
fn assert_refused(answer: &Answer) {
    let mut problem = answer.problem(403);
    problem.as_object_mut().unwrap().remove("request_id");
    let expected = serde_json::json!({
        "type": "urn:orrery:problem:invalid-signature",
        "title": "Invalid signature",
        "status": 403,
        "detail": "the signature of the body does not hold",
    });
    assert_eq!(problem, expected, "one answer for all causes");
}

#[test]
fn a_signed_body_is_accepted() {
    let server = TestServer::start();
    let answer = server.post("/webhook", &signed(PING.as_bytes()), PING);
    assert_eq!(answer.status, 202, "{answer:?}");
    assert_eq!(server.metrics.good_signatures().get(), 1);
}

fn for_host(host: &str, method: &str, target: &str, headers: &str) -> String {
    format!(
        "{method} {target} HTTP/1.1\r\nHost: {host}\r\n{headers}Content-Length: {}\r\n\r\n{PING}",
        PING.len()
    )
}

/// A forge names the receiver as it knows it; the signature says whether it is meant.
#[test]
fn contract_a_signed_webhook_is_taken_under_every_name() {
    let server = signing_server();
    let headers = signed(PING.as_bytes());
    for host in ["ci.example.org:3000", "runner:3000", "localhost"] {
        let answer = server.ask(for_host(host, "POST", "/webhook", &headers));
        assert_eq!(answer.status, 202, "{host}: {answer:?}");
    }
    let target = "http://ci.example.org/webhook";
    let answer = server.ask(for_host("ci.example.org", "POST", target, &headers));
    assert_eq!(answer.status, 202, "{answer:?}");
}

/// The other side: what is not signed gets no further than before, and tells a page nothing more.
#[test]
fn contract_a_foreign_name_opens_nothing_but_the_signed_path() {
    let server = signing_server();
    let foreign = "evil.example";
    let plain = "Content-Type: application/json\r\n";
    let wrong = signed(b"{}");
    for headers in [plain, &wrong] {
        assert_refused(&server.ask(for_host(foreign, "POST", "/webhook", headers)));
    }
    // A page of that name may read what its own origin answers: it learns of the refusal only.
    let page = format!("{plain}Origin: http://{foreign}\r\n");
    assert_refused(&server.ask(for_host(foreign, "POST", "/webhook", &page)));
    let headers = signed(PING.as_bytes());
    for (method, target) in [
        ("GET", "/webhook"),
        ("PUT", "/webhook"),
        ("OPTIONS", "/webhook"),
        ("POST", "/webhook/"),
        ("POST", "//webhook"),
        ("POST", "/%77ebhook"),
        ("POST", "/webhook/../api/documents/search"),
        ("POST", "/api/documents/search"),
        ("GET", "/livez"),
    ] {
        let answer = server.ask(for_host(foreign, method, target, &headers));
        assert_eq!(answer.status, 421, "{method} {target}: {answer:?}");
    }
    for malformed in ["local host", ":80", "a:b:c"] {
        let answer = server.ask(for_host(malformed, "POST", "/webhook", &headers));
        assert_eq!(answer.status, 400, "{malformed}: {answer:?}");
    }
}

fn signing_server() -> TestServer {
    TestServer::with(Setup {
        configure: |config| config.signed = &["/webhook"],
        ..Setup::default()
    })
}

#[test]
fn w01_w02_no_signature_or_that_of_another_body() {
    let server = TestServer::start();
    assert_refused(&server.post("/webhook", "Content-Type: application/json\r\n", PING));
    assert_refused(&server.post("/webhook", &signed(b"{}"), PING));
    assert_eq!(server.metrics.bad_signatures().get(), 2);
    assert_eq!(server.metrics.good_signatures().get(), 0);
}

#[test]
fn w03_malformed_signatures_are_refused_alike() {
    let server = TestServer::start();
    let hex = forge_core::sign(SECRET, PING.as_bytes())
        .unwrap()
        .hex()
        .to_owned();
    let cases = [
        format!("sha1={hex}"),
        hex.clone(),
        format!("sha256={}", hex.to_uppercase()),
        format!("sha256={}", &hex[1..]),
        format!("sha256={hex}0"),
        format!("sha256={}g", &hex[1..]),
        format!("SHA256={hex}"),
        format!("sha256= {hex}"),
        format!("sha256={hex},sha256={hex}"),
        "sha256=".to_owned(),
        String::new(),
    ];
    for case in &cases {
        assert_refused(&server.post("/webhook", &with_signature(case), PING));
    }
    assert_eq!(server.metrics.bad_signatures().get(), cases.len() as u64);
}

#[test]
fn w04_of_two_signatures_both_must_hold() {
    let server = TestServer::start();
    let good = forge_core::sign(SECRET, PING.as_bytes()).unwrap();
    let bad = "0".repeat(64);
    let base = with_signature(&good.hub());
    assert_refused(&server.post(
        "/webhook",
        &format!("{base}X-Hub-Signature-256: sha256={bad}\r\n"),
        PING,
    ));
    let mixed = format!(
        "{}X-Gitea-Signature: {}\r\n",
        with_signature(&format!("sha256={bad}")),
        good.hex()
    );
    assert_refused(&server.post("/webhook", &mixed, PING));
}

#[test]
fn w05_the_same_json_written_otherwise_is_another_body() {
    let server = TestServer::start();
    let headers = signed(PING.as_bytes());
    for other in [
        PING.replace(':', ": "),
        PING.replace("simple", "s\\u0069mple"),
        format!("{PING}\n"),
        r#"{"hook_id":1,"zen":"Keep it simple.","repository":{"full_name":"acme/rocket"}}"#
            .to_owned(),
    ] {
        assert_refused(&server.post("/webhook", &headers, other));
    }
}

#[test]
fn w06_a_content_coding_is_refused_before_the_body_is_read() {
    let server = TestServer::start();
    for coding in ["gzip", "br", "zstd", "deflate", "identity, gzip", "GZIP"] {
        let headers = format!("{}Content-Encoding: {coding}\r\n", signed(PING.as_bytes()));
        server.post("/webhook", &headers, PING).problem(415);
    }
    let headers = format!(
        "{}Content-Encoding: identity\r\nContent-Encoding: gzip\r\n",
        signed(PING.as_bytes())
    );
    server.post("/webhook", &headers, PING).problem(415);
    let headers = format!("{}Content-Encoding: identity\r\n", signed(PING.as_bytes()));
    assert_eq!(server.post("/webhook", &headers, PING).status, 202);
    assert_eq!(
        server.metrics.bad_signatures().get(),
        0,
        "no signature was looked at"
    );
}

#[test]
fn w09_a_declared_length_over_the_limit_is_refused_unread() {
    let server = TestServer::start();
    let mut client = server.connect();
    // Not one byte of the body is ever sent.
    client.write(format!(
        "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 65537\r\n{}\r\n",
        signed(b"")
    ));
    client.answer().problem(413);
    client.closed();
    for length in ["18446744073709551615", "9223372036854775808"] {
        let mut client = server.connect();
        client.write(format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{}\r\n",
            signed(b"")
        ));
        client.answer().problem(413);
    }
    assert_eq!(
        server.metrics.bad_signatures().get(),
        0,
        "before any signature is looked at"
    );
}

#[test]
fn w09_a_body_at_the_limit_is_read_whole() {
    let server = TestServer::start();
    let body = vec![b' '; 64 * 1024];
    assert_refused(&server.post("/webhook", &with_signature("x"), &body));
    server.post("/webhook", &signed(&body), &body).problem(400);
    server
        .post("/webhook", &signed(&body), [body.as_slice(), b" "].concat())
        .problem(413);
    assert_eq!(server.metrics.good_signatures().get(), 1);
}

#[test]
fn w09_a_chunked_body_over_the_limit_is_refused_as_soon_as_it_passes() {
    let server = TestServer::start();
    let mut client = server.connect();
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n{}\r\n",
        signed(b"")
    );
    client.write(head);
    let chunk = [b"2000\r\n".as_slice(), &[b'x'; 0x2000], b"\r\n"].concat();
    for _ in 0..8 {
        client.write(&chunk);
    }
    client.write("1\r\nx\r\n");
    // The last chunk never comes: the answer does not wait for it.
    client.answer().problem(413);
    client.closed();
    assert_eq!(server.metrics.bad_signatures().get(), 0);
}

#[test]
fn w09_an_endless_body_that_nobody_reads_ends_the_connection() {
    let server = TestServer::start();
    for path in ["/nowhere", "/webhook", "/livez"] {
        let mut client = server.connect();
        client.write(format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        ));
        let mut writer = client.stream.try_clone().unwrap();
        let endless = std::thread::spawn(move || {
            let chunk = [b"2000\r\n".as_slice(), &[b'x'; 0x2000], b"\r\n"].concat();
            while writer.write_all(&chunk).is_ok() {}
        });
        let answer = client.answer();
        assert!(matches!(answer.status, 404 | 405 | 413 | 415), "{answer:?}");
        assert_eq!(answer.header("connection"), Some("close"));
        client.closed();
        endless.join().unwrap();
    }
}

#[test]
fn w10_a_trickling_body_is_closed_at_the_deadline_and_others_go_on() {
    let limits = BodyLimits {
        max_bytes: 64 * 1024,
        deadline: Duration::from_secs(2),
    };
    let server = TestServer::with(Setup {
        limits,
        ..Setup::default()
    });
    let mut slow = server.connect();
    slow.write(format!(
        "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n{}\r\n",
        signed(b"")
    ));
    let mut writer = slow.stream.try_clone().unwrap();
    let trickle = std::thread::spawn(move || {
        // Byte by byte until the server has had enough of it: the rate is the case itself.
        let mut sent = 0;
        while sent < 999 && writer.write_all(b"x").is_ok() {
            sent += 1;
            std::thread::park_timeout(Duration::from_millis(50));
        }
        sent
    });
    for _ in 0..200 {
        let answer = server.post("/webhook", &signed(PING.as_bytes()), PING);
        assert_eq!(answer.status, 202);
    }
    slow.answer().problem(408);
    slow.closed();
    assert!(
        trickle.join().unwrap() < 999,
        "closed before the body was complete"
    );
}

#[test]
fn w12_hostile_json_with_a_valid_signature_is_a_400_and_counted() {
    let server = TestServer::start();
    let long_key = format!(r#"{{"{}":1}}"#, "k".repeat(60_000));
    let deep = "[".repeat(60_000);
    let cases: &[&[u8]] = &[
        deep.as_bytes(),
        br#"{"number":1e999}"#,
        br#"{"repository":{"full_name":"\ud800"}}"#,
        b"\xef\xbb\xbf{}",
        b"{\"a\":\"\0\"}",
        b"{\"a\":\"\xff\"}",
        long_key.as_bytes(),
        b"",
        b"null",
        b"{} {}",
    ];
    for (index, body) in cases.iter().enumerate() {
        let answer = server.post("/webhook", &signed(body).replace("ping", "push"), body);
        answer.problem(400);
        assert_eq!(server.metrics.good_signatures().get(), index as u64 + 1);
    }
    assert_eq!(
        server
            .post("/webhook", &signed(PING.as_bytes()), PING)
            .status,
        202
    );
}

#[test]
fn w30_a_flood_of_bad_signatures_leaves_the_good_ones_alone() {
    const BAD: u64 = 5_000;
    let server = TestServer::start();
    let address = server.address;
    let flood = std::thread::spawn(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let request = post(
            "/webhook",
            &with_signature(&format!("sha256={}", "0".repeat(64))),
            PING.as_bytes(),
        );
        let mut reader = stream.try_clone().unwrap();
        let drain =
            std::thread::spawn(move || std::io::copy(&mut reader, &mut std::io::sink()).unwrap());
        (0..BAD).for_each(|_| stream.write_all(&request).unwrap());
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        drain.join().unwrap()
    });
    for _ in 0..200 {
        assert_eq!(
            server
                .post("/webhook", &signed(PING.as_bytes()), PING)
                .status,
            202
        );
    }
    assert!(flood.join().unwrap() > 0);
    assert_eq!(server.metrics.bad_signatures().get(), BAD);
}

#[test]
fn w31_other_methods_and_content_types_are_refused() {
    let server = TestServer::start();
    for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"] {
        let answer = server.ask(format!(
            "{method} /webhook HTTP/1.1\r\nHost: localhost\r\n\r\n"
        ));
        answer.problem(405);
        assert_eq!(answer.header("allow"), Some("POST"));
    }
    let charset =
        signed(PING.as_bytes()).replace("application/json", "Application/JSON; charset=utf-8");
    assert_eq!(server.post("/webhook", &charset, PING).status, 202);
}

#[test]
fn w31_a_missing_event_header_is_a_400_or_read_from_the_shape() {
    let server = TestServer::start();
    let headers = signed(PING.as_bytes()).replace("X-GitHub-Event: ping\r\n", "");
    let answer = server.post("/webhook", &headers, PING);
    assert!(matches!(answer.status, 202 | 400), "{answer:?}");
    assert_eq!(
        server.metrics.good_signatures().get(),
        1,
        "the signature was checked all the same"
    );
}

/// GitHub's default is a form; `curl --data-binary` calls JSON a form.
#[test]
fn v11_a_webhook_is_taken_in_whatever_content_type_and_as_a_form() {
    let server = TestServer::start();
    let form = format!("payload={}", percent(PING));
    for body in [PING, form.as_str()] {
        for kind in [
            "application/json",
            "application/x-www-form-urlencoded",
            "application/x-www-form-urlencoded; charset=utf-8",
            "text/plain",
            "application/octet-stream",
            "",
        ] {
            let headers = signed(body.as_bytes()).replace("application/json", kind);
            let answer = server.post("/webhook", &headers, body);
            assert_eq!(answer.status, 202, "{kind} {body}: {answer:?}");
        }
        let without = signed(body.as_bytes()).replace("Content-Type: application/json\r\n", "");
        assert_eq!(server.post("/webhook", &without, body).status, 202);
    }
    assert_eq!(server.metrics.bad_signatures().get(), 0);
    // The signature is that of the raw bytes, not of the JSON in them.
    assert_refused(&server.post("/webhook", &signed(PING.as_bytes()), &form));
    assert_refused(&server.post("/webhook", &signed(form.as_bytes()), PING));
    for nothing in ["payload=", "payload=%7B", "other=1", "<xml/>"] {
        let answer = server.post("/webhook", &signed(nothing.as_bytes()), nothing);
        assert_eq!(answer.status, 400, "{nothing}");
    }
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

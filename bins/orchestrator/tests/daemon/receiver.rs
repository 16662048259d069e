//! Attacks on the receiver.

use crate::harness::{Daemon, SECRET, Site, comment};

const AGENT: &str = "[mentions]\n[[agents]]\nproject = \"main\"\nname = \"greeter\"\ncli = \"sh\"\nscript = \"echo hi\"\n";

fn site() -> Site {
    Site::new("", AGENT)
}

fn body(id: u64) -> Vec<u8> {
    serde_json::to_vec(&comment(7, id, "@orch:greeter")).expect("JSON")
}

fn sign(body: &[u8]) -> String {
    forge_core::sign(SECRET, body).expect("a secret").hub()
}

fn rows(daemon: &Daemon) -> usize {
    daemon.get("/admin/runs")["runs"]
        .as_array()
        .expect("runs")
        .len()
}

#[test]
fn w01_w05_only_a_right_signature_is_believed() {
    let site = site();
    let daemon = site.start();
    let body = body(1);
    let right = sign(&body);
    let hex = right.trim_start_matches("sha256=").to_owned();
    let status = |headers: &[(&str, &str)], body: &[u8]| {
        daemon.raw_hook(headers, body).expect("an answer").status
    };
    assert_eq!(status(&[], &body), 403, "w01");
    assert_eq!(
        status(&[("X-Hub-Signature-256", &sign(b"{}"))], &body),
        403,
        "w02"
    );
    for wrong in [
        right.replace("sha256", "sha1"),
        hex.clone(),
        right.to_uppercase(),
        right[..right.len() - 1].to_owned(),
        format!("{right}0"),
        format!("sha256={}", "z".repeat(64)),
        String::new(),
    ] {
        assert_eq!(
            status(&[("X-Hub-Signature-256", &wrong)], &body),
            403,
            "w03 {wrong}"
        );
    }
    let other = sign(b"other");
    assert_eq!(
        status(
            &[
                ("X-Hub-Signature-256", &right),
                ("X-Hub-Signature-256", &other)
            ],
            &body
        ),
        403,
        "w04"
    );
    assert_eq!(
        status(
            &[("X-Gitea-Signature", &hex), ("X-Hub-Signature-256", &other)],
            &body
        ),
        403,
        "w04"
    );
    let spaced = String::from_utf8(body.clone())
        .expect("text")
        .replace(':', ": ");
    assert_eq!(
        status(&[("X-Hub-Signature-256", &right)], spaced.as_bytes()),
        403,
        "w05"
    );
    assert_eq!(rows(&daemon), 0);
    assert_eq!(
        status(&[("X-Gitea-Signature", &hex)], &body),
        202,
        "bare hex of the forges that send it"
    );
}

#[test]
fn w06_w09_w12_w31_bodies_that_are_no_events() {
    let site = site();
    let daemon = site.start();
    let send = |headers: &[(&str, &str)], body: &[u8]| {
        daemon.raw_hook(headers, body).expect("an answer").status
    };
    let signed = |body: &[u8]| send(&[("X-Hub-Signature-256", &sign(body))], body);
    let gzip = body(1);
    let head = sign(&gzip);
    assert_eq!(
        send(
            &[("X-Hub-Signature-256", &head), ("Content-Encoding", "gzip")],
            &gzip
        ),
        415,
        "w06"
    );
    let large = vec![b' '; 65_537];
    assert_eq!(signed(&large), 413, "w09");
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    for wrong in [
        deep.as_str(),
        "{\"a\":1e999}",
        "{\"a\":1,\"a\":2}",
        "{\"a\":\"\\ud800\"}",
        "\u{feff}{}",
        "{\"a\":\"\0\"}",
        "not json",
    ] {
        assert_eq!(
            signed(wrong.as_bytes()),
            400,
            "w12 {}",
            &wrong[..wrong.len().min(20)]
        );
    }
    assert_eq!(signed(b"{\"a\":\"\xff\"}"), 400, "w12 utf-8");
    let event = body(2);
    let head = sign(&event);
    let get = daemon.plain("GET /webhook HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_eq!(get.expect("an answer").status, 405, "w31");
    assert_eq!(
        send(
            &[
                ("X-Hub-Signature-256", &head),
                ("X-GitHub-Event", "pull_request")
            ],
            &event
        ),
        400,
        "w16"
    );
    assert_eq!(rows(&daemon), 0);
}

#[test]
fn w13_w15_w20_the_same_is_done_once() {
    let site = site();
    let daemon = site.start();
    let first = body(1);
    let send = |delivery: &str, body: &[u8]| {
        let headers = [
            ("X-Hub-Signature-256", &*sign(body)),
            ("X-GitHub-Delivery", delivery),
        ];
        let answer = daemon.raw_hook(&headers, body).expect("an answer");
        (
            answer.status,
            answer.json()["outcome"]
                .as_str()
                .expect("a word")
                .to_owned(),
        )
    };
    let accepted = (202, "accepted".to_owned());
    let duplicate = (200, "duplicate".to_owned());
    assert_eq!(send("d1", &first), accepted);
    assert_eq!(send("d1", &first), duplicate, "w13");
    assert_eq!(send("d2", &first), duplicate, "w14");
    assert_eq!(send("d1", &body(2)), accepted, "w15");
    let again = String::from_utf8(first)
        .expect("text")
        .replace("Something", "Anything");
    assert_eq!(
        send("d3", again.as_bytes()),
        duplicate,
        "w20: one comment, another hook's body"
    );
    assert_eq!(rows(&daemon), 2);
}

/// Payloads made by hand: the number of a comment that no forge has given says nothing.
#[test]
fn contract_two_triggers_by_hand_may_have_one_comment_s_number() {
    let site = site();
    let daemon = site.start();
    let send = |text: &str| {
        let mut event = comment(0, 17, "@orch:greeter");
        event["comment"]["body"] = format!("@orch:greeter {text}").into();
        daemon.hook(&event).json()["outcome"].clone()
    };
    assert_eq!(send("one"), "accepted");
    assert_eq!(send("two"), "accepted");
    assert_eq!(
        send("two"),
        "duplicate",
        "the same body is the same delivery"
    );
    assert_eq!(rows(&daemon), 2);
}

/// A forge names the receiver as it knows it.
#[test]
fn contract_a_signed_webhook_is_taken_under_every_name_and_nothing_else_is() {
    let site = Site::new("public_url = \"https://orch.example.org/\"", AGENT);
    let daemon = site.start();
    let ask = |method: &str, path: &str, host: &str, signature: &str, body: &[u8]| {
        let text = String::from_utf8(body.to_vec()).expect("text");
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nX-Hub-Signature-256: {signature}\r\n\
             Content-Length: {}\r\n\r\n{text}",
            body.len()
        );
        daemon.plain(&request).expect("an answer").status
    };
    let post =
        |host: &str, signature: &str, body: &[u8]| ask("POST", "/webhook", host, signature, body);
    let (one, two) = (body(1), body(2));
    assert_eq!(post("runner:3200", &sign(&one), &one), 202);
    assert_eq!(post("orch.example.org", &sign(&two), &two), 202);
    assert_eq!(post("evil.example", &sign(b"{}"), &one), 403);
    let get = |host: &str, path: &str| ask("GET", path, host, "", b"");
    assert_eq!(get("evil.example", "/readyz"), 421);
    assert_eq!(get("evil.example", "/webhook"), 421);
    assert_eq!(
        get("orch.example.org", "/readyz"),
        200,
        "that of public_url"
    );
}

#[test]
fn w26_w29_ids_that_are_none() {
    let site = site();
    let daemon = site.start();
    let send = |value: &serde_json::Value| daemon.hook(value).status;
    for number in [
        serde_json::json!(-1),
        serde_json::json!(9_223_372_036_854_775_808_u64),
        serde_json::json!("7"),
    ] {
        let mut event = comment(7, 1, "@orch:greeter");
        event["issue"]["number"] = number;
        assert_eq!(send(&event), 400, "w29");
    }
    for sha in [
        "a".repeat(39),
        "a".repeat(41),
        "A".repeat(40),
        "-".repeat(40),
        "../".repeat(13) + "a",
        "a".repeat(64),
    ] {
        assert_eq!(
            send(&crate::harness::pull("opened", 1, &sha)),
            400,
            "w26 {sha}"
        );
    }
    assert_eq!(rows(&daemon), 0);
}

#[test]
fn w18_two_secrets_are_active_while_one_replaces_the_other() {
    let site = site();
    let path = site.path("orchestrator.toml");
    let text = std::fs::read_to_string(&path).expect("a file");
    let rotated = text.replace(
        &format!("secret = \"{SECRET}\""),
        &format!("secret = \"the-new-secret-0123456789\"\nprevious_secret = \"{SECRET}\""),
    );
    std::fs::write(&path, rotated).expect("a file");
    let daemon = site.start();
    let with = |secret: &str, id: u64| {
        let body = body(id);
        let head = forge_core::sign(secret, &body).expect("a secret").hub();
        daemon
            .raw_hook(&[("X-Hub-Signature-256", &head)], &body)
            .expect("an answer")
            .status
    };
    assert_eq!(with("the-new-secret-0123456789", 1), 202);
    assert_eq!(with(SECRET, 2), 202);
    assert_eq!(with("some-removed-secret-0123", 3), 403);
}

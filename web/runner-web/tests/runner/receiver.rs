//! W: the runner's receiver of webhooks. The verifier's own cases stand in forge-core and edge-web;
//! here they go through the whole runner.
//!
//! W20 to W24 and W28 are about comments, which start nothing here (`w21`). W07 is a check of
//! forge-core's sources.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use forge_core::{SecretBook, WebhookSecrets};
use scripted_peers::Play;
use serde_json::{Value, json};

pub(crate) use crate::client::contains;
use crate::harness::{Runner, SECRET, Setup, Site, TEST_TIMEOUT, push, sign, status};

pub(crate) const WORKFLOW: &str = "name: CI\non: [push, pull_request]\njobs:\n  build:\n    runs-on: x\n    steps:\n      - run: make\n";

/// A push that is well formed; its repository is never there.
fn body() -> Vec<u8> {
    serde_json::to_vec(&push("https://forge.invalid/a/b.git", &"1".repeat(40))).unwrap()
}

fn code(runner: &Runner, headers: &[(&str, &str)], body: &[u8]) -> u16 {
    runner.hook(headers, "push", "d-1", body).code
}

#[test]
fn w01_w02_w03_w04_w05_only_a_right_signature_is_believed() {
    let site = Site::new();
    let runner = site.start();
    let body = body();
    let right = sign(&body);
    let hex = right.trim_start_matches("sha256=").to_owned();
    let other = sign(b"other");
    assert_eq!(code(&runner, &[], &body), 403, "w01");
    assert_eq!(
        code(&runner, &[("X-Hub-Signature-256", &other)], &body),
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
        format!("sha256= {hex}"),
        "sha256=".to_owned(),
        String::new(),
    ] {
        let refused = code(&runner, &[("X-Hub-Signature-256", &wrong)], &body);
        assert_eq!(refused, 403, "w03 {wrong}");
    }
    for (first, second) in [(&right, &other), (&other, &right)] {
        let both = [
            ("X-Hub-Signature-256", first.as_str()),
            ("X-Hub-Signature-256", second),
        ];
        assert_eq!(code(&runner, &both, &body), 403, "w04");
    }
    let mixed = [
        ("X-Gitea-Signature", hex.as_str()),
        ("X-Hub-Signature-256", &other),
    ];
    assert_eq!(code(&runner, &mixed, &body), 403, "w04");
    let text = String::from_utf8(body.clone()).unwrap();
    for written_otherwise in [
        text.replace(':', ": "),
        text.replace("acme", "\\u0061cme"),
        format!("{text}\n"),
    ] {
        let headers = [("X-Hub-Signature-256", right.as_str())];
        assert_eq!(
            code(&runner, &headers, written_otherwise.as_bytes()),
            403,
            "w05"
        );
    }
    assert_eq!(runner.runs().len(), 0);
    assert_eq!(
        code(&runner, &[("X-Gitea-Signature", &hex)], &body),
        202,
        "as Gitea sends it"
    );
    assert_eq!(runner.runs().len(), 1);
}

#[test]
fn w06_w09_w12_bodies_that_cannot_be_read_are_refused() {
    let site = Site::new();
    let runner = site.start();
    let right = body();
    let signature = sign(&right);
    for coding in ["gzip", "br", "zstd"] {
        let headers = [
            ("X-Hub-Signature-256", signature.as_str()),
            ("Content-Encoding", coding),
        ];
        assert_eq!(code(&runner, &headers, &right), 415, "w06 {coding}");
    }
    let head = format!(
        "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-GitHub-Event: push\r\nX-Hub-Signature-256: {signature}\r\n"
    );
    let declared = runner.raw(format!("{head}Content-Length: 2000000\r\n\r\n").as_bytes());
    assert_eq!(declared.code, 413, "w09, not a byte of it was read");
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for _ in 0..40 {
        chunked.extend_from_slice(b"8000\r\n");
        chunked.extend(std::iter::repeat_n(b' ', 0x8000));
        chunked.extend_from_slice(b"\r\n");
    }
    assert_eq!(runner.raw(&chunked).code, 413, "w09");
    let signed = |body: &[u8]| code(&runner, &[("X-Hub-Signature-256", &sign(body))], body);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let key = format!("{{\"{}\":1}}", "k".repeat(1_000_000));
    for wrong in [
        deep.as_bytes(),
        b"{\"a\":1e999}",
        b"{\"a\":1,\"a\":2}",
        b"{\"a\":\"\\ud800\"}",
        "\u{feff}{}".as_bytes(),
        b"{\"a\":\"\0\"}",
        b"\xff\xfe{}",
        key.as_bytes(),
        b"",
        b"null",
    ] {
        assert_eq!(
            signed(wrong),
            400,
            "w12 {:?}",
            &wrong[..wrong.len().min(20)]
        );
    }
    assert_eq!(runner.runs().len(), 0);
}

#[test]
fn w26_w29_w31_what_is_no_event_is_refused() {
    let site = Site::new();
    let runner = site.start();
    let signed = |body: &[u8]| code(&runner, &[("X-Hub-Signature-256", &sign(body))], body);
    let changed = |at: &str, value: Value| {
        let mut body = push("https://forge.invalid/a/b.git", &"1".repeat(40));
        *body.pointer_mut(at).unwrap() = value;
        serde_json::to_vec(&body).unwrap()
    };
    for sha in [
        "1".repeat(39),
        "1".repeat(41),
        "A".repeat(40),
        format!("-{}", "1".repeat(39)),
        "../".repeat(13) + "a",
        "1".repeat(64),
    ] {
        assert_eq!(signed(&changed("/after", json!(sha))), 400, "w26 {sha}");
    }
    for number in [
        json!(0),
        json!(-1),
        json!(9_223_372_036_854_775_808_u64),
        json!("7"),
    ] {
        let mut pull = site.fork(&"2".repeat(40), &"1".repeat(40));
        pull["number"] = number.clone();
        pull["pull_request"]["number"] = number.clone();
        let refused = runner.deliver("pull_request", "d-9", &pull);
        assert_eq!(refused.code, 400, "w29 {number}");
    }
    for method in ["GET", "PUT", "DELETE"] {
        assert_eq!(
            runner.ask(method, "/webhook", &[], b"").code,
            405,
            "w31 {method}"
        );
    }
    let odd = br#"{"a":"no event"}"#;
    let nameless = runner.hook(&[("X-Hub-Signature-256", &sign(odd))], "", "d-1", odd);
    assert_eq!(
        nameless.code, 400,
        "w31: no event header, and none to be told from the body"
    );
    assert_eq!(runner.runs().len(), 0);
}

#[test]
fn w10_a_trickling_body_is_closed_and_others_go_on() {
    let site = Site::new();
    let runner = site.start();
    let mut slow = TcpStream::connect(runner.address).unwrap();
    slow.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    slow.write_all(b"POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{").unwrap();
    let good = body();
    assert_eq!(
        code(&runner, &[("X-Hub-Signature-256", &sign(&good))], &good),
        202
    );
    let mut answer = String::new();
    // The deadline of the test's runner is 2 s; the rest of the body never comes.
    slow.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
}

/// A forge names the receiver as it knows it; all else of the runner is closed to that name.
#[test]
fn contract_a_signed_webhook_is_taken_under_every_name_and_nothing_else_is() {
    let site = Site::new();
    let runner = site.start();
    let body = body();
    let ask = |method: &str, path: &str, host: &str, signature: &str| {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nX-GitHub-Event: push\r\nX-GitHub-Delivery: d-1\r\n\
             X-Hub-Signature-256: {signature}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        runner.raw(&[head.as_bytes(), &body].concat()).code
    };
    let right = sign(&body);
    assert_eq!(ask("POST", "/webhook", "ci.example.org:3000", &right), 202);
    assert_eq!(
        ask("POST", "/webhook", "evil.example", &sign(b"other")),
        403
    );
    assert_eq!(ask("POST", "/webhook", "evil.example", ""), 403);
    for (method, path) in [
        ("GET", "/health"),
        ("GET", "/webhook"),
        ("GET", "/runs"),
        ("POST", "/runs"),
    ] {
        let code = ask(method, path, "evil.example", &right);
        assert_eq!(code, 421, "{method} {path}");
    }
}

#[test]
fn w11_framing_that_can_be_read_in_two_ways_is_refused() {
    let site = Site::new();
    let runner = site.start();
    for head in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "Content-Length: 2\r\nX-Long: a\r\n b\r\n",
        "Content-Length: 2\nX-Bare: b\r\n",
    ] {
        let request = format!(
            "POST /webhook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}\r\n{{}}"
        );
        let answer = runner.raw(request.as_bytes());
        assert_eq!(answer.code, 400, "{head:?}: {answer:?}");
    }
}

#[test]
fn w16_w21_other_events_and_swapped_names_start_nothing() {
    let site = Site::new();
    let runner = site.start();
    let comment = json!({"action": "created", "issue": {"number": 7, "title": "t", "state": "open", "user": {"login": "ada"}},
        "comment": {"id": 5, "body": "@orch:x", "user": {"login": "ada"}}, "sender": {"login": "ada"},
        "repository": {"full_name": "acme/rocket", "clone_url": "https://forge.invalid/a/b.git"}});
    let swapped = runner.deliver("pull_request", "d-1", &comment);
    assert!([200, 400].contains(&swapped.code), "w16: {swapped:?}");
    assert_ne!(swapped.json()["status"], "accepted");
    let ignored = runner.deliver("issue_comment", "d-2", &comment);
    assert_eq!(
        (ignored.code, ignored.json()["status"].as_str()),
        (200, Some("ignored")),
        "w21"
    );
    let mut deleted = push("https://forge.invalid/a/b.git", &"0".repeat(40));
    deleted["deleted"] = json!(true);
    deleted["created"] = json!(false);
    deleted["before"] = json!("1".repeat(40));
    deleted["head_commit"] = Value::Null;
    assert_eq!(
        runner.deliver("push", "d-3", &deleted).json()["status"],
        "ignored"
    );
    let ping = json!({"zen": "z", "hook_id": 1, "repository": {"full_name": "acme/rocket"}});
    assert_eq!(runner.deliver("ping", "d-4", &ping).code, 200);
    let mut closed = site.fork(&"2".repeat(40), &"1".repeat(40));
    closed["action"] = json!("closed");
    assert_eq!(
        runner.deliver("pull_request", "d-5", &closed).json()["status"],
        "ignored"
    );
    assert_eq!(runner.runs().len(), 0);
}

#[test]
fn w17_w18_secrets_speak_for_their_repository_and_can_be_changed() {
    let site = Site::new();
    let secrets = || WebhookSecrets::new("a new secret, long enough").unwrap();
    let own = |secrets: SecretBook| Setup {
        secrets,
        ..Setup::default()
    };
    let both = SecretBook::shared(secrets().with_previous(SECRET).unwrap());
    let runner = site.start_with(own(both));
    let body = body();
    let new = forge_core::sign("a new secret, long enough", &body)
        .unwrap()
        .hub();
    let old = sign(&body);
    assert_eq!(
        code(&runner, &[("X-Hub-Signature-256", &old)], &body),
        202,
        "w18 old"
    );
    assert_eq!(
        code(&runner, &[("X-Hub-Signature-256", &new)], &body),
        200,
        "w18 new"
    );
    runner.stop();
    let runner = site.start_with(own(SecretBook::shared(secrets())));
    assert_eq!(
        code(&runner, &[("X-Hub-Signature-256", &old)], &body),
        403,
        "w18 removed"
    );
    runner.stop();
    let other = "acme/other".parse().unwrap();
    let book = SecretBook::for_repository(other, WebhookSecrets::new(SECRET).unwrap());
    let runner = site.start_with(own(book));
    assert_eq!(
        code(&runner, &[("X-Hub-Signature-256", &old)], &body),
        403,
        "w17"
    );
    assert_eq!(runner.runs().len(), 1);
}

#[test]
fn w19_a_delivery_that_could_not_be_stored_is_new_when_it_comes_again() {
    let site = Site::new();
    let full = Setup {
        change: |settings| settings.max_waiting = 0,
        ..Setup::default()
    };
    let runner = site.start_with(full);
    let body = push("https://forge.invalid/a/b.git", &"1".repeat(40));
    let refused = runner.deliver("push", "d-1", &body);
    assert_eq!(refused.code, 503);
    assert!(
        refused.head.to_lowercase().contains("retry-after: 30"),
        "{}",
        refused.head
    );
    assert_eq!(runner.runs().len(), 0);
    runner.stop();
    let runner = site.start();
    assert_eq!(runner.deliver("push", "d-1", &body).code, 202);
    assert_eq!(runner.deliver("push", "d-1", &body).code, 200);
    assert_eq!(runner.runs().len(), 1);
}

#[test]
fn w25_w27_the_run_is_of_the_commit_that_was_accepted_and_its_status_goes_there() {
    let site =
        Site::playing(|command| Play::exit(0).out(format!("sha {}\n", command.env["GITHUB_SHA"])));
    let runner = site.start();
    site.write("which.txt", "the accepted one");
    let accepted = site.commit(WORKFLOW);
    site.write("which.txt", "a later one");
    let later = site.commit_all();
    let mut body = site.push(&accepted);
    // W25: who the commit says its author is does not count.
    body["head_commit"]["author"] =
        json!({"name": "root", "email": "root@example.org", "username": "root"});
    let run = runner.run("push", "d-1", &body);
    let record = runner.ended(&run);
    assert_eq!(
        (record["state"].as_str(), record["sha"].as_str()),
        (Some("succeeded"), Some(accepted.as_str())),
        "{record:#}"
    );
    assert_eq!(record["actor"], "ada");
    let sent = site.vmm.everything();
    assert!(contains(&sent, b"the accepted one") && !contains(&sent, b"a later one"));
    status(&site, &accepted, "CI / build (push)", "success");
    assert_eq!(site.forge.statuses("acme/rocket", &later), []);
}

/// GitHub's default is a form; `curl --data-binary` calls JSON a form.
#[test]
fn v11_a_push_in_a_form_or_under_another_content_type_starts_a_run() {
    let site = Site::new();
    let runner = site.start();
    let json = body();
    let form: String = json.iter().map(|byte| format!("%{byte:02X}")).collect();
    let form = format!("payload={form}").into_bytes();
    for body in [&form, &json] {
        let signature = sign(body);
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-GitHub-Event", "push"),
            ("X-Hub-Signature-256", signature.as_str()),
        ];
        let answer = runner.ask("POST", "/webhook", &headers, body);
        assert_eq!(answer.code, 202, "{answer:?}");
        assert!(answer.json()["run"].is_string());
    }
    let forged = [("X-Hub-Signature-256", sign(&json))];
    let forged = forged
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    assert_eq!(code(&runner, &forged, &form), 403);
}

//! The front door of a whole platform: what stands below it, who gets in, and what nobody gets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use scripted_peers::{Reply, exchange};
use serde_json::{Value, json};

use crate::site::{Platform, Site};

const TOKEN: &str = "the-platform-s-token-of-the-tests";
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// One request as it is written; what a client of its own would not send can be sent.
fn raw(platform: &Platform, request: &str) -> Reply {
    exchange(&platform.address("search"), request).expect("it answers")
}

fn ask(platform: &Platform, method: &str, target: &str, headers: &str, body: &str) -> Reply {
    let host = platform.address("search");
    let length = body.len();
    raw(
        platform,
        &format!(
            "{method} {target} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ),
    )
}

fn get(platform: &Platform, target: &str, headers: &str) -> Reply {
    ask(platform, "GET", target, headers, "")
}

/// A whole platform with a token that the test knows.
fn platform(site: &Site) -> Platform {
    site.start_with(|command| {
        command.env("PLATFORM_TOKEN", TOKEN);
    })
}

/// Signs in as the application does; the cookie as a header.
fn sign_in(platform: &Platform) -> String {
    let headers = format!(
        "Origin: http://{}\r\nAccept: application/json\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        platform.address("search")
    );
    let entered = ask(
        platform,
        "POST",
        "/sign-in",
        &headers,
        &format!("token={TOKEN}"),
    );
    assert_eq!(entered.status, 204, "{}", entered.body);
    let cookie = entered.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly; SameSite=Strict"), "{cookie}");
    let value = cookie.split(';').next().expect("a value");
    format!("Cookie: {value}\r\n")
}

#[test]
fn t7_one_address_shows_every_part() {
    let site = Site::new();
    let mut platform = platform(&site);
    let parts = get(&platform, "/ui/parts.json", "");
    assert_eq!(parts.status, 200);
    assert_eq!(
        parts.json()["parts"],
        json!({"search": {"base": ""}, "runner": {"base": "/runner"},
            "orchestrator": {"base": "/orchestrator", "wants_token": true},
            "vm-manager": {"base": "/vm-manager", "wants_token": true}}),
        "the page asks for a token before its first request, not after a refusal"
    );
    assert_eq!(parts.json()["program"], "platform");
    // Each alone shows itself.
    let (_, alone) = platform.get("runner", "/ui/parts.json");
    let alone: Value = serde_json::from_str(&alone).expect("JSON");
    assert_eq!(alone["parts"], json!({"runner": {"base": ""}}));
    let (_, alone) = platform.get("vm_manager", "/ui/parts.json");
    assert!(alone.contains(r#""vm-manager":{"base":""}"#), "{alone}");
    // What wants no token alone wants none here, as long as only this machine comes here.
    assert_eq!(get(&platform, "/runner/runs", "").status, 200);
    let cookie = sign_in(&platform);
    for (path, part) in [
        ("/orchestrator/admin/status", "main_project"),
        ("/orchestrator/admin/agents", "greeter"),
        ("/orchestrator/admin/calendar", "schedules"),
        ("/vm-manager/vms", "["),
        ("/runner/health", "status"),
    ] {
        let answer = get(&platform, path, &cookie);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.body.contains(part), "{path}: {}", answer.body);
    }
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn t7_without_a_session_nothing_gets_to_a_product_that_wants_a_token() {
    let site = Site::new();
    let mut platform = platform(&site);
    let session = get(&platform, "/ui/session.json", "").json();
    assert_eq!(
        (&session["can_sign_in"], &session["signed_in"]),
        (&json!(true), &json!(false))
    );
    for path in [
        "/orchestrator/admin/status",
        "/vm-manager/vms",
        "/orchestrator/",
        "/orchestrator/livez",
    ] {
        let refused = get(&platform, path, "");
        assert_eq!(refused.status, 401, "{path}");
        assert!(refused.body.contains("\"status\":401"), "{}", refused.body);
        for wrong in [
            "Authorization: Bearer no\r\n",
            "Cookie: platform-session=0\r\n",
        ] {
            assert_eq!(get(&platform, path, wrong).status, 401, "{path} {wrong}");
        }
    }
    // Other spellings of the same path open no other way.
    for path in [
        "/%6frchestrator/admin/status",
        "/orchestrato%72/admin/status",
        "//orchestrator/admin/status",
        "/x/../orchestrator/admin/status",
        "/runner/../orchestrator/admin/status",
        "/runner/%2e%2e/orchestrator/admin/status",
        "/ORCHESTRATOR/admin/status",
        "/vm%2dmanager/vms",
        "/ui/../orchestrator/admin/status",
        "/assets/%2e%2e/orchestrator/admin/status",
    ] {
        let refused = get(&platform, path, "");
        // Below `/ui/` the application's page is answered, whatever follows.
        let is_page = path.starts_with("/ui/") && refused.body.contains("<html");
        assert!(
            is_page || [400, 401, 404].contains(&refused.status),
            "{path}: {}",
            refused.status
        );
        assert!(!refused.body.contains("main_project"), "{path}");
    }
    let page = get(
        &platform,
        "/orchestrator/admin/status",
        "Accept: text/html\r\n",
    );
    assert_eq!(page.status, 401);
    assert!(page.body.contains("<form"), "a browser gets the form");
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn t7_a_session_ends_everywhere_at_once() {
    let site = Site::new();
    let mut platform = platform(&site);
    let cookie = sign_in(&platform);
    let own = format!("{cookie}Origin: http://{}\r\n", platform.address("search"));
    let session = get(&platform, "/ui/session.json", &cookie).json();
    assert_eq!(session["signed_in"], true);
    // A stream that the session opened.
    let mut stream = TcpStream::connect(platform.address("search")).expect("it listens");
    stream.set_read_timeout(Some(TEST_TIMEOUT)).expect("a time");
    let host = platform.address("search");
    let request =
        format!("GET /orchestrator/admin/actors/events HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut heard = String::new();
    let mut bytes = [0; 4096];
    while !heard.contains("event: tree") {
        let read = stream.read(&mut bytes).expect("it comes as it is made");
        assert_ne!(read, 0, "{heard}");
        heard += &String::from_utf8_lossy(&bytes[..read]);
    }
    assert!(heard.contains("text/event-stream"), "{heard}");
    let left = ask(
        &platform,
        "POST",
        "/sign-out",
        &format!("{own}Accept: application/json\r\n"),
        "",
    );
    assert_eq!(left.status, 204);
    // The last chunk, though the session's stream had nothing to tell.
    while !heard.ends_with("\r\n0\r\n\r\n") {
        let read = stream.read(&mut bytes).expect("it ends in time");
        assert_ne!(read, 0, "it ends in order: {heard}");
        heard += &String::from_utf8_lossy(&bytes[..read]);
    }
    assert_eq!(
        get(&platform, "/orchestrator/admin/status", &cookie).status,
        401
    );
    assert_eq!(get(&platform, "/vm-manager/vms", &cookie).status, 401);
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn t7_pages_of_other_sites_change_nothing_through_the_door() {
    let site = Site::new();
    let mut platform = platform(&site);
    let cookie = sign_in(&platform);
    let own = format!("Origin: http://{}\r\n", platform.address("search"));
    let path = "/orchestrator/admin/projects/main/pause";
    for (headers, expected) in [
        (format!("{cookie}Origin: http://evil.example\r\n"), 403),
        (format!("{cookie}Sec-Fetch-Site: cross-site\r\n"), 403),
        // Another port of this host is another origin, though `SameSite` lets the cookie through.
        (format!("{cookie}Origin: http://127.0.0.1:1\r\n"), 403),
        (cookie.clone(), 401),
        (format!("{cookie}{own}"), 200),
        (format!("Authorization: Bearer {TOKEN}\r\n"), 200),
    ] {
        let answer = ask(&platform, "POST", path, &headers, "");
        assert_eq!(answer.status, expected, "{headers}: {}", answer.body);
    }
    let rebound = raw(
        &platform,
        &format!("GET /runner/runs HTTP/1.0\r\nHost: evil.example\r\n{cookie}\r\n"),
    );
    assert_eq!(rebound.status, 421);
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn t7_hostile_targets_are_refused() {
    let site = Site::new();
    let mut platform = platform(&site);
    let cookie = sign_in(&platform);
    let host = platform.address("search");
    for (target, expected) in [
        ("/runner/webhook", 404),
        ("/runner/%77ebhook", 404),
        ("/runner/sign-in", 404),
        ("/runner/a/../../vm-manager/vms", 400),
        ("/runner/..%2f..%2fetc/passwd", 400),
        ("/runner/%252e%252e/x", 400),
        ("/runner/a%00b", 400),
        ("/runner//evil.example/", 400),
        ("/orchestrator/admin/runs/..;/status", 400),
    ] {
        let refused = get(&platform, target, &cookie);
        assert_eq!(refused.status, expected, "{target}: {}", refused.body);
        assert!(refused.body.starts_with('{'), "{target}: a problem");
    }
    for absolute in [
        format!("http://{host}/orchestrator/admin/status"),
        "http://169.254.169.254/runner/runs".to_owned(),
    ] {
        let request = format!("GET {absolute} HTTP/1.0\r\nHost: {host}\r\n{cookie}\r\n");
        let refused = raw(&platform, &request);
        assert!(
            [400, 421].contains(&refused.status),
            "{absolute}: {}",
            refused.status
        );
    }
    for method in ["TRACE", "OPTIONS", "CONNECT"] {
        let refused = ask(&platform, method, "/orchestrator/admin/status", &cookie, "");
        assert!(refused.status >= 400, "{method}: {}", refused.status);
    }
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

#[test]
fn t7_no_token_of_a_product_is_told_and_its_own_is_made_once() {
    let site = Site::new();
    let mut platform = site.start();
    let file = site.path("state/platform-token");
    let token = std::fs::read_to_string(&file).expect("it is made at the first start");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(&file).expect("a file").permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(platform.printed("platform.token_made", "path").len(), 1);
    let bearer = format!("Authorization: Bearer {}\r\n", token.trim());
    for path in [
        "/ui/parts.json",
        "/ui/session.json",
        "/orchestrator/admin/status",
        "/vm-manager/vms",
        "/vm-manager/health",
        "/runner/runs",
    ] {
        let answer = get(&platform, path, &bearer);
        assert_eq!(answer.status, 200, "{path}");
        for secret in [token.trim(), "eyJhbGciOiJIUzI1NiI", "Bearer"] {
            assert!(
                !answer.body.contains(secret) && !answer.head.contains(secret),
                "{path}"
            );
        }
        assert_eq!(answer.header("set-cookie"), None, "{path}");
    }
    assert_eq!(platform.end(Signal::TERM), Some(0));
    let mut again = site.start();
    assert_eq!(std::fs::read_to_string(&file).expect("it stays"), token);
    assert!(again.printed("platform.token_made", "path").is_empty());
    assert_eq!(again.end(Signal::TERM), Some(0));
}

#[test]
fn t7_a_text_is_tried_through_the_door_and_starts_nothing() {
    let site = Site::new();
    let mut platform = platform(&site);
    let headers = format!("Authorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n");
    let question = json!({"text": "@orch:greeter hello, and @orch:nobody"}).to_string();
    let tried = ask(
        &platform,
        "POST",
        "/orchestrator/admin/route",
        &headers,
        &question,
    );
    assert_eq!(tried.status, 200, "{}", tried.body);
    let tried = tried.json();
    // It has no `[mentions]`.
    assert_eq!(tried["ignored"], "mentions_not_configured", "{tried}");
    let runs = get(&platform, "/orchestrator/admin/runs", &headers).json();
    assert_eq!(runs["runs"], json!([]), "nothing was stored");
    assert_eq!(platform.end(Signal::TERM), Some(0));
}

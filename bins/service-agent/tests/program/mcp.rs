//! The search server as an MCP server, asked by the official Python client over both transports and
//! in both generations.

#[allow(dead_code, reason = "shared with the other tests of the client")]
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::{Server, home};
use serde_json::Value;

fn client(home: &Path, arguments: &[&str]) -> Output {
    let python = std::env::var_os("ORRERY_PYTHON").expect(
        "ORRERY_PYTHON is not set: `cargo xtask test` installs a Python with the PyPI package mcp",
    );
    Command::new(python)
        .env("HOME", home)
        .env("SERVICE_SETTINGS_PATH", home.join("role.json"))
        .env("SERVICE_DATA_PATH", home.join("data"))
        .arg(std::path::absolute("tests/mcp_client.py").expect("a folder to work in"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("python starts")
}

fn check(output: &Output, version: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let said: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(said["version"], version, "{said:#}");
    assert_eq!(said["server"], "orrery-search");
    assert_eq!(
        said["tools"],
        serde_json::json!(["search", "fetch", "autocomplete"])
    );
    assert_eq!(said["search"]["results"][0]["title"], "moon.txt");
    assert!(
        said["text"]
            .as_str()
            .is_some_and(|text| text.contains("1. moon.txt")),
        "{said:#}"
    );
    assert!(
        said["fetch"]
            .as_str()
            .is_some_and(|text| text.contains("Tides follow the moon")),
        "{said:#}"
    );
    let near = said["autocomplete"]["suggestions"].as_array();
    assert!(
        near.is_some_and(|near| near
            .iter()
            .any(|one| one["text"] == "moon" || one["text"] == "moon.txt")),
        "{said:#}"
    );
    assert_eq!(said["wrong"][0], true);
    assert!(
        said["wrong"][1]
            .as_str()
            .is_some_and(|text| text.contains("Nobody")),
        "{said:#}"
    );
    assert_eq!(said["unknown"], true);
}

#[test]
fn over_http_with_a_token() {
    let home = home();
    let server = Server::start(home.path(), Some("s3cret"));
    let url = format!("{}mcp", server.url);
    check(
        &client(home.path(), &["legacy", &url, "s3cret"]),
        "2025-11-25",
    );
    check(
        &client(home.path(), &["auto", &url, "s3cret"]),
        "2026-07-28",
    );
    let refused = client(home.path(), &["legacy", &url, "wrong"]);
    assert!(!refused.status.success());
}

#[test]
fn on_standard_streams_without_a_server() {
    let home = home();
    let agent = env!("CARGO_BIN_EXE_service-agent");
    check(
        &client(home.path(), &["legacy", agent, "mcp", "--in-process"]),
        "2025-11-25",
    );
    check(
        &client(home.path(), &["auto", agent, "mcp", "--in-process"]),
        "2026-07-28",
    );
}

#[test]
fn on_standard_streams_through_a_server() {
    let home = home();
    let server = Server::start(home.path(), None);
    let agent = env!("CARGO_BIN_EXE_service-agent");
    check(
        &client(
            home.path(),
            &["auto", agent, "mcp", "--server", &server.url],
        ),
        "2026-07-28",
    );
}

#[test]
fn s01_s02_other_pages_and_names_are_refused_and_get_has_nothing() {
    use std::io::{Read, Write};
    let home = home();
    let server = Server::start(home.path(), None);
    let address = server
        .url
        .trim_start_matches("http://")
        .trim_end_matches('/');
    let status = |head: &str| {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let mut stream = std::net::TcpStream::connect(address).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.split(' ').nth(1).unwrap_or_default().to_owned()
    };
    let json = "Content-Type: application/json\r\n";
    for (head, expected) in [
        (
            format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\n{json}"),
            "200",
        ),
        (
            format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\n{json}"),
            "200",
        ),
        (
            format!(
                "POST /mcp HTTP/1.1\r\nHost: {address}\r\nOrigin: https://evil.example\r\n{json}"
            ),
            "403",
        ),
        (
            format!("POST /mcp HTTP/1.1\r\nHost: evil.example\r\n{json}"),
            "421",
        ),
        (
            format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: text/plain\r\n"),
            "415",
        ),
        (
            format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\n{json}"),
            "406",
        ),
        (format!("GET /mcp HTTP/1.1\r\nHost: {address}\r\n"), "405"),
    ] {
        assert_eq!(status(&head), expected, "{head}");
    }
}

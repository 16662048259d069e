//! Who may change the configuration, and what nobody may put into it.

use serde_json::json;

use crate::harness::Home;
use crate::settings::{Configured, roles};

#[test]
fn s02_s15_other_pages_and_strangers_cannot_change_it() {
    let running = Configured::launch(&roles(), |options| options.token = Some("t0ken".to_owned()));
    let document = roles().to_string();
    let put = |more: &[(&str, &str)]| {
        let mut headers = vec![("Content-Type", "application/json"), ("If-Match", "*")];
        headers.extend(more);
        running
            .server
            .send("PUT", "/api/config", &headers, document.as_bytes())
    };
    put(&[]).problem(401);
    put(&[("Authorization", "Bearer wrong")]).problem(401);
    let token = ("Authorization", "Bearer t0ken");
    put(&[token, ("Origin", "http://evil.example")]).problem(403);
    put(&[token, ("Sec-Fetch-Site", "cross-site")]).problem(403);
    assert_eq!(put(&[token]).status, 200);
    let stranger = running.server.send("GET", "/api/config", &[], b"");
    stranger.problem(401);
}

/// Without a token everybody on this machine can call: they must not run commands as the server, nor read its variables.
#[test]
fn s06_commands_and_variables_are_not_added_without_a_token() {
    let running = Configured::start(&roles());
    for location in ["stdio:/bin/sh -c id", "http://evil.example/${HOME}"] {
        let refused = running.change(|document| {
            let haystacks = document["roles"][0]["haystacks"]
                .as_array_mut()
                .expect("a list");
            haystacks.push(json!({"name": "Tool", "service": "MCP", "location": location}));
        });
        let problem = refused.problem(403);
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|it| it.contains("SERVICE_API_TOKEN")),
            "{problem}"
        );
    }
    assert!(!running.on_disk().contains("Tool"));
}

#[test]
fn a_server_without_a_role_file_says_so() {
    let home = Home::new();
    let server = home.start();
    server.get("/api/config").problem(404);
    assert!(server.get("/health").json()["configuration"].is_null());
    let schema = server.get("/api/config/schema");
    assert_eq!(schema.status, 200);
    assert_eq!(
        schema.json()["$defs"]["role"]["required"],
        json!(["name", "haystacks"])
    );
}

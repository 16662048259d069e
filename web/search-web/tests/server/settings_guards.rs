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

/// Everybody on this machine can call a server without an API token: reading is theirs, changing is
/// not.
#[test]
fn t1_a_change_needs_the_token_of_the_configuration() {
    let running = Configured::start(&roles());
    let document = roles().to_string();
    let before = running.on_disk();
    for more in [
        None,
        Some(("Authorization", "Bearer wrong")),
        Some(("Authorization", "Bearer ")),
        Some(("Authorization", "Basic t0ken-of-the-configuration")),
    ] {
        let mut headers = vec![("Content-Type", "application/json"), ("If-Match", "*")];
        headers.extend(more);
        let answer = running
            .server
            .send("PUT", "/api/config", &headers, document.as_bytes());
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        answer.problem(401);
    }
    assert_eq!(running.on_disk(), before);
    let closed = Configured::launch(&roles(), |options| options.configuration_token = None);
    closed.change(|_| {}).problem(403);
}

/// The attack of the issue: an escaped variable in a name, read back from `/api/roles`.
#[test]
fn t1_no_change_brings_a_variable_into_what_is_shown() {
    let running = Configured::start(&roles());
    for spelt in ["${HOME}", r"\u0024{HOME}", r"$\u007bHOME\u007d"] {
        let (tag, document) = running.show();
        let text = document
            .to_string()
            .replace("\"Reader\"", &format!("\"{spelt}\""));
        let problem = running.put(&tag, &text).problem(403);
        let detail = problem["detail"].as_str().expect("a reason");
        assert!(detail.contains("`roles[0].name`"), "{problem}");
        assert!(!detail.contains("/nowhere"), "{problem}");
    }
    let roles = running.server.get("/api/roles").json();
    assert_eq!(roles["roles"][0]["name"], "Reader");
}

/// Locations, programs and servers are added below what the operator's file names only.
#[test]
fn t1_what_is_added_stays_below_the_allowed_roots() {
    let running = Configured::start(&roles());
    let secret = running.home.path().join("private");
    std::fs::create_dir(&secret).expect("a folder");
    std::fs::write(secret.join("id_rsa.txt"), "a private key").expect("a file");
    std::os::unix::fs::symlink(&secret, running.home.path().join("more/link")).expect("a link");
    let secret = secret.display().to_string();
    let todo = format!("todo.txt:{secret}/id_rsa.txt");
    let link = running.home.path().join("more/link").display().to_string();
    for (service, location) in [
        ("LocalFiles", secret.as_str()),
        ("LocalFiles", link.as_str()),
        ("LocalFiles", "private"),
        ("NotesGraph", secret.as_str()),
        ("CommunityDocs", "devdocs:/etc"),
        ("CommunityDocs", "rustdoc:/etc"),
        ("TaskTracker", "todo.txt:/etc/shadow"),
        ("TaskTracker", todo.as_str()),
        ("TaskTracker", "beads:/etc"),
        ("TaskTracker", "taskwarrior"),
        ("TaskTracker", "gitea:http://127.0.0.1:1/a/b"),
        ("MCP", "stdio:/bin/sh -c id"),
        ("MCP", "http://169.254.169.254/latest"),
        ("AtomicData", "http://127.0.0.1:9883"),
        ("Elastic", "http://127.0.0.1:9200/x"),
    ] {
        let refused = running.change(|document| {
            let haystacks = document["roles"][0]["haystacks"].as_array_mut();
            haystacks
                .expect("a list")
                .push(json!({"name": "New", "service": service, "location": location}));
        });
        let problem = refused.problem(403);
        let detail = problem["detail"].as_str().expect("a reason");
        assert!(
            detail.contains("haystack `New`") && detail.contains("allowed_roots."),
            "{problem}"
        );
    }
    for (key, value) in [
        ("thesaurus", "/etc"),
        ("embedding_model", secret.as_str()),
        ("rerank_model", secret.as_str()),
        ("localllm_base_url", "http://127.0.0.1:22"),
    ] {
        let refused = running.change(|document| document["roles"][0]["extra"][key] = value.into());
        let problem = refused.problem(403);
        assert!(
            problem["detail"]
                .as_str()
                .is_some_and(|it| it.contains(key)),
            "{problem}"
        );
    }
    // A wider choice of files of a folder that stays is new as well.
    running
        .change(|document| {
            let files = &mut document["roles"][0]["haystacks"][0];
            files["extra_parameters"] = json!({"respect_gitignore": false});
        })
        .problem(403);
    running
        .change(|document| document["allowed_roots"]["files"] = json!(["/"]))
        .problem(403);
    assert!(!running.on_disk().contains("New"));
    let allowed = running.change(|document| {
        let haystacks = document["roles"][0]["haystacks"].as_array_mut();
        let more = json!({"name": "More", "service": "LocalFiles", "location": "more", "extra_parameters": {"glob": "*.md"}});
        haystacks.expect("a list").push(more);
    });
    assert_eq!(allowed.status, 200, "{}", allowed.text());
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

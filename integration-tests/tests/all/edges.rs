//! What a hostile page or client can try on the search server.

use serde_json::json;

use crate::harness::{Home, Server};

fn start() -> (Home, Server) {
    let home = Home::new();
    home.write(
        "<img src=x onerror=alert(1)>.md",
        "# <script>alert(1)</script>\n\n<svg onload=alert(2)> javascript:alert(3) needle\n",
    );
    let server = home.start();
    (home, server)
}

#[test]
fn s01_other_hosts_are_not_answered() {
    let (_home, server) = start();
    for path in [
        "/",
        "/health",
        "/api/roles",
        "/admin/actors",
        "/ui/favicon.svg",
    ] {
        let status = server
            .send("GET", path, &[("Host", "evil.example")], b"")
            .status;
        assert!(status == 421 || status == 403, "{path}: {status}");
    }
    let body = br#"{"search_term":"needle"}"#;
    let headers = [
        ("Host", "evil.example:8000"),
        ("Content-Type", "application/json"),
    ];
    let status = server
        .send("POST", "/api/documents/search", &headers, body)
        .status;
    assert!(status == 421 || status == 403, "{status}");
    assert_eq!(
        server
            .send("GET", "/health", &[("Host", "localhost:1")], b"")
            .status,
        200
    );
}

#[test]
fn s02_s03_other_origins_are_not_served() {
    let (_home, server) = start();
    let body = br#"{"search_term":"needle"}"#;
    for origin in [
        "http://evil.example",
        "null",
        "https://localhost.evil.example",
    ] {
        let headers = [("Origin", origin), ("Content-Type", "application/json")];
        let answer = server.send("POST", "/api/documents/search", &headers, body);
        assert_eq!(answer.status, 403, "{origin}: {}", answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
    let own = format!("http://{}", server.address);
    let headers = [
        ("Origin", own.as_str()),
        ("Content-Type", "application/json"),
    ];
    assert_eq!(
        server
            .send("POST", "/api/documents/search", &headers, body)
            .status,
        200
    );
}

#[test]
fn s05_hostile_text_is_data_and_the_page_runs_no_inline_script() {
    let (_home, server) = start();
    let answer = server.search(&json!({"search_term": "needle"}));
    let result = &answer["results"][0];
    assert!(
        result["snippet"]
            .as_str()
            .is_some_and(|snippet| snippet.contains("needle")),
        "{result}"
    );
    let raw = server.post("/api/documents/search", &json!({"search_term": "needle"}));
    assert_eq!(raw.header("content-type"), Some("application/json"));
    assert_eq!(raw.header("x-content-type-options"), Some("nosniff"));
    let page = server.get("/");
    let policy = page
        .header("content-security-policy")
        .expect("a policy")
        .to_owned();
    for part in ["default-src 'self'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(
        !policy.contains("unsafe-inline") && !policy.contains("unsafe-eval"),
        "{policy}"
    );
}

#[test]
fn s14_odd_ranges_are_answered() {
    let (_home, server) = start();
    let whole = server.get("/ui/favicon.svg").body;
    for range in [
        "",
        "bytes=",
        "bytes=-",
        "bytes=5-2",
        "bytes=99999999-",
        "bytes=0-0,1-1",
        "items=0-1",
        "bytes=-99999999",
        "bytes=18446744073709551616-",
    ] {
        let answer = server.send("GET", "/ui/favicon.svg", &[("Range", range)], b"");
        assert!(
            [200, 206, 416].contains(&answer.status),
            "{range:?}: {}",
            answer.status
        );
    }
    let part = server.send("GET", "/ui/favicon.svg", &[("Range", "bytes=2-5")], b"");
    assert_eq!((part.status, part.body.as_slice()), (206, &whole[2..6]));
}

#[test]
fn a_token_guards_everything_but_the_page_itself() {
    let home = Home::new();
    home.write("a.txt", "needle\n");
    let server = home.start_guarded("s3cret");
    // Right after the start it may say 503 for a moment: its actors are still coming up.
    server.eventually("readiness", || server.get("/readyz").status == 200);
    for path in ["/", "/ui/favicon.svg", "/livez", "/readyz"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    for path in [
        "/health",
        "/api/roles",
        "/metrics",
        "/admin/actors",
        "/api/openapi.json",
    ] {
        server.get(path).problem(401);
        server
            .send("GET", path, &[("Authorization", "Bearer wrong")], b"")
            .problem(401);
        assert_eq!(
            server
                .send("GET", path, &[("Authorization", "Bearer s3cret")], b"")
                .status,
            200,
            "{path}"
        );
    }
}

#[test]
fn liveness_readiness_and_metrics_answer() {
    let (_home, server) = start();
    assert_eq!(server.get("/livez").status, 200);
    assert_eq!(server.get("/readyz").json()["ready"], true);
    assert!(server.get("/metrics").text().contains("# TYPE"));
}

#[test]
fn the_actor_tree_is_shown_live() {
    let (_home, server) = start();
    let tree = server.get("/admin/actors").json();
    let text = tree.to_string();
    for actor in ["\"service\"", "\"indexers\"", "\"search\""] {
        assert!(text.contains(actor), "{actor} is not in {tree}");
    }
}

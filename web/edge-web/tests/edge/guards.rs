//! S01–S04, S15: hosts, origins, tokens.

use edge_web::guard::{ApiToken, OriginPolicy, PublicPaths};

use crate::support::{Answer, Setup, TestServer};

const BODY: &str = r#"{"search_term":"a"}"#;
const JSON: &str = "Content-Type: application/json\r\n";

fn assert_no_grant(answer: &Answer) {
    let granted = answer
        .headers
        .iter()
        .any(|(name, _)| name.starts_with("access-control-"));
    assert!(!granted, "{answer:?}");
}

#[test]
fn s01_a_rebound_name_is_misdirected_everywhere() {
    let server = TestServer::start();
    let port = server.address.port();
    for path in ["/", "/livez", "/api/documents/7", "/ws", "/nowhere"] {
        for host in [
            "evil.example",
            &format!("evil.example:{port}"),
            "localhost.evil.example",
            "10.0.0.1",
        ] {
            let answer = server.ask(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            answer.problem(421);
        }
    }
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    server
        .ask(format!(
            "GET /ws HTTP/1.1\r\nHost: evil.example\r\n{upgrade}\r\n"
        ))
        .problem(421);
    for host in [
        "localhost",
        "127.0.0.1",
        "[::1]",
        &format!("LOCALHOST:{port}"),
    ] {
        let answer = server.ask(format!("GET /livez HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(answer.status, 200, "{host}");
    }
}

#[test]
fn s01_the_target_in_absolute_form_and_a_missing_host() {
    let server = TestServer::start();
    let ask = |target: &str, host: &str| {
        server.ask(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
    };
    assert_eq!(ask("http://localhost/livez", "localhost").status, 200);
    ask("http://evil.example/livez", "localhost").problem(421);
    ask("http://localhost/livez", "evil.example").problem(421);
    server.ask("GET /livez HTTP/1.0\r\n\r\n").problem(400);
    assert_eq!(
        server
            .ask("GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")
            .status,
        200
    );
    for malformed in ["localhost:x", "local host", "", ":80", "a,b"] {
        let status = ask("/livez", malformed).status;
        assert!(matches!(status, 400 | 421), "{malformed:?}: {status}");
    }
}

#[test]
fn s02_a_page_of_another_site_cannot_post() {
    let server = TestServer::start();
    // What a page can send without asking first: a form's content types.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=b",
    ] {
        let headers = format!("Content-Type: {kind}\r\n");
        server.post("/api/search", &headers, BODY).problem(415);
        let headers = format!("{headers}Origin: http://evil.example\r\n");
        server.post("/api/search", &headers, BODY).problem(403);
    }
    server.post("/api/search", "", BODY).problem(415);
    // Even with the right type, and without Origin: the browser says where it comes from.
    for site in ["cross-site", "same-site"] {
        let headers = format!("{JSON}Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: no-cors\r\n");
        server.post("/api/search", &headers, BODY).problem(403);
    }
    // A link does not post.
    let headers = format!("{JSON}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n");
    server.post("/api/search", &headers, BODY).problem(403);
    // Programs, and its own page.
    assert_eq!(server.post("/api/search", JSON, BODY).status, 200);
    let own = format!("{JSON}Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n");
    assert_eq!(server.post("/api/search", &own, BODY).status, 200);
}

#[test]
fn s02_a_link_from_another_site_opens_a_page() {
    let server = TestServer::start();
    let link = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n";
    assert_eq!(server.get_with("/livez", link).status, 200);
    let image = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n";
    server.get_with("/livez", image).problem(403);
}

#[test]
fn s03_nobody_is_granted_anything_unless_configured() {
    let server = TestServer::start();
    for origin in [
        "null",
        "http://evil.example",
        "*",
        "http://localhost:1",
        "file://",
    ] {
        let answer = server.post("/api/search", &format!("{JSON}Origin: {origin}\r\n"), BODY);
        answer.problem(403);
        assert_no_grant(&answer);
        let preflight = server.ask(format!(
            "OPTIONS /api/search HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-Method: POST\r\n\r\n"
        ));
        preflight.problem(403);
        assert_no_grant(&preflight);
    }
    assert_no_grant(&server.post("/api/search", JSON, BODY));
}

#[test]
fn s03_a_configured_origin_is_granted_by_name_and_without_credentials() {
    let configure = |config: &mut edge_web::EdgeConfig| {
        config.origins = OriginPolicy::new(["https://notes.example"]).unwrap();
        config.token = ApiToken::new("the-token");
    };
    let server = TestServer::with(Setup {
        configure,
        ..Setup::default()
    });
    let preflight = server.ask(
        "OPTIONS /api/search HTTP/1.1\r\nHost: localhost\r\nOrigin: https://notes.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    );
    assert_eq!(preflight.status, 204, "{preflight:?}");
    let headers =
        format!("{JSON}Origin: https://notes.example\r\nAuthorization: Bearer the-token\r\n");
    let answer = server.post("/api/search", &headers, BODY);
    assert_eq!(answer.status, 200, "{answer:?}");
    for answer in [preflight, answer] {
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some("https://notes.example")
        );
        assert_eq!(answer.header("vary"), Some("Origin"));
        assert_eq!(answer.header("access-control-allow-credentials"), None);
    }
    server
        .post("/api/search", &format!("{JSON}Origin: null\r\n"), BODY)
        .problem(403);
}

#[test]
fn s04_a_web_socket_of_another_page_is_refused() {
    let server = TestServer::start();
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for origin in ["http://evil.example", "null", "http://localhost:3000"] {
        server
            .get_with("/ws", &format!("{upgrade}Origin: {origin}\r\n"))
            .problem(403);
    }
    let own = server.get_with(
        "/ws",
        &format!("{upgrade}Origin: http://localhost\r\nConnection: close\r\n"),
    );
    assert_eq!(own.status, 200, "{own:?}");
}

#[test]
fn s15_with_a_token_everything_but_the_public_paths_wants_it() {
    let configure = |config: &mut edge_web::EdgeConfig| {
        config.token = ApiToken::new("the-token");
        config.public = PublicPaths::new(["/asset"]);
    };
    let server = TestServer::with(Setup {
        configure,
        ..Setup::default()
    });
    for path in [
        "/api/documents/7",
        "/metrics",
        "/admin/actors",
        "/ws",
        "/nowhere",
        "/%61sset",
        "/api/../livez",
    ] {
        for authorization in [
            "",
            "Authorization: Bearer wrong\r\n",
            "Authorization: Basic the-token\r\n",
            "Authorization: the-token\r\n",
        ] {
            let answer = server.get_with(path, authorization);
            answer.problem(401);
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    for path in ["/livez", "/readyz", "/asset"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    let answer = server.get_with("/api/documents/7", "Authorization: Bearer the-token\r\n");
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn t11_a_stream_ends_with_the_token_that_opened_it() {
    static TOKEN: std::sync::Mutex<&str> = std::sync::Mutex::new("the-token");
    let configure = |config: &mut edge_web::EdgeConfig| {
        config.token = Some(ApiToken::following(|| {
            Some((*TOKEN.lock().unwrap()).to_owned())
        }));
    };
    let server = TestServer::with(Setup {
        configure,
        ..Setup::default()
    });
    let follow = |kind: &str| {
        let mut client = server.connect();
        client.write(format!(
            "GET /api/events?kind={kind} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer the-token\r\n\r\n"
        ));
        let answer = client.answer();
        assert_eq!(answer.status, 200, "{answer:?}");
        client
    };
    let (mut events, mut file) = (follow("text/event-stream"), follow("application/x-tar"));
    *TOKEN.lock().unwrap() = "another-token";
    let told = events.closed();
    assert!(
        told.contains("data: 1") && told.ends_with("0\r\n\r\n"),
        "{told:?}"
    );
    let broken = file.closed();
    assert!(
        !broken.ends_with("0\r\n\r\n"),
        "it does not look whole: {broken:?}"
    );
}

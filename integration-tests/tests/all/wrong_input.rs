//! Wrong input: each a clear answer, nothing lost, no panic.

use serde_json::json;

use crate::harness::Home;

const SEARCH: &str = "/api/documents/search";
const JSON: [(&str, &str); 1] = [("Content-Type", "application/json")];

fn home() -> Home {
    let home = Home::new();
    home.write("a.txt", "something to find\n");
    home
}

#[test]
fn bodies_that_are_not_json_say_where() {
    let home = home();
    let server = home.start();
    for body in [
        "",
        "{",
        "[]",
        "null",
        "\"x\"",
        "{\"search_term\":}",
        "{\"search_term\":\"x\",}",
        "\u{feff}{}",
        "{\"search_term\":\"\\ud800\"}",
    ] {
        let problem = server
            .send("POST", SEARCH, &JSON, body.as_bytes())
            .problem(400);
        assert!(problem["detail"].as_str().is_some(), "{body}: {problem}");
    }
    let problem = server
        .send("POST", SEARCH, &JSON, b"{\n  \"search_term\": 5\n}")
        .problem(400);
    assert_eq!(problem["errors"][0]["line"], 2, "{problem}");
    server
        .send("POST", SEARCH, &JSON, b"{\"search_term\":\"\xff\"}")
        .problem(400);
    let deep = "[".repeat(100_000);
    server
        .send("POST", SEARCH, &JSON, deep.as_bytes())
        .problem(400);
    let problem = server
        .send("POST", SEARCH, &JSON, br#"{"search_term":"x","limt":5}"#)
        .problem(400);
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("limt")),
        "{problem}"
    );
}

#[test]
fn s02_other_content_types_are_refused() {
    let home = home();
    let server = home.start();
    let body = br#"{"search_term":"something"}"#;
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ] {
        server
            .send("POST", SEARCH, &[("Content-Type", content_type)], body)
            .problem(415);
    }
    server.send("POST", SEARCH, &[], body).problem(415);
    assert_eq!(
        server
            .send(
                "POST",
                SEARCH,
                &[("Content-Type", "application/json; charset=utf-8")],
                body
            )
            .status,
        200
    );
}

#[test]
fn s11_numbers_and_sizes_out_of_range_are_refused_or_bounded() {
    let home = home();
    let server = home.start();
    for limit in [
        "-1",
        "18446744073709551616",
        "1001",
        "1.5",
        "\"5\"",
        "1e400",
    ] {
        let body = format!(r#"{{"search_term":"x","limit":{limit}}}"#);
        let status = server.send("POST", SEARCH, &JSON, body.as_bytes()).status;
        assert!(status == 422 || status == 400, "{limit}: {status}");
    }
    server
        .post(SEARCH, &json!({"search_term": "x".repeat(1 << 20)}))
        .problem(422);
    server
        .post(
            SEARCH,
            &json!({"search_term": "x", "terms": vec!["y"; 100_000]}),
        )
        .problem(422);
    server
        .post(SEARCH, &json!({"search_term": "x".repeat(3 << 20)}))
        .problem(413);
    server
        .post(SEARCH, &json!({"search_term": " "}))
        .problem(422);
    for odd in [
        "(a+)+$",
        "\"\"",
        "-",
        "*",
        "a:b:c",
        "\u{0}",
        "\u{202e}x",
        "🪐",
        &"a ".repeat(500),
    ] {
        assert_eq!(
            server.post(SEARCH, &json!({"search_term": odd})).status,
            200,
            "{odd:?}"
        );
    }
}

#[test]
fn names_that_do_not_exist_are_answered_with_those_that_do() {
    let home = home();
    let server = home.start();
    let problem = server
        .post(SEARCH, &json!({"search_term": "x", "role": "Tesst"}))
        .problem(422);
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("did you mean \"Test\"?")),
        "{problem}"
    );
    assert_eq!(problem["errors"][0]["field"], "role");
    let problem = server
        .post(SEARCH, &json!({"search_term": "x", "sources": ["Filez"]}))
        .problem(422);
    assert!(
        problem["detail"]
            .as_str()
            .is_some_and(|detail| detail.contains("Files")),
        "{problem}"
    );
    server
        .post(SEARCH, &json!({"search_term": "x", "operator": "xor"}))
        .problem(422);
}

#[test]
fn unknown_paths_and_methods_are_json_problems() {
    let home = home();
    let server = home.start();
    for path in [
        "/api",
        "/api/",
        "/api/nothing",
        "/api/documents",
        "/nothing",
        "/assets/nothing.js",
    ] {
        server.get(path).problem(404);
    }
    let refused = server.get(SEARCH);
    refused.problem(405);
    assert_eq!(refused.header("allow"), Some("POST"));
    let refused = server.send("DELETE", "/health", &[], b"");
    refused.problem(405);
    assert!(
        refused
            .header("allow")
            .is_some_and(|allow| allow.contains("GET"))
    );
}

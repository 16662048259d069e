//! The API: problems, JSON bodies, static files, the API document.

use actix_web::http::Method;
use edge_web::{ApiCoverage, Metrics, coverage, share_problem};

use crate::support::{ASSET, TestServer, routes};

const JSON: &str = "Content-Type: application/json\r\n";

#[test]
fn every_failure_is_a_problem() {
    let server = TestServer::start();
    assert_eq!(server.get("/nowhere").problem(404)["title"], "Not Found");
    server.get("/api/nowhere").problem(404);
    server.get("/api/documents/not-a-number").problem(404);
    let query = server.get("/api/page?size=many").problem(400);
    assert!(
        query["detail"].as_str().unwrap().contains("invalid digit"),
        "{query}"
    );
    server.get("/api/page").problem(400);
    let answer = server.ask("DELETE /api/documents/7 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    answer.problem(405);
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
}

#[test]
fn the_text_of_an_error_of_ours_stays_in_the_log() {
    let server = TestServer::start();
    let problem = server.get("/api/ignored-error").problem(500);
    assert!(!problem.to_string().contains("hunter2"), "{problem}");
}

#[test]
fn a_wrong_body_says_where_and_why() {
    let server = TestServer::start();
    let problem = server
        .post("/api/search", JSON, "{\"search_term\":\n  oops}")
        .problem(400);
    assert_eq!(
        (
            &problem["errors"][0]["line"],
            &problem["errors"][0]["column"]
        ),
        (&2.into(), &3.into())
    );
    for (body, field, part) in [
        (r#"{"search_term":1}"#, "search_term", "expected a string"),
        (r#"{"search_term":"a","limit":-1}"#, "limit", "integer `-1`"),
        (
            r#"{"search_term":"a","limit":18446744073709551616}"#,
            "limit",
            "expected u64",
        ),
        (
            r#"{"search_term":"a","limit":1.5}"#,
            "limit",
            "floating point",
        ),
        (
            r#"{"search_term":"a","sources":[{"name":"x"},{"name":2}]}"#,
            "sources[1].name",
            "expected a string",
        ),
        (
            r#"{"search_term":"a","nope":1}"#,
            "nope",
            "unknown field `nope`",
        ),
        (r#"{"limit":1}"#, "", "missing field `search_term`"),
    ] {
        let problem = server.post("/api/search", JSON, body).problem(400);
        let error = &problem["errors"][0];
        assert_eq!(
            error["field"].as_str().unwrap_or_default(),
            field,
            "{body}: {problem}"
        );
        assert!(
            error["detail"].as_str().unwrap().contains(part),
            "{body}: {problem}"
        );
        assert_eq!(problem["type"], "urn:orrery:problem:invalid-json");
    }
    let problem = server
        .post("/api/search", JSON, r#"{"search_term":""}"#)
        .problem(422);
    assert_eq!(problem["errors"][0]["field"], "search_term");
}

#[test]
fn w12_hostile_json_is_a_400() {
    let server = TestServer::start();
    let deep = format!(r#"{{"search_term":"a","sources":{}"#, "[".repeat(60_000));
    let cases: &[&[u8]] = &[
        deep.as_bytes(),
        br#"{"search_term":"a","limit":1e999}"#,
        br#"{"search_term":"a","search_term":"b"}"#,
        br#"{"search_term":"\ud800"}"#,
        b"\xef\xbb\xbf{\"search_term\":\"a\"}",
        b"{\"search_term\":\"\0\"}",
        b"{\"search_term\":\"\xff\"}",
        b"",
        b"null",
        br#"{"search_term":"a"}}"#,
    ];
    for body in cases {
        server.post("/api/search", JSON, body).problem(400);
    }
}

#[test]
fn s11_a_body_over_the_limit_is_a_413() {
    let server = TestServer::start();
    let body = format!(r#"{{"search_term":"{}"}}"#, "a".repeat(64 * 1024));
    server.post("/api/search", JSON, body).problem(413);
}

#[test]
fn request_ids_are_taken_over_or_made() {
    let server = TestServer::start();
    let answer = server.get_with("/api/documents/7", "X-Request-Id: job-7.A_b\r\n");
    assert_eq!(answer.header("x-request-id"), Some("job-7.A_b"));
    assert_eq!(answer.body, b"7 job-7.A_b", "the handler sees it");
    for bad in ["", "a b", "<script>", &"a".repeat(129), "a\tb"] {
        let answer = server.get_with("/api/documents/7", &format!("X-Request-Id: {bad}\r\n"));
        let id = uuid::Uuid::parse_str(answer.header("x-request-id").unwrap()).unwrap();
        assert_eq!(id.get_version_num(), 7, "{bad:?}");
    }
    let problem = server
        .get_with("/nowhere", "X-Request-Id: abc\r\n")
        .problem(404);
    assert_eq!(problem["request_id"], "abc");
}

#[test]
fn every_answer_has_the_security_headers() {
    let server = TestServer::start();
    for answer in [
        server.get("/livez"),
        server.get("/nowhere"),
        server.get("/api/panic"),
        server.get("/asset"),
    ] {
        let csp = answer.header("content-security-policy").unwrap();
        assert!(
            csp.contains("default-src 'self'") && csp.contains("frame-ancestors 'none'"),
            "{csp}"
        );
        assert!(!csp.contains("unsafe") && !csp.contains('*'), "{csp}");
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-opener-policy", "same-origin"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value));
        }
    }
}

#[test]
fn head_follows_get() {
    let server = TestServer::start();
    for (path, length) in [("/asset", "10"), ("/livez", "3")] {
        let mut client = server.connect();
        client.write(format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        let answer = client.head_answer();
        assert_eq!(
            (answer.status, answer.header("content-length")),
            (200, Some(length))
        );
        client.write("GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_eq!(
            client.answer().body,
            b"ok\n",
            "no body came with the answer to HEAD"
        );
    }
}

#[test]
fn static_files_are_revalidated_by_a_strong_etag() {
    let server = TestServer::start();
    let answer = server.get("/asset");
    let etag = answer.header("etag").unwrap().to_owned();
    assert!(etag.starts_with('"') && etag.ends_with('"'));
    assert_eq!(answer.body, ASSET.as_bytes());
    for same in [
        etag.clone(),
        format!("W/{etag}"),
        format!("\"x\", {etag}"),
        "*".to_owned(),
    ] {
        let answer = server.get_with("/asset", &format!("If-None-Match: {same}\r\n"));
        assert_eq!(
            (answer.status, answer.header("etag")),
            (304, Some(etag.as_str())),
            "{same}"
        );
    }
    for other in ["\"x\"", "", etag.trim_matches('"')] {
        assert_eq!(
            server
                .get_with("/asset", &format!("If-None-Match: {other}\r\n"))
                .status,
            200,
            "{other}"
        );
    }
}

#[test]
fn a_compressed_file_is_given_to_who_takes_it() {
    let server = TestServer::start();
    let mut etags = Vec::new();
    for (accepted, coding, body) in [
        ("gzip, deflate, br", Some("br"), "by brotli"),
        ("gzip", Some("gzip"), "by gzip"),
        ("br;q=0, gzip;q=0.1", Some("gzip"), "by gzip"),
        ("identity", None, ASSET),
    ] {
        let accept = format!("Accept-Encoding: {accepted}\r\n");
        let answer = server.get_with("/packed", &accept);
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-encoding"), coding, "{accepted}");
        assert_eq!(answer.header("vary"), Some("Accept-Encoding"));
        assert_eq!(answer.body, body.as_bytes(), "{accepted}");
        let etag = answer.header("etag").unwrap().to_owned();
        let known = server.get_with("/packed", &format!("{accept}If-None-Match: {etag}\r\n"));
        assert_eq!(
            (known.status, known.header("etag")),
            (304, Some(etag.as_str())),
            "{accepted}"
        );
        assert_eq!(known.header("vary"), Some("Accept-Encoding"));
        etags.push(etag);
    }
    etags.dedup();
    assert_eq!(etags.len(), 3, "each coding has its own validator");
    let part = "Accept-Encoding: br\r\nRange: bytes=2-3\r\n";
    let part = server.get_with("/packed", part);
    assert_eq!((part.status, part.body.as_slice()), (206, &b"23"[..]));
    assert_eq!(part.header("content-encoding"), None);
    assert_eq!(server.get("/asset").header("vary"), None);
}

#[test]
fn s14_ranges_right_odd_and_empty() {
    let server = TestServer::start();
    for (range, body, place) in [
        ("bytes=0-3", "0123", "bytes 0-3/10"),
        ("bytes=8-", "89", "bytes 8-9/10"),
        ("bytes=8-99999999999999999999", "89", "bytes 8-9/10"),
        ("bytes=-3", "789", "bytes 7-9/10"),
        ("bytes=-18446744073709551615", ASSET, "bytes 0-9/10"),
        ("Bytes = 9-9", "9", "bytes 9-9/10"),
    ] {
        let answer = server.get_with("/asset", &format!("Range: {range}\r\n"));
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (206, body.as_bytes()),
            "{range}"
        );
        assert_eq!(answer.header("content-range"), Some(place), "{range}");
    }
    for range in [
        "bytes=10-",
        "bytes=10-11",
        "bytes=-0",
        "bytes=18446744073709551615-",
        "bytes=99999999999999999999-",
    ] {
        let answer = server.get_with("/asset", &format!("Range: {range}\r\n"));
        answer.problem(416);
        assert_eq!(
            answer.header("content-range"),
            Some("bytes */10"),
            "{range}"
        );
    }
    for range in [
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=--1",
        "bytes=a-b",
        "bytes=5-2",
        "bytes=0-1,3-4",
        "bytes=+1-2",
        "lines=1-2",
        "=",
        "-",
        ",",
        "bytes=0-0\t-1",
        "bytes=1 2-3",
        "\u{fc}=1-2",
    ] {
        let answer = server.get_with("/asset", &format!("Range: {range}\r\n"));
        assert_eq!(
            (answer.status, answer.body.as_slice()),
            (200, ASSET.as_bytes()),
            "{range}"
        );
    }
    let other = "If-Range: \"other\"\r\nRange: bytes=0-3\r\n";
    assert_eq!(server.get_with("/asset", other).status, 200);
    let twice = "Range: bytes=0-3\r\nRange: bytes=4-5\r\n";
    assert_eq!(server.get_with("/asset", twice).status, 200);
    for range in ["bytes=0-", "bytes=-1", "bytes=0-0"] {
        server
            .get_with("/empty", &format!("Range: {range}\r\n"))
            .problem(416);
    }
}

proptest::proptest! {
    #[test]
    fn s14_any_range_header_is_survived(header in proptest::collection::vec(proptest::num::u8::ANY, 0..40), length in 0_usize..2_000) {
        if let edge_web::ByteRange::Part(range) = edge_web::byte_range(&header, length) {
            proptest::prop_assert!(range.start < range.end && range.end <= length);
        }
    }

    #[test]
    fn s14_any_range_of_numbers_is_survived(first: u64, last: u64, length in 0_usize..2_000) {
        for header in [format!("bytes={first}-{last}"), format!("bytes={first}-"), format!("bytes=-{last}")] {
            if let edge_web::ByteRange::Part(range) = edge_web::byte_range(header.as_bytes(), length) {
                proptest::prop_assert!(range.start < range.end && range.end <= length);
            }
        }
    }
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(documented_search, documented_missing))]
struct Document;

#[utoipa::path(post, path = "/api/search", responses((status = 200, description = "hits")))]
#[allow(dead_code, reason = "only its description is used")]
fn documented_search() {}

#[utoipa::path(get, path = "/api/missing", responses((status = 200, description = "never")))]
#[allow(dead_code, reason = "only its description is used")]
fn documented_missing() {}

#[test]
fn the_document_is_compared_with_the_routes() {
    let document = <Document as utoipa::OpenApi>::openapi();
    let table = vec![
        (Method::POST, "/api/search".to_owned()),
        (Method::GET, "/api/documents/{id}".to_owned()),
        (Method::GET, "/livez".to_owned()),
    ];
    let expected = ApiCoverage {
        undocumented: ["GET /api/documents/{id}".to_owned()].into(),
        unserved: ["GET /api/missing".to_owned()].into(),
    };
    assert_eq!(coverage(&document, &table), expected);
    let table = routes(&Metrics::new()).table();
    assert!(
        table.contains(&(Method::POST, "/webhook".to_owned())),
        "{table:?}"
    );
    assert!(!table.iter().any(|(method, _)| method == Method::HEAD));
}

#[test]
fn every_documented_operation_names_the_problem() {
    let mut document = <Document as utoipa::OpenApi>::openapi();
    share_problem(&mut document);
    let json = serde_json::to_value(&document).unwrap();
    assert_eq!(json["openapi"], "3.1.0");
    let reference = "#/components/responses/Problem";
    assert_eq!(
        json["paths"]["/api/search"]["post"]["responses"]["default"]["$ref"],
        reference
    );
    let content =
        &json["components"]["responses"]["Problem"]["content"]["application/problem+json"];
    assert_eq!(
        content["schema"]["$ref"],
        "#/components/schemas/ProblemDocument"
    );
    let schema = &json["components"]["schemas"]["ProblemDocument"];
    for field in ["type", "title", "status", "detail", "errors"] {
        assert!(schema["properties"][field].is_object(), "{field}: {schema}");
    }
}

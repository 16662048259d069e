//! What is said while sources are being indexed, and the figures of the search server.

use serde_json::json;

use crate::harness::Home;

/// Whoever gets fewer documents than there are is told that more may come.
#[test]
fn y4_an_answer_that_may_miss_documents_says_that_indexing_goes_on() {
    const ALL: usize = 600;
    let home = Home::new();
    for number in 0..ALL {
        home.write(
            &format!("n{number}.md"),
            format!("# Note {number}\n\nthe valve\n"),
        );
    }
    let server = home.launch(&home.role("BM25"), |_| {});
    let body = json!({"search_term": "valve", "limit": 1});
    server.eventually("everything is found", || {
        let answer = server.search(&body);
        let is_whole = answer["total"] == ALL;
        let source = &answer["sources"][0];
        assert!(is_whole || answer["indexing"] == true, "{answer}");
        assert_eq!(
            answer["indexing"] == true,
            source["indexing"].is_object(),
            "{answer}"
        );
        is_whole && answer["indexing"].is_null()
    });
    // What is kept is an answer of an index that is whole.
    assert!(server.search(&body)["indexing"].is_null());
}

#[test]
fn y9_metrics_tell_of_sources_searches_and_the_cache() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nthe valve leaks\n");
    home.write("big.bin", b"\x7fELF\x02\x01\x01\0\0\0");
    let server = home.start();
    let metrics = || server.get("/metrics").text();
    server.eventually("an answer is given again", || {
        server.search(&json!({"search_term": "valve"}));
        !metrics().contains("search_cache_lookups_total{outcome=\"hit\"} 0\n")
    });
    let text = metrics();
    let labels = r#"role="Test",source="Files""#;
    for line in [
        format!("search_documents{{{labels}}} 1"),
        format!(r#"search_source_state{{{labels},state="ready"}} 1"#),
        format!("search_index_age_seconds{{{labels}}} "),
        format!("search_skipped_files{{{labels},reason="),
        format!("search_concepts_state{{{labels},state="),
        format!("search_source_duration_seconds_count{{{labels}}} "),
        r#"search_cache_lookups_total{outcome="hit"} "#.to_owned(),
        r#"search_cache_lookups_total{outcome="miss"} "#.to_owned(),
    ] {
        assert!(text.contains(&line), "{line} is not in\n{text}");
    }
}

#[test]
fn i16_what_is_not_indexed_is_listed_with_its_reason() {
    let home = Home::new();
    home.write("valve.md", "# Valve\n\nthe valve leaks\n");
    for name in ["a.bin", "b.bin", "c.bin"] {
        home.write(name, b"\x7fELF\x02\x01\x01\0\0\0");
    }
    home.write("empty.md", "\n");
    home.write("venv/.gitignore", "*\n");
    home.write("venv/lib.py", "import os\n");
    let server = home.start();
    let ask = |query: &str| server.get(&format!("/api/sources/Test/Files/skipped{query}"));
    let paths = |query: &str| {
        let answer = ask(query).json();
        let one = |one: &serde_json::Value| format!("{} {}", one["path"], one["reason"]);
        let list = answer["skipped"].as_array().expect("a list").iter();
        (list.map(one).collect::<Vec<_>>(), answer["next"].clone())
    };
    let (all, next) = paths("");
    let binary = ["a", "b", "c"].map(|name| format!("\"{name}.bin\" \"binary\""));
    assert_eq!(all[..3], binary);
    assert_eq!(
        all[3..],
        [r#""empty.md" "empty""#, r#""venv" "hidden_by_gitignore""#]
    );
    assert!(next.is_null());
    assert_eq!(
        paths("?reason=binary&limit=2"),
        (binary[..2].to_vec(), json!("b.bin"))
    );
    assert_eq!(
        paths("?reason=binary&limit=2&after=b.bin"),
        (binary[2..].to_vec(), json!(null))
    );
    for (query, status, words) in [
        (
            "?reason=heavy",
            422,
            "no such reason; known are: unreadable",
        ),
        ("?limit=0", 422, "from 1 to 1000"),
        ("?count=1", 400, "count"),
    ] {
        let refused = ask(query);
        assert_eq!(refused.status, status, "{query}");
        assert!(refused.text().contains(words), "{}", refused.text());
    }
    let unknown = server.get("/api/sources/Test/Nothing/skipped");
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().contains("it has: Files"));
}

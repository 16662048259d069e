//! ServiceGraph with the embedding model of a server: lazily, in batches, kept; and a server that
//! is away, breaks off, hangs, refuses texts, or changes its vectors.

use scripted_peers::{EmbeddingPeer, Manner};
use serde_json::{Value, json};

use super::embedding::{QUERY, concepts, fill, first};
use crate::harness::{Home, Running, keys};

fn roles(home: &Home, peer: &EmbeddingPeer) -> Value {
    let mut graph = home.role("ServiceGraph");
    graph["extra"] = json!({"embedding_server_url": peer.url(), "embedding_server_model": "words"});
    let mut words = home.role("BM25F");
    words["name"] = "Words".into();
    json!({"roles": [graph, words]})
}

fn start(home: &Home, peer: &EmbeddingPeer) -> Running {
    home.start(&roles(home, peer))
}

fn embedded(server: &Running) {
    server.eventually("all documents are embedded", || {
        concepts(server)["embedded"] == true
    });
}

/// What the answer says about the model.
fn note(server: &Running, query: &str) -> Option<String> {
    let answer = server.search(&json!({"search_term": query}));
    let notes = answer["notes"].as_array().cloned().unwrap_or_default();
    let mut notes = notes.iter().filter_map(Value::as_str);
    let found = notes.find(|note| note.starts_with("ranked without the embedding model"));
    found.map(str::to_owned)
}

/// The note of the first part of a score that is not of words.
fn nearness(server: &Running) -> String {
    let answer = server.search(&json!({"search_term": QUERY, "explain": true}));
    let parts = answer["results"][0]["explanation"]["parts"].clone();
    let parts = parts.as_array().cloned().unwrap_or_default();
    let part = parts.iter().find(|part| part["kind"] == "concept");
    part.map(|part| part["note"].to_string())
        .unwrap_or_default()
}

#[test]
fn a_server_s_model_ranks_by_meaning_and_what_it_made_is_kept() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    for number in 0..30 {
        home.write(
            &format!("more/{number}.md"),
            format!("# Note {number}\n\nNothing of note.\n"),
        );
    }
    let server = start(&home, &peer);
    embedded(&server);
    assert_eq!(concepts(&server)["embeddings"], 33);
    assert_eq!(first(&server, "Words"), "bread.md");
    assert_eq!(first(&server, "Test"), "car.md");
    assert_eq!(note(&server, QUERY), None);
    assert!(nearness(&server).contains("by the embedding model"));
    let asked = peer.asked();
    assert!(asked.iter().all(|texts| texts.len() <= 8), "{asked:?}");
    assert!(asked.iter().any(|texts| texts.len() == 8), "{asked:?}");
    let questions = asked.iter().filter(|texts| texts[0] == QUERY).count();
    assert_eq!(questions, 1, "a query is embedded once");

    let answer = server.search(&json!({"search_term": QUERY}))["results"].clone();
    drop(server);
    let before = peer.asked().len();
    let again = start(&home, &peer);
    embedded(&again);
    assert_eq!(
        again.search(&json!({"search_term": QUERY}))["results"],
        answer
    );
    let asked = peer.asked().split_off(before);
    assert_eq!(asked, [[QUERY]], "only the query is embedded again");
}

#[test]
fn a_server_that_is_away_is_asked_again_and_search_goes_on_without_it() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    peer.manner(Manner::Away);
    let server = start(&home, &peer);
    let error = || concepts(&server)["error"].as_str().map(str::to_owned);
    server.eventually("the reason is told", || {
        error().is_some_and(|error| error.contains("words of http") && error.contains("again"))
    });
    assert_eq!(first(&server, "Test"), "bread.md");
    let told = note(&server, QUERY).expect("a note");
    assert!(
        told.contains("0 of the 2 best documents are embedded"),
        "{told}"
    );

    peer.manner(Manner::Works);
    embedded(&server);
    server.eventually("the reason is gone", || error().is_none());
    assert_eq!(first(&server, "Test"), "car.md");

    // What is known needs no server; a new query is ranked without, and says so.
    peer.manner(Manner::Away);
    assert_eq!(first(&server, "Test"), "car.md");
    let other = "guide to the engine of a car";
    assert!(note(&server, other).is_some());
    peer.manner(Manner::Works);
    server.eventually("the server is asked again", || {
        note(&server, other).is_none()
    });
}

#[test]
fn answers_that_cannot_be_used_are_not_used() {
    for (manner, reason) in [
        (Manner::HalfJson, "language-model server"),
        (Manner::TooFew, "one vector for each text"),
        (Manner::Zeros, "no numbers that can be used"),
    ] {
        let (home, peer) = (Home::new(), EmbeddingPeer::start());
        fill(&home);
        peer.manner(manner);
        let server = start(&home, &peer);
        server.eventually("the reason is told", || {
            let error = concepts(&server)["error"].to_string();
            error.contains(reason)
        });
        assert_eq!(first(&server, "Test"), "bread.md", "{manner:?}");
        peer.manner(Manner::Works);
        embedded(&server);
        assert_eq!(first(&server, "Test"), "car.md", "{manner:?}");
    }
}

#[test]
fn a_query_does_not_wait_for_a_server_that_hangs() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    let server = start(&home, &peer);
    embedded(&server);
    peer.manner(Manner::Hangs);
    let told = note(&server, "guide to trucks").expect("a note");
    assert!(told.contains("too slow"), "{told}");
    // It is left alone now: not even asked.
    let asked = peer.asked().len();
    let told = note(&server, "guide to cats").expect("a note");
    assert!(told.contains("asked again in"), "{told}");
    assert_eq!(peer.asked().len(), asked);
    peer.manner(Manner::Works);
    server.eventually("the server is asked again", || {
        note(&server, "guide to cats").is_none()
    });
}

#[test]
fn a_text_that_is_refused_keeps_no_other_from_being_embedded() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    let long = "A guide to long texts. ".repeat(30);
    home.write("long.md", format!("# Long\n\n{long} poison"));
    home.write("short.md", "# Short\n\nA guide to poison.");
    peer.refuses("poison");
    let server = start(&home, &peer);
    embedded(&server);
    assert_eq!(first(&server, "Test"), "car.md");
    let asked = peer.asked();
    let cut = asked
        .iter()
        .any(|texts| texts.len() == 1 && texts[0].contains("Long") && texts[0].len() <= 400);
    assert!(cut, "the long one is cut: {asked:?}");
    let answer = server.search(&json!({"search_term": "short", "explain": true}));
    let note = &answer["results"][0]["explanation"]["parts"];
    assert!(note.to_string().contains("its words count alone"), "{note}");
}

#[test]
fn vectors_of_another_length_are_made_anew() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    let server = start(&home, &peer);
    embedded(&server);
    assert_eq!(first(&server, "Test"), "car.md");
    peer.width(24);
    let other = "guide to the engine of a car";
    server.eventually("the new model ranks", || note(&server, other).is_none());
    let answer = server.search(&json!({"search_term": other}));
    assert_eq!(keys(&answer)[0], "car.md");
    // The vector of the former query is of the former model: it is asked for again.
    assert_eq!(first(&server, "Test"), "car.md");
    server.eventually("all documents are embedded anew", || {
        concepts(&server)["embeddings"] == 3 && concepts(&server)["embedded"] == true
    });
}

#[test]
fn a_query_is_ranked_by_the_model_as_soon_as_its_pool_is_embedded() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    for number in 0..160 {
        let text = format!("# Filler {number}\n\nNothing of note.\n");
        home.write(&format!("a/{number}.md"), text);
    }
    for number in 0..12 {
        let text = format!("# Guide {number}\n\nA guide guide guide to flour.\n");
        home.write(&format!("z/{number}.md"), text);
    }
    home.write(
        "z/car.md",
        "# Workshop\n\nA guide to an automobile engine.\n",
    );
    peer.holds("Filler");
    let server = start(&home, &peer);
    assert_ne!(first(&server, "Test"), "z/car.md");
    assert!(note(&server, QUERY).is_some());
    // One batch of the others for each look: what the search waits for comes first.
    server.eventually("the model ranks", || {
        peer.permit(1);
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(std::time::Duration::from_millis(250));
        first(&server, "Test") == "z/car.md"
    });
    assert_eq!(note(&server, QUERY), None);
    assert_ne!(concepts(&server)["embedded"], true);
    assert!(note(&server, "nothing of note").is_some(), "another pool");
    peer.permit(1_000);
    embedded(&server);
}

//! Roles that rank by an embedding model: indexers publish what it made, searchers embed queries.

use std::collections::BTreeMap;

use scripted_peers::{BertShape, EmbeddingPeer};
use serde_json::{Value, json};

use super::equal_answers::queries;
use super::equality::Comparison;
use super::servers::{Home, Server, wait, write_corpus};

const GRAPH: &str = "ServiceGraph";
const DOCUMENTS: usize = 240;

/// A corpus, a model that counts words, and a role that ranks by it.
fn prepare() -> (Home, EmbeddingPeer) {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    peer.width(64);
    peer.reads_all();
    write_corpus(&home.docs(), DOCUMENTS);
    let extra = json!({"embedding_server_url": peer.url(), "embedding_server_model": "words"});
    home.write_roles_as("roles.json", &[GRAPH], &extra);
    (home, peer)
}

fn write_new(home: &Home, number: usize) {
    let text = format!("# Zeppelin {number}\n\nThe zeppelin stands beside bicycle {number}.\n");
    std::fs::write(home.docs().join(format!("new-{number}.md")), text).expect("room");
}

/// Waits until all of so many documents are there, learnt and embedded.
fn embedded(server: &mut Server, documents: usize) {
    server.settle(documents, true);
    wait(
        "all embeddings",
        || {
            let concepts = &server.source()["concepts"];
            concepts["embedded"] == true && concepts["embeddings"] == documents
        },
        || format!("{} {}", server.source(), server.program.output()),
    );
}

/// Waits until both servers answer alike, and by the model.
fn equal(alone: &Server, searcher: &Server, queries: &[String]) {
    let mut last = Comparison::default();
    wait(
        "equal answers",
        || {
            last = Comparison::default();
            last.ask(alone, searcher, GRAPH, queries);
            last.differing.is_empty()
        },
        || format!("{} {}", alone.source(), searcher.source()),
    );
    assert!(last.results > 500, "{}", last.results);
    for query in queries {
        assert_eq!(note(searcher, query), None, "{query}");
    }
}

/// What an answer says about the model.
fn note(server: &Server, query: &str) -> Option<String> {
    let answer = server.search(GRAPH, query);
    let notes = answer["notes"].as_array().cloned().unwrap_or_default();
    let mut notes = notes.iter().filter_map(Value::as_str);
    let found = notes.find(|note| note.starts_with("ranked without the embedding model"));
    found.map(str::to_owned)
}

/// How often the model was given each text that is no query.
fn documents_asked(peer: &EmbeddingPeer, queries: &[String]) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for text in peer.asked().into_iter().flatten() {
        if !queries.contains(&text) && text != "water" {
            *asked.entry(text).or_default() += 1;
        }
    }
    asked
}

#[test]
fn i18_three_searchers_rank_by_a_model_like_one_machine() {
    let (home, peer) = prepare();
    let mut alone = home.start("alone", "local");
    let mut indexer = home.start("indexer", "indexer");
    let start = |number: usize| home.start(&format!("searcher-{number}"), "searcher");
    let mut searchers: Vec<Server> = (0..3).map(start).collect();
    for server in [&mut alone, &mut indexer].into_iter().chain(&mut searchers) {
        embedded(server, DOCUMENTS);
    }
    let mut queries = queries(&home.docs(), 20);
    for searcher in &searchers {
        equal(&alone, searcher, &queries);
    }
    // The model has its part in what was compared.
    home.write_roles_as("plain.json", &[GRAPH], &json!({}));
    let mut plain = home.start_with("plain", "local", "plain.json");
    plain.settle(DOCUMENTS, true);
    let mut comparison = Comparison::default();
    comparison.ask(&plain, &searchers[0], GRAPH, &queries);
    assert!(comparison.equal < 5, "{} are equal", comparison.equal);

    // What is new, and what goes.
    for number in 0..6 {
        write_new(&home, number);
    }
    std::fs::remove_file(home.docs().join("part0/note-0000.md")).expect("it is there");
    for server in std::iter::once(&mut alone).chain(&mut searchers) {
        embedded(server, DOCUMENTS + 5);
    }
    queries.push("bicycle zeppelin chain".to_owned());
    for searcher in &searchers {
        equal(&alone, searcher, &queries);
    }
    // One machine and one indexer have embedded each passage once; no searcher has.
    let asked = documents_asked(&peer, &queries);
    assert!(asked.len() > DOCUMENTS + 6, "long notes have several");
    assert!(asked.values().all(|times| *times == 2), "{asked:?}");
}

#[test]
fn i18_a_source_in_two_parts_is_ranked_by_a_model_as_one() {
    let (home, peer) = prepare();
    let mut alone = home.start("alone", "local");
    let first = home.start_part("first", "indexer", 1, 2);
    let second = home.start_part("second", "indexer", 2, 2);
    let mut searcher = home.start_part("searcher", "searcher", 1, 2);
    embedded(&mut alone, DOCUMENTS);
    embedded(&mut searcher, DOCUMENTS);
    let queries = queries(&home.docs(), 20);
    equal(&alone, &searcher, &queries);
    let of_parts = [&first, &second].map(|indexer| {
        let concepts = indexer.source()["concepts"].clone();
        assert_eq!(concepts["state"], "ready", "{concepts}");
        concepts["embeddings"].as_u64().unwrap_or_default()
    });
    assert_eq!(of_parts.iter().sum::<u64>(), DOCUMENTS as u64);
    assert!(of_parts.iter().all(|count| *count > 40), "{of_parts:?}");
    for number in 0..6 {
        write_new(&home, number);
    }
    embedded(&mut alone, DOCUMENTS + 6);
    embedded(&mut searcher, DOCUMENTS + 6);
    equal(&alone, &searcher, &queries);
    let asked = documents_asked(&peer, &queries);
    assert!(asked.len() > DOCUMENTS + 6, "long notes have several");
    assert!(asked.values().all(|times| *times == 2), "{asked:?}");
}

#[test]
fn i18_who_takes_over_embeds_what_is_new() {
    let (home, peer) = prepare();
    let mut first = home.start("first", "indexer");
    let mut searcher = home.start("searcher", "searcher");
    embedded(&mut searcher, DOCUMENTS);
    first.program.kill();
    let before = peer.asked().len();
    for number in 0..3 {
        write_new(&home, number);
    }
    let mut second = home.start("second", "indexer");
    embedded(&mut second, DOCUMENTS + 3);
    embedded(&mut searcher, DOCUMENTS + 3);
    let asked: Vec<String> = peer.asked()[before..].concat();
    assert_eq!(asked.len(), 3, "{asked:?}");
    assert!(
        asked.iter().all(|text| text.contains("zeppelin")),
        "{asked:?}"
    );
    // So does who comes back.
    second.end();
    let before = peer.asked().len();
    write_new(&home, 3);
    let mut second = home.start("second", "indexer");
    embedded(&mut second, DOCUMENTS + 4);
    embedded(&mut searcher, DOCUMENTS + 4);
    assert_eq!(peer.asked()[before..].concat().len(), 1);
}

const MODEL: BertShape = BertShape {
    width: 8,
    heads: 2,
    layers: 1,
    wide: 16,
    positions: 64,
    pieces: &[
        "restart", "policy", "garden", "bicycle", "lease", "the", "##s",
    ],
};

/// Searchers that cannot compare queries with what was published rank by learnt vectors.
#[test]
fn i18_a_searcher_without_the_model_says_so_and_ranks_by_learnt_vectors() {
    let home = Home::new();
    write_corpus(&home.docs(), DOCUMENTS);
    let model = |name: &str, shape: BertShape| {
        let folder = home.data(&format!("{name}-weights"));
        std::fs::create_dir(&folder).expect("room");
        shape.write(&folder);
    };
    model("model", MODEL);
    model("other", BertShape { layers: 2, ..MODEL });
    for name in ["model", "other", "absent"] {
        let extra = json!({"embedding_model": home.data(&format!("{name}-weights"))});
        home.write_roles_as(&format!("{name}.json"), &[GRAPH], &extra);
    }
    home.write_roles_as("plain.json", &[GRAPH], &json!({}));
    let mut plain = home.start_with("plain", "local", "plain.json");
    let mut indexer = home.start_with("indexer", "indexer", "model.json");
    embedded(&mut indexer, DOCUMENTS);
    plain.settle(DOCUMENTS, true);
    let ranks_without = |mode: &str, reason: &str| {
        let mut searcher = home.start_with(mode, "searcher", &format!("{mode}.json"));
        searcher.settle(DOCUMENTS, true);
        ranks_as_plain(&plain, &searcher, reason);
        searcher
    };
    ranks_without("other", "embedded by another model than this server has");
    let mut late = ranks_without("absent", "it cannot be used here: ");
    let mut same = home.start_with("same", "searcher", "model.json");
    embedded(&mut same, DOCUMENTS);
    assert_eq!(note(&same, "restart policy"), None);
    // It is looked for again.
    model("absent", MODEL);
    embedded(&mut late, DOCUMENTS);
    assert_eq!(note(&late, "restart policy"), None);
}

/// The snapshots of an indexer without a model, and of versions before, hold no embeddings.
#[test]
fn i18_snapshots_without_embeddings_are_served() {
    let (home, _peer) = prepare();
    home.write_roles_as("plain.json", &[GRAPH], &json!({}));
    let mut indexer = home.start_with("indexer", "indexer", "plain.json");
    indexer.settle(DOCUMENTS, true);
    let mut searcher = home.start("searcher", "searcher");
    searcher.settle(DOCUMENTS, true);
    ranks_as_plain(&indexer, &searcher, "no embeddings have been published");
}

/// Waits until a searcher ranks as a server without a model does, and says why.
fn ranks_as_plain(plain: &Server, searcher: &Server, reason: &str) {
    let queries = ["restart policy", "garden soil water", "lease epoch"];
    wait(
        reason,
        || {
            let told = searcher.source()["concepts"]["error"].to_string();
            told.contains(reason)
                && queries.iter().all(|query| {
                    let told = note(searcher, query).unwrap_or_default();
                    let [one, other] = [plain, searcher].map(|server| server.search(GRAPH, query));
                    told.contains(reason) && one["results"] == other["results"]
                })
        },
        || {
            let answer = searcher.search(GRAPH, queries[0]);
            format!("{} {}", searcher.source(), answer["notes"])
        },
    );
}

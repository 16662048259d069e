//! Answers that a model should have ranked and did not, seen through the whole server: they are
//! told apart, and not kept once it is back.

use scripted_peers::BertShape;
use serde_json::{Value, json};

use crate::harness::{Home, keys};

const QUESTION: &str = "a guide to repairing the motor";

fn note(answer: &Value) -> Option<&str> {
    let mut notes = answer["notes"].as_array()?.iter().filter_map(Value::as_str);
    notes.find(|note| note.starts_with("not reranked"))
}

#[test]
fn i16_an_answer_that_the_reranker_missed_is_not_kept() {
    let home = Home::new();
    home.write("bread.md", "# Guide\n\nA guide to baking bread.\n");
    home.write("car.md", "# Guide\n\nA guide to the motor vehicle.\n");
    let folder = home.path().join("reranker");
    let mut role = home.role("BM25F");
    role["extra"] = json!({"rerank_model": folder});
    let server = home.start_with(&role, |_| {});
    let ask = || server.search(&json!({"search_term": QUESTION}));

    let without = ask();
    assert!(note(&without).is_some(), "{}", without["notes"]);
    assert_eq!(keys(&without).len(), 2);
    std::fs::create_dir(&folder).expect("a new folder");
    let shape = BertShape {
        width: 32,
        heads: 4,
        layers: 2,
        wide: 64,
        positions: 128,
        pieces: &["guide", "to", "motor", "vehicle", "bread", "a", "the"],
    };
    shape.write(&folder);
    let with = ask();
    assert_eq!(note(&with), None, "{}", with["notes"]);
    let hits = || {
        let text = server.get("/metrics").text();
        text.contains("search_cache_lookups_total{outcome=\"hit\"} 1")
    };
    assert!(!hits());
    assert_eq!(keys(&ask()), keys(&with));
    assert!(hits(), "what the model has ranked is kept");
}

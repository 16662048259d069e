//! Passages of long documents, which are learnt from where documents are few.

use serde_json::json;

use super::embedding::concepts;
use crate::harness::{Home, keys};

/// Some words of a subject, whose letters say nothing of it.
fn words_of(subject: usize, from: usize) -> String {
    let word = |number: usize| {
        let mut bits = (subject * 131 + number * 17 + 7) * 2_654_435_761 % 4_294_967_296;
        let mut letter = || {
            bits /= 7;
            ["ba", "do", "ku", "la", "mo", "pu", "za"][bits % 7]
        };
        (0..5).map(|_| letter()).collect::<String>()
    };
    let words: Vec<String> = (0..90).map(|at| word((from + at * at) % 12)).collect();
    words.join(" ")
}

#[test]
fn i16_few_long_documents_are_learnt_from_by_their_passages() {
    let home = Home::new();
    for document in 0..30 {
        let mut text = format!("# Document {document}\n\n");
        for part in 0..10 {
            let words = words_of((document + part) % 10, document * 3 + part);
            text += &format!("## Part {part}\n\n{words}.\n\n{words}.\n\n");
        }
        home.write(&format!("{document:02}.md"), text);
    }
    let server = home.start(&json!({"roles": [home.role("ServiceGraph")]}));
    server.eventually("it is learnt", || concepts(&server)["state"] == "ready");
    let asked = words_of(3, 1).split(' ').next().expect("a word").to_owned();
    let answer = server.search(&json!({"search_term": asked, "explain": true}));
    let parts = answer["results"][0]["explanation"]["parts"].to_string();
    assert!(parts.contains("\"concept\""), "{parts}");
    let first = keys(&answer);
    drop(server);
    let server = home.start(&json!({"roles": [home.role("ServiceGraph")]}));
    server.eventually("it is taken up", || concepts(&server)["state"] == "ready");
    assert_eq!(keys(&server.search(&json!({"search_term": asked}))), first);
}

#[test]
fn i16_few_short_documents_are_still_too_few() {
    let home = Home::new();
    for document in 0..30 {
        home.write(
            &format!("{document:02}.md"),
            format!("# D\n\n{}", words_of(document, 1)),
        );
    }
    // Large for what it says: a guess by its size is too high.
    home.write("padded.md", format!("# Padded\n\n{}", "\n".repeat(400_000)));
    let server = home.start(&json!({"roles": [home.role("ServiceGraph")]}));
    server.eventually("they are looked at", || {
        concepts(&server)["state"] == "too_few"
    });
    let answer = server.search(&json!({"search_term": "padded"}));
    assert_eq!(keys(&answer), ["padded.md"]);
}

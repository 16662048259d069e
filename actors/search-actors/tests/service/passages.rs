//! Passages of long documents: embedded by themselves, kept, and learnt from where documents are
//! few.

use scripted_peers::EmbeddingPeer;
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

fn embedded(server: &Running) {
    server.eventually("all documents are embedded", || {
        concepts(server)["embedded"] == true
    });
}

/// A section of about one passage, of these words.
fn section(heading: &str, words: &str) -> String {
    let paragraph = format!("{words} are told of at length in this sentence of it. ").repeat(14);
    format!("## {heading}\n\n{paragraph}\n\n")
}

/// A manual that is mostly about bread, with a guide to engines in its middle.
fn manual() -> String {
    let bread = |number: usize| section(&format!("Part {number}"), "Bread and flour and ovens");
    let mut text = "# Manual\n\n".to_owned();
    (0..5).for_each(|number| text += &bread(number));
    text += &section("Engines", "An automobile engine");
    (5..9).for_each(|number| text += &bread(number));
    text
}

/// The texts with this word that the model was given, but for the query.
fn given(peer: &EmbeddingPeer, from: usize, word: &str) -> Vec<String> {
    let asked = peer.asked().into_iter().skip(from).flatten();
    asked
        .filter(|text| text != QUERY && text.contains(word))
        .collect()
}

#[test]
fn i16_a_long_document_is_as_near_as_its_best_passage_and_what_stays_is_not_embedded_again() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    std::fs::remove_file(home.files().join("car.md")).expect("the file that is nearest");
    home.write("manual.md", manual());
    let server = home.start(&roles(&home, &peer));
    embedded(&server);
    assert_eq!(first(&server, "Words"), "bread.md");
    assert_eq!(first(&server, "Test"), "manual.md");
    assert_eq!(concepts(&server)["embeddings"], 3);
    let passages = given(&peer, 0, "told of at length");
    assert!(passages.len() >= 9, "{passages:?}");
    assert!(
        passages.iter().all(|text| text.starts_with("Manual")),
        "{passages:?}"
    );
    assert!(peer.asked().iter().all(|texts| texts.len() <= 8));

    // One section is written anew: what else there is was embedded already.
    let before = peer.asked().len();
    home.write(
        "manual.md",
        manual().replace("An automobile", "Another automobile"),
    );
    server.eventually("the change is embedded", || {
        !given(&peer, before, "Another automobile").is_empty()
    });
    embedded(&server);
    let again = given(&peer, before, "told of at length");
    assert!(again.len() <= 2, "{again:?}");
    assert_eq!(first(&server, "Test"), "manual.md");

    // What was made is taken up at the next start.
    let answer = server.search(&json!({"search_term": QUERY}))["results"].clone();
    drop(server);
    let before = peer.asked().len();
    let server = home.start(&roles(&home, &peer));
    embedded(&server);
    assert_eq!(
        server.search(&json!({"search_term": QUERY}))["results"],
        answer
    );
    assert_eq!(given(&peer, before, "told of"), Vec::<String>::new());
}

/// `line`, the excerpt and the passages of a result led to where any word of the query stands.
#[test]
fn i16_where_words_do_not_decide_the_nearest_passage_is_shown() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    std::fs::remove_file(home.files().join("car.md")).expect("the file that is nearest");
    let text = manual().replacen("Bread and flour", "A *guide* to bread", 1);
    home.write("manual.md", &text);
    home.write("manual.txt", text.replace(['#', '*'], ""));
    let server = home.start(&roles(&home, &peer));
    embedded(&server);
    let line = |key: &str, part: &str| {
        let text = std::fs::read_to_string(home.files().join(key)).expect("the file");
        let at = text.find(part).expect("it is there");
        text[..at].matches('\n').count() as u64 + 1
    };
    let result = |key: &str, answer: &Value, list: &str| -> Value {
        let all = answer[list].as_array().expect("a list");
        let mut all = all.iter();
        let found = all.find(|one| one["id"].as_str().is_some_and(|id| id.ends_with(key)));
        found.cloned().unwrap_or_default()
    };
    let asked = json!({"search_term": QUERY, "budget_tokens": 4_000});
    let answer = server.search(&asked);
    for key in ["manual.md", "manual.txt"] {
        let found = result(key, &answer, "results");
        let shown = found["snippet"].to_string();
        assert!(shown.contains("automobile"), "{key}: {shown}");
        let from = line(key, "Engines");
        let lines = from..=line(key, "An automobile");
        assert!(
            lines.contains(&found["line"].as_u64().unwrap_or(0)),
            "{key}: {found}"
        );
        let passage = result(key, &answer, "passages");
        let text = passage["text"].to_string();
        assert!(text.contains("automobile"), "{key}: {text}");
        assert!(
            passage["line"]
                .as_u64()
                .is_some_and(|line| line >= from - 2),
            "{passage}"
        );
    }
    // A chat reads on there.
    let answer = server.answer(&json!({"search_term": QUERY, "include_body": true}));
    let manuals = answer.results.into_iter();
    let read: Vec<String> = manuals
        .filter(|found| found.id.contains("manual."))
        .map(|found| found.body.unwrap_or_default()[found.nearest_passage.expect("one")].to_owned())
        .collect();
    assert_eq!(read.len(), 2);
    assert!(
        read.iter().all(|text| text.contains("automobile")),
        "{read:?}"
    );
    // Where words stand together they decide, whatever a vector says.
    let answer = server.search(&json!({"search_term": "guide to bread"}));
    for key in ["manual.md", "manual.txt"] {
        let found = result(key, &answer, "results");
        let shown = found["snippet"].to_string();
        assert!(shown.contains("bread and ovens are told"), "{key}: {shown}");
    }
}

#[test]
fn i16_first_passages_come_first_and_rank_meanwhile() {
    let (home, peer) = (Home::new(), EmbeddingPeer::start());
    fill(&home);
    for number in 0..12 {
        let text = format!(
            "# Guide {number}\n\n{}",
            section("Held", "Zebras").repeat(6)
        );
        home.write(&format!("long/{number:02}.md"), text);
    }
    // The first passage has another line between the title and this heading.
    peer.holds(" Held");
    let server = home.start(&roles(&home, &peer));
    server.eventually("every document has a passage", || {
        concepts(&server)["embeddings"] == 15
    });
    server.eventually("they rank", || first(&server, "Test") == "car.md");
    peer.permit(1_000);
    embedded(&server);
    assert_eq!(first(&server, "Test"), "car.md");
}

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

//! Thesaurus, graph and suggestions.

use proptest::prelude::*;
use search_core::document::ContentKind;
use search_graph_engine::graph::{
    ConceptGraph, ConceptKind, DocumentFacts, EdgeKind, Extractor, GraphIndex,
};
use search_graph_engine::suggest::{Suggester, SuggesterEntry, SuggestionKind};
use search_graph_engine::thesaurus::{
    ConceptId, Thesaurus, ThesaurusEntry, parse_concept_file, parse_json,
};

fn thesaurus(declared: &[(&str, &[&str])]) -> Thesaurus {
    let entry = |(name, synonyms): &(&str, &[&str])| ThesaurusEntry {
        name: (*name).to_owned(),
        synonyms: synonyms.iter().map(|s| (*s).to_owned()).collect(),
        url: None,
    };
    Thesaurus::new(declared.iter().map(entry).collect())
}

#[test]
fn matches_are_leftmost_longest_on_word_boundaries_whatever_the_spelling() {
    let thesaurus = thesaurus(&[
        ("art", &[]),
        ("Café au lait", &["milk coffee"]),
        ("coffee", &[]),
        ("coffee machine", &[]),
        ("東京", &[]),
    ]);
    for (text, expected) in [
        ("The art of the start: ART!", vec!["art", "ART"]),
        (
            "a coffee machine; coffee, machine",
            vec!["coffee machine", "coffee, machine"],
        ),
        ("milk coffee machine", vec!["milk coffee"]),
        (
            "CAFE\u{301} AU  LAIT and café-au-lait",
            vec!["CAFE\u{301} AU  LAIT", "café-au-lait"],
        ),
        ("coffee coffee", vec!["coffee", "coffee"]),
        ("cartwheel coffees", vec![]),
        ("in 東京 today", vec!["東京"]),
        ("", vec![]),
    ] {
        let found: Vec<&str> = thesaurus
            .find(text)
            .iter()
            .map(|m| &text[m.start..m.end])
            .collect();
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn texts_are_rewritten_and_queries_expanded_by_what_was_declared() {
    let thesaurus = thesaurus(&[("supervision", &["let it crash", "fault tolerance"])]);
    let text = "Let it crash: fault-tolerance.";
    assert_eq!(thesaurus.replace(text), "supervision: supervision.");
    let expanded = thesaurus.expand("let it crash or supervision");
    let all = vec!["supervision", "let it crash", "fault tolerance"];
    assert_eq!(expanded, [(ConceptId::from_name("Supervision"), all)]);
    let text = "first\n\nabout fault tolerance\n\nlast";
    assert_eq!(thesaurus.extract(text), [(7, "about fault tolerance")]);
    assert!(Thesaurus::default().find(text).is_empty());
}

#[test]
fn the_order_of_declarations_makes_no_difference() {
    let a = ("net", &["graph"][..]);
    let b = ("web", &["graph", "net"][..]);
    let ids = |thesaurus: &Thesaurus| -> Vec<ConceptId> {
        thesaurus
            .find("graph net web")
            .iter()
            .map(|m| thesaurus.id(m.entry))
            .collect()
    };
    let expected = ["net", "net", "web"].map(ConceptId::from_name);
    assert_eq!(ids(&thesaurus(&[a, b])), expected);
    assert_eq!(ids(&thesaurus(&[b, a])), expected);
}

fn bytes_of(graph: &ConceptGraph) -> Vec<u8> {
    let mut bytes = Vec::new();
    graph.save(&mut bytes).expect("memory");
    bytes
}

/// The graph as it is after a restart.
fn kept(graph: &ConceptGraph) -> ConceptGraph {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("graph");
    std::fs::write(&path, bytes_of(graph)).expect("written");
    // The map outlives the file's name.
    ConceptGraph::open(&path).expect("bytes just made")
}

proptest! {
    /// Against the definition: at each word the longest declared run of words, else on to the next.
    #[test]
    fn matching_follows_the_definition(
        patterns in prop::collection::vec("[ab]( [ab]){0,2}", 1..6),
        text in "[ab]( [ab]){0,12}",
    ) {
        let declared: Vec<(&str, &[&str])> = patterns.iter().map(|p| (p.as_str(), &[][..])).collect();
        let thesaurus = thesaurus(&declared);
        let words: Vec<&str> = text.split(' ').collect();
        let (mut expected, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let run = |length: usize| words.get(at..at + length).map(|run| run.join(" "));
            match (1..=3).rev().find(|&n| run(n).is_some_and(|run| patterns.contains(&run))) {
                Some(length) => {
                    expected.extend(run(length));
                    at += length;
                }
                None => at += 1,
            }
        }
        let found: Vec<&str> = thesaurus.find(&text).iter().map(|m| &text[m.start..m.end]).collect();
        prop_assert_eq!(found, expected);
    }

    /// Whatever came before, the graph is that of the documents' last states.
    #[test]
    fn a_documents_contribution_is_replaced_and_removed_whole(
        steps in prop::collection::vec((0u8..6, prop::option::of(prop::collection::vec(0u8..8, 0..5))), 1..30),
        keep_at in 0usize..30,
    ) {
        let contribution = |tags: &[u8]| {
            let tags: Vec<String> = tags.iter().map(|tag| format!("tag {tag}x")).collect();
            Extractor::default().contribution(&DocumentFacts { tags: &tags, ..DocumentFacts::default() })
        };
        let mut graph = ConceptGraph::default();
        let mut last: std::collections::BTreeMap<u8, Vec<u8>> = std::collections::BTreeMap::new();
        for (number, (key, tags)) in steps.into_iter().enumerate() {
            if number == keep_at {
                graph = kept(&graph);
            }
            match tags {
                Some(tags) => {
                    graph.insert(&key.to_string(), &contribution(&tags));
                    last.insert(key, tags);
                }
                None => {
                    graph.remove(&key.to_string());
                    last.remove(&key);
                }
            }
        }
        let mut fresh = ConceptGraph::default();
        for (key, tags) in &last {
            fresh.insert(&key.to_string(), &contribution(tags));
        }
        prop_assert_eq!(bytes_of(&graph), bytes_of(&fresh));
        prop_assert_eq!(graph.overview(100), fresh.overview(100));
        prop_assert_eq!(graph.names(), fresh.names());
        prop_assert_eq!(graph.document_count(), fresh.document_count());
        prop_assert_eq!(graph.concept_count(), fresh.concept_count());
        let kept = kept(&graph);
        prop_assert_eq!(bytes_of(&kept), bytes_of(&fresh));
        for key in last.keys().map(u8::to_string) {
            prop_assert_eq!(graph.concepts_of(&key), fresh.concepts_of(&key));
            prop_assert_eq!(kept.concepts_of(&key), fresh.concepts_of(&key));
        }
        for tag in 0..8 {
            let id = ConceptId::from_name(&format!("tag {tag}x"));
            prop_assert_eq!(graph.neighbours(id, 50), fresh.neighbours(id, 50));
            prop_assert_eq!(kept.neighbours(id, 50), fresh.neighbours(id, 50));
        }
    }
}

#[test]
fn neighbours_are_what_documents_hold_together() {
    let index = GraphIndex::new(thesaurus(&[("actor", &["mailbox"])]).into());
    let put = |key: &str, tags: &[&str], body: &str| {
        let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
        index.insert(
            key,
            &DocumentFacts {
                tags: &tags,
                body,
                kind: ContentKind::Data,
                ..DocumentFacts::default()
            },
        );
    };
    put("a", &["restart"], "a mailbox");
    put("b", &["restart", "rust"], "an actor");
    put("c", &["rust"], "");
    let view = index.neighbours("Actor", 10).expect("a concept");
    let names: Vec<(&str, ConceptKind, u32)> = view
        .concepts
        .iter()
        .map(|c| (c.name.as_str(), c.kind, c.documents))
        .collect();
    assert_eq!(
        names,
        [
            ("actor", ConceptKind::Declared, 2),
            ("restart", ConceptKind::Tag, 2),
            ("rust", ConceptKind::Tag, 2),
        ]
    );
    assert_eq!(view.documents, ["a", "b"]);
    put("d", &["rust"], "");
    put("e", &["alone"], "");
    let around = |key: &str| {
        let view = index.read(|graph| graph.neighbourhood(key, 10))?;
        let names = view.concepts.into_iter().map(|concept| concept.name);
        Some((names.collect::<Vec<_>>(), view.documents))
    };
    let (names, near) = around("b").expect("a document");
    assert_eq!(names, ["actor", "restart", "rust"], "the rarest first");
    assert_eq!(near, ["a", "c", "d"], "two in common before one");
    assert_eq!(around("e"), Some((vec![], vec![])));
    assert_eq!(around("nobody"), None);
    assert!(index.remove("d") && index.remove("e"));
    assert!(
        view.edges
            .iter()
            .all(|edge| edge.kind == EdgeKind::Together)
    );
    assert!(view.edges[0].weight > view.edges[1].weight);
    assert!(index.remove("a") && index.remove("b"));
    assert_eq!(index.neighbours("actor", 10), None);
    assert_eq!(index.read(ConceptGraph::concept_count), 1);
}

fn suggester(texts: &[(&str, u32)]) -> Suggester {
    let make = |&(text, weight)| SuggesterEntry {
        text,
        kind: SuggestionKind::Title,
        weight,
    };
    Suggester::new(texts.iter().map(make).collect())
}

#[test]
fn i16_the_last_word_of_several_is_completed() {
    let entry = |text, kind, weight| SuggesterEntry { text, kind, weight };
    let suggester = Suggester::new(vec![
        entry("contention", SuggestionKind::Term, 3),
        entry("make_context", SuggestionKind::Term, 2),
        entry("Contents of a page", SuggestionKind::Title, 9),
    ]);
    let texts = |input: &str| -> Vec<String> {
        let found = suggester.suggest(input, 5).into_iter();
        found.map(|suggestion| suggestion.text).collect()
    };
    assert_eq!(texts("lock cont"), ["lock contention"]);
    assert_eq!(texts("make_con"), ["make_context"]);
    assert_eq!(texts("lock co"), Vec::<String>::new());
    assert_eq!(texts("contention"), ["contention"]);
}

#[test]
fn suggestions_come_by_prefix_then_by_likeness_heaviest_first() {
    let suggester = suggester(&[
        ("Supervision trees", 5),
        ("Supervisor", 9),
        ("Superb", 1),
        ("supervisor", 3),
        ("Résumé", 2),
        ("Restart policy", 4),
    ]);
    let texts = |input: &str| -> Vec<String> {
        let found = suggester.suggest(input, 3).into_iter();
        found.map(|suggestion| suggestion.text).collect()
    };
    assert_eq!(
        texts("super"),
        ["Supervisor", "Supervision trees", "Superb"]
    );
    assert_eq!(texts("RESUME"), ["Résumé"]);
    assert_eq!(texts("supervison t"), ["Supervision trees"]);
    assert_eq!(texts("restrat p"), ["Restart policy"]);
    assert_eq!(texts("supervision "), ["Supervision trees"]);
    assert!(texts("").is_empty() && texts("zzz").is_empty() && texts(&"x".repeat(500)).is_empty());
    assert_eq!(suggester.len(), 5, "spellings that fold alike are one");
}

proptest! {
    #[test]
    fn prefixes_are_complete_and_in_order(
        texts in prop::collection::btree_map("[a-c]{1,5}", 0u32..4, 1..40),
        input in "[a-c]{1,3}",
    ) {
        let all: Vec<(&str, u32)> = texts.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let mut expected: Vec<(&str, u32)> = all.iter().copied().filter(|(text, _)| text.starts_with(&input)).collect();
        expected.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let suggester = suggester(&all);
        let found = suggester.complete_prefix(&input, 100);
        let found: Vec<(&str, u32)> = found.iter().map(|s| (s.text.as_str(), s.weight)).collect();
        prop_assert_eq!(found, expected);
    }
}

proptest! {
    /// What is changed step by step suggests what would be made of the result at once.
    #[test]
    fn i16_suggestions_that_are_changed_are_those_that_are_made_anew(
        before in prop::collection::btree_map("[a-c]{1,3}", 0u32..4, 0..20),
        steps in prop::collection::vec(
            (prop::collection::btree_map("[a-c]{1,3}", 0u32..4, 0..5), prop::collection::btree_set("[a-c]{1,3}", 0..5)),
            1..5,
        ),
        input in "[a-c]{1,4}",
    ) {
        let entry = |text, weight| SuggesterEntry { text, kind: SuggestionKind::Title, weight };
        let all: Vec<(&str, u32)> = before.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let mut changed = suggester(&all);
        let mut result = before.clone();
        for (put, gone) in &steps {
            let gone: Vec<_> = gone.iter().map(|text| entry(text.as_str(), 0)).collect();
            let put: Vec<_> = put.iter().map(|(text, weight)| entry(text.as_str(), *weight)).collect();
            changed = changed.changed(&put, &gone);
            for one in &gone {
                result.remove(one.text);
            }
            result.extend(put.iter().map(|one| (one.text.to_owned(), one.weight)));
        }
        let all: Vec<(&str, u32)> = result.iter().map(|(text, weight)| (text.as_str(), *weight)).collect();
        let anew = suggester(&all);
        prop_assert_eq!(changed.len(), anew.len());
        prop_assert_eq!(changed.complete_prefix(&input, 100), anew.complete_prefix(&input, 100));
        prop_assert_eq!(changed.nearly(&input, 100), anew.nearly(&input, 100));
        prop_assert_eq!(anew.differing(), 0);
    }
}

proptest! {
    /// Whatever a file holds, reading it and searching with it does no harm, and matches are in
    /// order at the borders of characters.
    #[test]
    fn odd_thesauri_and_texts_do_no_harm(file in "\\PC{0,80}", name in "\\PC{0,12}", text in "\\PC{0,80}") {
        let _ = parse_json(&file);
        let declared = parse_concept_file(&name, &format!("synonyms:: {file}"));
        let thesaurus = Thesaurus::new(declared.into_iter().collect());
        let text = format!("{text} {file}");
        let mut end = 0;
        for found in thesaurus.find(&text) {
            prop_assert!(found.start >= end && found.end > found.start);
            prop_assert!(text.get(found.start..found.end).is_some());
            end = found.end;
        }
        prop_assert!(thesaurus.replace(&text).len() <= text.len() * 300);
        prop_assert_eq!(thesaurus.extract(&text).is_empty(), end == 0);
        prop_assert_eq!(thesaurus.expand(&text).is_empty(), end == 0);
    }
}

/// A letter whose compatibility form holds a space (U+037A) once made a second word of it, and the
/// search for its place panicked.
#[test]
fn i16_a_letter_that_folds_to_a_space_is_part_of_its_word() {
    let declared = parse_concept_file("v", "synonyms:: w");
    let thesaurus = Thesaurus::new(declared.into_iter().collect());
    for (text, found) in [
        ("\u{37a}v ", 1),
        ("v\u{37a}", 1),
        ("w\u{37a}v", 0),
        ("\u{fdfa}v", 0),
    ] {
        assert_eq!(thesaurus.find(text).len(), found, "{text:?}");
    }
}

#[test]
fn i16_what_is_a_title_is_suggested_as_it_is_written() {
    let entry = |text, kind, weight| SuggesterEntry { text, kind, weight };
    let suggester = Suggester::new(vec![
        entry("kundigungsfrist der wohnung", SuggestionKind::Concept, 9),
        entry("Kündigungsfrist der Wohnung", SuggestionKind::Title, 2),
        entry("kundigung", SuggestionKind::Term, 1),
    ]);
    let found = suggester.suggest("kund", 5);
    let texts: Vec<_> = found.iter().map(|one| one.text.as_str()).collect();
    assert_eq!(texts, ["Kündigungsfrist der Wohnung", "kundigung"]);
}

//! The concept space: kept, changed and searched.

use std::collections::BTreeMap;

use proptest::prelude::*;
use search_graph_engine::fuse::{FusionCandidate, VectorWeights, fuse, paraphrase_score};
use search_graph_engine::learning::{CorpusWriter, LearnOptions, Learner};
use search_graph_engine::space::{ConceptSpace, SpaceError};

const WORDS: [&str; 12] = [
    "wing", "lift", "drag", "shock", "layer", "flow", "actor", "queue", "panic", "restart",
    "permit", "message",
];

fn space(count: usize) -> ConceptSpace {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = CorpusWriter::create(&folder.path().join("tokens")).expect("a file");
    for number in 0..count {
        let body: Vec<&str> = (0..10)
            .map(|at| WORDS[(number * 5 + at * at) % WORDS.len()])
            .collect();
        writer
            .add(&format!("d{number:03}"), [], body)
            .expect("a document");
    }
    let options = LearnOptions {
        epochs: Some(2),
        ..LearnOptions::default()
    };
    let mut learner = Learner::new(writer.finish().expect("a corpus"), options);
    while !learner.step().expect("a step").is_done() {}
    learner.finish().finish().expect("a space")
}

/// Writes a space to a file and opens it.
fn kept(space: &ConceptSpace, folder: &std::path::Path) -> ConceptSpace {
    let path = folder.join("space");
    let mut bytes = Vec::new();
    space.save(&mut bytes).expect("memory");
    std::fs::write(&path, bytes).expect("written");
    ConceptSpace::open(&path).expect("the space")
}

#[test]
fn a_saved_space_is_the_same_space_and_a_damaged_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let space = space(40);
    let loaded = kept(&space, folder.path());
    let query = space
        .query_vector([("wing", 1), ("unheard", 2)])
        .expect("a direction");
    assert_eq!(
        loaded.query_vector([("wing", 1), ("unheard", 2)]),
        Some(query.clone())
    );
    assert_eq!(loaded.scan(&query, 40), space.scan(&query, 40));
    assert_eq!(
        loaded.related_words("wing", 5),
        space.related_words("wing", 5)
    );
    assert_eq!(loaded.len(), 40);
    assert_eq!(loaded.heap_bytes(), 0, "it is searched where it lies");
    let bytes = std::fs::read(folder.path().join("space")).expect("the file");
    let damaged = folder.path().join("damaged");
    for at in [0, 9, 21, 300, bytes.len() / 2, bytes.len() - 1] {
        let mut altered = bytes.clone();
        altered[at] ^= 0x40;
        std::fs::write(&damaged, altered).expect("written");
        let refused = ConceptSpace::open(&damaged);
        assert!(matches!(refused, Err(SpaceError::Damaged(_))), "{at}");
        std::fs::write(&damaged, &bytes[..at]).expect("written");
        let cut = ConceptSpace::open(&damaged);
        assert!(matches!(cut, Err(SpaceError::Damaged(_))), "{at}");
    }
}

/// Each term that a result lacks hashed the result's key anew.
#[test]
fn i16_a_documents_direction_gives_the_cosines_that_its_key_gives() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut space = kept(&space(40), folder.path());
    space.insert("d003", ["wing", "lift", "wing"]);
    space.insert("new", ["queue", "panic"]);
    assert!(space.remove("d004"));
    let terms = ["wing", "panic", "unheard"];
    let vectors = space.term_vectors(terms);
    assert!(vectors[2].is_none());
    let query = space.query_vector(terms.map(|term| (term, 1)));
    let query = query.expect("a direction");
    for near in space.scan(&query, 99) {
        let own = space.vector_of(&near.key).expect("it has one");
        assert_eq!(own.cosine(&query), near.cosine, "{}", near.key);
        for vector in vectors.iter().flatten() {
            assert_eq!(Some(own.cosine(vector)), space.cosine(vector, &near.key));
        }
    }
    assert_eq!(space.vector_of("d004"), None);
    assert!(space.vector_of("new").is_some());
}

/// Each search by concepts compared its query with every word.
#[test]
fn i16_the_words_near_a_query_are_looked_for_once_until_words_are_learnt_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut space = space(60);
    let loaded = kept(&space, folder.path());
    let queries = WORDS.map(|word| space.query_vector([(word, 1), ("flow", 2)]));
    let near = |space: &ConceptSpace, limit| {
        let queries = queries.iter().flatten();
        let near = queries.map(|query| space.words().nearest(query, limit));
        near.collect::<Vec<_>>()
    };
    let first = near(&space, 5);
    let distinct = space.words().searches();
    assert!((10..=12).contains(&distinct), "{distinct}");
    assert_eq!(near(&space, 5), first);
    // A change of documents leaves the words as they are.
    let searched = space.clone();
    space.insert("d007", ["wing", "panic"]);
    assert_eq!(near(&space, 5), first);
    assert_eq!(near(&searched, 5), first);
    assert_eq!(space.words().searches(), distinct);
    // Another number of words is another question, with the same beginning.
    let all = near(&space, WORDS.len());
    assert_eq!(space.words().searches(), 2 * distinct);
    for (few, all) in first.iter().zip(&all) {
        assert!(all.starts_with(few) && all.len() == WORDS.len());
        assert!(all.is_sorted_by(|a, b| a.cosine >= b.cosine), "{all:?}");
    }
    // Where nothing was kept the answers are the same.
    assert_eq!(loaded.words().searches(), 0);
    assert_eq!(near(&loaded, 5), first);
}

#[test]
fn a_document_indexed_again_unchanged_keeps_its_vector() {
    let mut space = space(60);
    let query = space.query_vector([("flow", 1)]).expect("a direction");
    let before = space.scan(&query, 60);
    let body: Vec<&str> = (0..10)
        .map(|at| WORDS[(7 * 5 + at * at) % WORDS.len()])
        .collect();
    space.insert("d007", body.iter().rev());
    assert_eq!(space.scan(&query, 60), before);
    assert!(space.is_changed() && !space.needs_refresh());
}

/// All documents changed at once are no reason to learn all words again, unless they say something
/// else.
#[test]
fn i16_a_document_counts_as_changed_by_what_has_changed_of_it() {
    let mut space = space(60);
    assert!(!space.is_changed());
    let body = |number: usize| (0..10).map(move |at| WORDS[(number * 5 + at * at) % WORDS.len()]);
    for number in 0..60 {
        let key = format!("d{number:03}");
        space.insert(&key, body(number).chain(["unheard", "of"]));
    }
    assert!(space.is_changed() && !space.needs_refresh());
    for number in 0..60 {
        space.insert(
            &format!("d{number:03}"),
            [WORDS[(number + 6) % WORDS.len()]],
        );
    }
    assert!(space.needs_refresh());
    for number in 0..150 {
        space.insert(&format!("e{number:03}"), body(number));
    }
    assert!(space.is_another());
}

#[test]
fn readers_of_a_clone_see_the_space_as_it_was() {
    let mut space = space(60);
    let query = space.query_vector([("flow", 1)]).expect("a direction");
    let (reader, before) = (space.clone(), space.scan(&query, 60));
    assert!(space.remove("d007") && !space.remove("d007"));
    space.insert("d008", ["panic"]);
    space.insert("d009", ["unheard"]);
    assert!(space.remove("d010"));
    assert_eq!(reader.scan(&query, 60), before);
    assert_eq!((space.len(), reader.len()), (57, 60));
    assert_eq!(space.cosine(&query, "d007"), None);
    assert_eq!(
        space.cosine(&query, "d009"),
        None,
        "nothing is known of its words"
    );
    assert!(space.needs_refresh() && !reader.needs_refresh());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whatever was put and removed, the scan gives what a table of the last states gives.
    #[test]
    fn scans_follow_from_the_last_state_of_each_document(
        steps in prop::collection::vec((0usize..2500, prop::option::of(0usize..12)), 1..40),
        filled in 0usize..6000,
        keep_at in 0usize..6000,
        limit in 1usize..50,
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut space = space_of_words();
        let mut expected: BTreeMap<String, usize> = BTreeMap::new();
        for number in 0..filled {
            if number == keep_at {
                space = kept(&space, folder.path());
            }
            space.insert(&format!("k{number}"), [WORDS[number % 12]]);
            expected.insert(format!("k{number}"), number % 12);
        }
        for number in 0..filled {
            if number % 2 == 0 {
                space.remove(&format!("k{number}"));
                expected.remove(&format!("k{number}"));
            }
        }
        for (key, word) in steps {
            let key = format!("k{key}");
            match word {
                Some(word) => {
                    space.insert(&key, [WORDS[word]]);
                    expected.insert(key, word);
                }
                None => prop_assert_eq!(space.remove(&key), expected.remove(&key).is_some()),
            }
        }
        prop_assert_eq!(space.len(), expected.len());
        let query = space.query_vector([("wing", 1), ("queue", 1)]).expect("a direction");
        let mut all: Vec<(String, f32)> = expected
            .keys()
            .map(|key| (key.clone(), space.cosine(&query, key).expect("a vector")))
            .collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all.truncate(limit);
        let scan = |space: &ConceptSpace| -> Vec<(String, f32)> {
            space.scan(&query, limit).into_iter().map(|n| (n.key, n.cosine)).collect()
        };
        prop_assert_eq!(&scan(&space), &all);
        prop_assert_eq!(&scan(&kept(&space, folder.path())), &all);
    }

    /// The order of the candidates does not matter, parts add up, and scores stay within 0 and 1.
    #[test]
    fn fusion_is_a_function_of_the_set(
        scores in prop::collection::vec(
            ((0u8..20, 0u8..5), prop::option::of(0u8..20), prop::option::of(0u8..20)),
            1..30,
        ),
        turn in 0usize..30,
    ) {
        let keys: Vec<String> = (0..scores.len()).map(|number| format!("k{number:02}")).collect();
        let mut candidates: Vec<FusionCandidate<'_>> = scores
            .iter()
            .zip(&keys)
            .map(|(((lexical, otherwise), learnt, model), key)| FusionCandidate {
                key,
                lexical: f32::from(*lexical),
                otherwise: f32::from(*otherwise),
                learnt: learnt.map(|c| f32::from(c) / 20.0),
                model: model.map(|c| f32::from(c) / 20.0),
                weights: VectorWeights { learnt: 0.3, model: 0.3 },
            })
            .collect();
        let names = |candidates: &[FusionCandidate<'_>]| -> Vec<(String, f32)> {
            let fused = fuse(candidates);
            for f in &fused {
                assert!((0.0..=1.0).contains(&f.score) && f.score == f.lexical_part + f.vector_part);
                assert!((0.0..=f.lexical_part).contains(&f.otherwise_part));
            }
            fused.iter().map(|f| (candidates[f.candidate].key.to_owned(), f.score)).collect()
        };
        let first = names(&candidates);
        let turn = turn % candidates.len();
        candidates.rotate_left(turn);
        prop_assert_eq!(&first, &names(&candidates));
        prop_assert!(first.is_sorted_by(|a, b| a.1 > b.1 || (a.1 == b.1 && a.0 < b.0)));
    }
}

/// A space that knows the words and holds no document; learnt once.
fn space_of_words() -> ConceptSpace {
    static KNOWN: std::sync::OnceLock<ConceptSpace> = std::sync::OnceLock::new();
    let mut space = KNOWN.get_or_init(|| space(60)).clone();
    for number in 0..60 {
        space.remove(&format!("d{number:03}"));
    }
    space
}

#[test]
fn without_any_cosine_the_order_is_the_lexical_one() {
    let candidate = |key, lexical| FusionCandidate {
        key,
        lexical,
        otherwise: 0.0,
        learnt: None,
        model: None,
        weights: VectorWeights::LEARNT,
    };
    let order = fuse(&[
        candidate("b", 1.0),
        candidate("a", 1.0),
        candidate("c", 3.0),
    ]);
    assert_eq!(
        order.iter().map(|f| f.candidate).collect::<Vec<_>>(),
        [2, 1, 0]
    );
    assert_eq!(order[0].score, 1.0);
    assert!(fuse(&[]).is_empty());
}

#[test]
fn i16_what_is_said_in_other_words_counts_beside_the_words() {
    assert_eq!([-0.5, 0.0, 0.2].map(paraphrase_score), [0.0; 3]);
    assert!(paraphrase_score(0.6) > paraphrase_score(0.4));
    let candidate = |key, lexical, otherwise| FusionCandidate {
        key,
        lexical,
        otherwise,
        learnt: Some(0.5),
        model: None,
        weights: VectorWeights::LEARNT,
    };
    let fused = fuse(&[
        candidate("a", 4.0, 0.0),
        candidate("b", 3.0, 2.0),
        candidate("c", 4.5, 0.0),
    ]);
    let order: Vec<usize> = fused.iter().map(|one| one.candidate).collect();
    assert_eq!(order, [1, 2, 0]);
    // The best has all that words have, two fifths of it in other words.
    assert_eq!(fused[0].lexical_part, 0.5);
    assert!((fused[0].otherwise_part - 0.2).abs() < 1e-6);
    assert_eq!(fused[1].otherwise_part, 0.0);
}

#[test]
fn i16_terms_have_directions_of_their_own_where_they_are_known() {
    let space = space(60);
    let vectors = space.term_vectors(["wing", "neverheard"]);
    assert!(vectors[1].is_none());
    assert_eq!(vectors[0], space.query_vector([("wing", 1)]));
}

#[test]
fn i16_a_source_without_vectors_is_not_ahead_of_one_with_them() {
    let candidate = |key, lexical, learnt| FusionCandidate {
        key,
        lexical,
        otherwise: 0.0,
        learnt,
        model: None,
        weights: VectorWeights::LEARNT,
    };
    let mut candidates = vec![
        candidate("large/both", 10.0, Some(0.8)),
        candidate("large/one", 7.0, Some(0.2)),
        candidate("small/both", 10.0, None),
        candidate("small/one", 7.0, None),
    ];
    let others: Vec<String> = (0..60).map(|number| format!("large/{number}")).collect();
    for (number, key) in others.iter().enumerate() {
        candidates.push(candidate(key, 1.0 + number as f32 / 20.0, Some(0.1)));
    }
    let fused = fuse(&candidates);
    let score = |key: &str| {
        let found = fused
            .iter()
            .find(|one| candidates[one.candidate].key == key);
        found.expect("it is ranked").score
    };
    for text in ["both", "one"] {
        let (large, small) = (
            score(&format!("large/{text}")),
            score(&format!("small/{text}")),
        );
        assert!((large - small).abs() < 0.01, "{text}: {large} {small}");
    }
    assert!(score("small/one") < score("large/both"));
}

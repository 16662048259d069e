//! Learning: repeatable, resumable, and it learns.

use std::path::Path;

use search_graph_engine::learning::{
    Corpus, CorpusWriter, DocumentTokens, LearnOptions, Learner, LearningError, TermReader,
};
use search_graph_engine::space::ConceptSpace;

const SUBJECTS: u64 = 20;

fn hash(numbers: [u64; 2]) -> u64 {
    let mixed = (numbers[0] << 20 | numbers[1]).wrapping_add(1);
    let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 8
}

/// One of the twelve words of a subject; its letters say nothing of the subject. It is a stem.
fn word(subject: u64, number: u64) -> String {
    let mut bits = hash([subject, number % 12]);
    let mut letter = || {
        bits /= 7;
        ["ba", "do", "ku", "la", "mo", "pu", "za"][(bits % 7) as usize]
    };
    (0..4).map(|_| letter()).collect()
}

/// Documents on twenty subjects, whose words never meet: a document holds some of its subject's.
fn documents(count: usize) -> Vec<(String, String, String)> {
    (0..count as u64)
        .map(|number| {
            let subject = number % SUBJECTS;
            let word = |step: u64| word(subject, hash([number, step]));
            let body: Vec<String> = (0..24).map(word).collect();
            let title = format!("{} {}", word(100), word(101));
            (format!("d{number:04}"), title, body.join(" "))
        })
        .collect()
}

fn corpus(folder: &Path, count: usize) -> Corpus {
    let mut writer = CorpusWriter::create(&folder.join("tokens")).expect("a file");
    let mut reader = TermReader::default();
    for (key, title, body) in documents(count) {
        let (title, body) = (reader.read(&title, 100), reader.read(&body, 1_000));
        writer.add(&key, &title, &body).expect("a document");
    }
    writer.finish().expect("a corpus")
}

fn options() -> LearnOptions {
    LearnOptions {
        epochs: Some(6),
        ..LearnOptions::default()
    }
}

fn learn(mut learner: Learner) -> ConceptSpace {
    while !learner.step().expect("a step").is_done() {}
    learner.finish().finish().expect("a space")
}

fn bytes(space: &ConceptSpace) -> Vec<u8> {
    let mut bytes = Vec::new();
    space.save(&mut bytes).expect("memory");
    bytes
}

#[test]
fn the_same_corpus_and_seed_give_the_same_vectors_bit_for_bit() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |options| bytes(&learn(Learner::new(corpus(folder.path(), 300), options)));
    let first = run(options());
    assert!(first == run(options()), "two runs differ");
    let other = LearnOptions {
        seed: 2,
        ..options()
    };
    assert!(first != run(other), "the seed is without effect");
}

#[test]
fn a_resumed_job_ends_as_an_uninterrupted_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let uninterrupted = bytes(&learn(Learner::new(corpus(folder.path(), 600), options())));
    for stop_after in [1, 2, 3, 7] {
        let mut learner = Learner::new(corpus(folder.path(), 600), options());
        for _ in 0..stop_after {
            learner.step().expect("a step");
        }
        let mut checkpoint = Vec::new();
        learner.checkpoint(&mut checkpoint).expect("memory");
        drop(learner);
        let corpus = Corpus::open(&folder.path().join("tokens")).expect("the corpus");
        let resumed =
            Learner::resume(corpus, options(), &mut checkpoint.as_slice()).expect("resumed");
        assert!(
            bytes(&learn(resumed)) == uninterrupted,
            "differs after {stop_after}"
        );
    }
}

#[test]
fn a_checkpoint_of_something_else_or_cut_short_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut checkpoint = Vec::new();
    let mut learner = Learner::new(corpus(folder.path(), 100), options());
    learner.checkpoint(&mut checkpoint).expect("memory");
    let resume = |count, options, bytes: &[u8]| {
        Learner::resume(corpus(folder.path(), count), options, &mut &*bytes).map(|_| ())
    };
    let other_corpus = resume(102, options(), &checkpoint);
    assert!(
        matches!(other_corpus, Err(LearningError::UnusableState(_))),
        "{other_corpus:?}"
    );
    let other_options = LearnOptions {
        seed: 9,
        ..options()
    };
    let other = resume(100, other_options, &checkpoint);
    assert!(
        matches!(other, Err(LearningError::UnusableState(_))),
        "{other:?}"
    );
    let cut = resume(100, options(), &checkpoint[..checkpoint.len() / 2]);
    assert!(matches!(cut, Err(LearningError::State(_))), "{cut:?}");
    assert!(resume(100, options(), &checkpoint).is_ok());
}

#[test]
fn documents_are_found_by_words_they_do_not_hold() {
    let folder = tempfile::tempdir().expect("a folder");
    let learner = Learner::new(
        corpus(folder.path(), 400),
        LearnOptions {
            epochs: Some(30),
            ..LearnOptions::default()
        },
    );
    let mut space = learn(learner);
    assert!(space.is_ready() && !space.needs_refresh());
    let subject: Vec<String> = (0..12).map(|number| word(3, number)).collect();
    let related = space.related_words(&subject[0], 6);
    assert!(related.len() == 6, "{related:?}");
    assert!(
        related.iter().all(|word| subject.contains(&word.term)),
        "{related:?}"
    );
    // A document of one word is found by another word of its subject.
    space.insert("new", [&subject[1]]);
    let query = space
        .query_vector([(subject[2].as_str(), 1)])
        .expect("a direction");
    let same_subject = space.cosine(&query, "new").expect("a vector");
    let other_subject = space.cosine(&query, "d0004").expect("a vector");
    assert!(
        same_subject > other_subject + 0.3,
        "{same_subject} {other_subject}"
    );
    let near = space.scan(&query, 20);
    let on_subject =
        |key: &str| key == "new" || key[1..].parse::<u64>().is_ok_and(|n| n % SUBJECTS == 3);
    assert!(near.iter().all(|near| on_subject(&near.key)), "{near:?}");
    assert!(
        near.is_sorted_by(|a, b| a.cosine > b.cosine || (a.cosine == b.cosine && a.key < b.key))
    );
}

#[test]
fn a_refresh_begins_with_what_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut learner = Learner::new(corpus(folder.path(), 400), LearnOptions::default());
    while !learner.step().expect("a step").is_done() {}
    let learnt = learner.progress().loss;
    let mut model = Vec::new();
    learner.save_model(&mut model).expect("memory");
    let options = LearnOptions::refresh(1);
    let larger = corpus(folder.path(), 420);
    let mut warm = Learner::from_model(larger, options, &mut model.as_slice()).expect("warm");
    warm.step().expect("a step");
    let mut cold = Learner::new(corpus(folder.path(), 420), options);
    cold.step().expect("a step");
    let (warm, cold) = (warm.progress().loss, cold.progress().loss);
    assert!(warm < cold, "{warm} {cold} {learnt}");
    let refused = Learner::from_model(
        corpus(folder.path(), 4),
        options,
        &mut &b"no model, at all."[..],
    );
    assert!(matches!(refused, Err(LearningError::UnusableState(_))));
}

#[test]
fn the_token_file_gives_back_the_documents_and_knows_when_it_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let corpus = corpus(folder.path(), 50);
    assert_eq!(corpus.len(), 50);
    assert!(!folder.path().join("tokens.first-pass").exists());
    let mut document = DocumentTokens::default();
    corpus.read(1, &mut document).expect("a document");
    assert_eq!((document.key.as_str(), document.title), ("d0001", 2));
    assert_eq!(document.tokens.len(), 26);
    let words = corpus.vocabulary();
    assert!(words.is_sorted_by(|a, b| a.documents >= b.documents));
    let path = folder.path().join("tokens");
    let whole = std::fs::read(&path).expect("the file");
    for (at, cut) in [
        (whole.len() - 60, whole.len()),
        (3, whole.len() - 1),
        (0, 10),
    ] {
        let mut damaged = whole[..cut].to_vec();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).expect("a file");
        let opened = Corpus::open(&path).map(|_| ());
        assert!(
            matches!(opened, Err(LearningError::DamagedCorpus { .. })),
            "{at} {opened:?}"
        );
    }
}

#[test]
fn empty_and_tiny_corpora_do_no_harm() {
    for count in [0, 1, 2] {
        let folder = tempfile::tempdir().expect("a folder");
        let space = learn(Learner::new(corpus(folder.path(), count), options()));
        assert!(!space.is_ready(), "{count}");
        if let Some(query) = space.query_vector([("unheard", 1)]) {
            assert!(space.scan(&query, 10).len() <= count);
        }
    }
}

#[test]
fn i16_parts_of_a_document_teach_one_by_one_and_give_it_one_vector() {
    let folder = tempfile::tempdir().expect("a folder");
    let learnt = |documents_read: usize, parts: usize| {
        let mut writer = CorpusWriter::create(&folder.path().join("tokens")).expect("a file");
        let mut reader = TermReader::default();
        for (key, title, body) in documents(documents_read) {
            let (title, body) = (reader.read(&title, 100), reader.read(&body, 1_000));
            for _ in 0..parts {
                writer.add(&key, &title, &body).expect("a part");
            }
        }
        learn(Learner::new(writer.finish().expect("a corpus"), options()))
    };
    let space = learnt(30, 7);
    assert_eq!(space.len(), 30);
    assert!(space.is_ready(), "210 parts of 30 documents teach enough");
    assert_eq!(space.scan_depth(), 15, "half of the documents");
    // The same as if the document were read as a whole, with its title once.
    let mut reader = TermReader::default();
    for (key, title, body) in documents(30) {
        let (mut terms, body) = (reader.read(&title, 100), reader.read(&body, 1_000));
        (0..7).for_each(|_| terms.extend(body.iter().cloned()));
        let whole = space.document_vector(&terms).expect("a direction");
        assert!(
            space.cosine(&whole, &key).expect("a vector") > 0.999,
            "{key}"
        );
    }
    let path = folder.path().join("space");
    std::fs::write(&path, bytes(&space)).expect("written");
    let kept = ConceptSpace::open(&path).expect("the space");
    assert!(kept.is_ready() && kept.len() == 30);
    assert!(!learnt(30, 6).is_ready(), "too few parts");
    assert!(!learnt(19, 20).is_ready(), "too few documents");
    assert_eq!(learnt(240, 1).scan_depth(), 100);
}

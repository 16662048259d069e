//! What naming concepts looks at.

use std::cell::Cell;

use super::{ConceptGraph, ConceptKind};
use crate::graph::{DocumentFacts, Extractor};
use crate::thesaurus::ConceptId;

thread_local! {
    /// How often the concepts of a document were looked at.
    pub(super) static LOOKS: Cell<usize> = const { Cell::new(0) };
}

fn looks<T>(of: impl FnOnce() -> T) -> (T, usize) {
    LOOKS.set(0);
    let result = of();
    (result, LOOKS.get())
}

fn put(graph: &mut ConceptGraph, key: &str, tags: &[&str], headings: &[&str]) {
    let owned = |names: &[&str]| names.iter().map(|one| (*one).to_owned()).collect();
    let (tags, headings): (Vec<String>, Vec<String>) = (owned(tags), owned(headings));
    let facts = DocumentFacts {
        tags: &tags,
        headings: &headings,
        ..DocumentFacts::default()
    };
    graph.insert(key, &Extractor::default().contribution(&facts));
}

/// A change of any document must not make what concepts are called cost their documents.
#[test]
fn i16_after_a_change_concepts_are_named_without_a_look_at_others_that_hold_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("graph");
    let mut graph = ConceptGraph::default();
    for number in 0..1_000 {
        put(&mut graph, &format!("{number}"), &["wing"], &["flow"]);
    }
    put(&mut graph, "other", &["shock"], &[]);
    let mut bytes = Vec::new();
    graph.save(&mut bytes).expect("memory");
    std::fs::write(&path, bytes).expect("written");
    let mut graph = ConceptGraph::open(&path).expect("opens");
    put(&mut graph, "other", &["shock", "sound"], &[]);
    let ids = ["wing", "flow"].map(ConceptId::from_name);
    let (named, looked) = looks(|| graph.concepts_of("500"));
    assert_eq!(named, [(ids[0], "wing"), (ids[1], "flow")]);
    assert_eq!(looked, 1);
    // A concept that no changed document holds is as the file says.
    let (kind, looked) = looks(|| graph.concept(ids[1]).map(|concept| concept.kind));
    assert_eq!((kind, looked), (Some(ConceptKind::Heading), 0));
    // One that a new document holds, too, is looked at there.
    put(&mut graph, "new", &["flow"], &[]);
    let (kind, looked) = looks(|| graph.concept(ids[1]).map(|concept| concept.kind));
    assert_eq!((kind, looked), (Some(ConceptKind::Tag), 1));
    put(&mut graph, "new", &["sound"], &[]);
    let kind = graph.concept(ids[1]).map(|concept| concept.kind);
    assert_eq!(kind, Some(ConceptKind::Heading));
}

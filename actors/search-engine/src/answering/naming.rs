//! The names of the concepts that led to a result.

use std::cell::OnceCell;

use rustc_hash::FxHashSet;
use search_core::query::ParsedQuery;
use search_core::role::RelevanceFunction;
use search_graph_engine::learning::TermReader;
use search_graph_engine::thesaurus::ConceptId;

use super::source::{SearchableRole, SearchableSource};

/// Words near the query by which concepts of a result are chosen.
pub(super) const NEAR_WORDS: usize = 12;

/// Concepts that are named beside a result.
const MAX_NAMED: usize = 5;

/// Results beside which concepts are named.
const MAX_NAMED_RESULTS: usize = 100;

/// Terms of a concept's name that are compared.
const MAX_NAME_TERMS: usize = 16;

/// Names the concepts that led to results.
pub(super) struct ConceptNamer<'s> {
    sources: &'s [&'s SearchableSource],
    declared: Vec<ConceptId>,
    /// The terms of the query, and how often each was typed.
    asked: Vec<(String, u32)>,
    /// For each source: the words near the query, looked for when a name depends on them.
    near: Vec<OnceCell<FxHashSet<String>>>,
    reader: TermReader,
    left: usize,
}

impl<'s> ConceptNamer<'s> {
    /// For the results of a query. Names nothing where the role does not rank by concepts.
    pub(super) fn new(
        role: &SearchableRole,
        sources: &'s [&'s SearchableSource],
        query: &ParsedQuery,
        declared: Vec<ConceptId>,
        wanted: usize,
    ) -> Self {
        let graph = role.function == RelevanceFunction::ServiceGraph;
        let left = if graph {
            wanted.min(MAX_NAMED_RESULTS)
        } else {
            0
        };
        let looked_for = query.terms().iter().filter(|term| term.count > 0);
        Self {
            sources,
            declared,
            asked: looked_for
                .map(|term| (term.text.clone(), term.count))
                .collect(),
            near: vec![OnceCell::new(); sources.len()],
            reader: TermReader::default(),
            left,
        }
    }

    /// The concepts of a document that the query names, or comes near to: declared ones first, then
    /// in the order in which the document is sure of them.
    pub(super) fn names(&mut self, source: usize, key: &str) -> Vec<String> {
        if self.left == 0 {
            return Vec::new();
        }
        self.left -= 1;
        let Some(graph) = &self.sources[source].graph else {
            return Vec::new();
        };
        let concepts: Vec<(ConceptId, String)> = graph.read(|graph| {
            let held = graph.concepts_of(key).into_iter();
            held.map(|(id, name)| (id, name.to_owned())).collect()
        });
        let (mut names, mut near) = (Vec::new(), Vec::new());
        for (id, name) in concepts {
            if self.declared.contains(&id) {
                names.push(name);
            } else if near.len() < MAX_NAMED {
                let terms = self.reader.read(&name, MAX_NAME_TERMS);
                if self.is_asked_for(&terms) || self.is_near(source, &terms) {
                    near.push(name);
                }
            }
        }
        names.extend(near);
        names.truncate(MAX_NAMED);
        names
    }

    /// Whether the query holds one of these terms.
    fn is_asked_for(&self, terms: &[String]) -> bool {
        let mut asked = self.asked.iter();
        asked.any(|(asked, _)| terms.contains(asked))
    }

    /// Whether one of these terms is among the words nearest to the query in a source.
    fn is_near(&self, source: usize, terms: &[String]) -> bool {
        let near = self.near[source].get_or_init(|| {
            let asked = self.asked.iter();
            let asked = asked.map(|(term, count)| (term.as_str(), *count));
            near_terms(self.sources[source], asked)
        });
        terms.iter().any(|term| near.contains(term))
    }
}

/// The words nearest to a query in a source.
fn near_terms<'t>(
    source: &SearchableSource,
    asked: impl Iterator<Item = (&'t str, u32)>,
) -> FxHashSet<String> {
    let space = source.graph.as_ref().and_then(|graph| graph.space());
    let near = space.filter(|space| space.is_ready()).and_then(|space| {
        let vector = space.query_vector(asked)?;
        Some(space.words().nearest(&vector, NEAR_WORDS))
    });
    let near = near.into_iter().flatten();
    near.map(|word| word.term).collect()
}

//! The names of the concepts that led to a result.

use rustc_hash::FxHashSet;
use search_core::query::ParsedQuery;
use search_core::role::RelevanceFunction;
use search_graph_engine::learning::TermReader;
use search_graph_engine::thesaurus::ConceptId;

use super::source::{SearchableRole, SearchableSource};

/// Words near the query by which concepts of a result are chosen.
const NEAR_WORDS: usize = 12;

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
    /// For each source: the terms of the query, and those near it.
    terms: Vec<FxHashSet<String>>,
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
        let asked: Vec<(&str, u32)> = looked_for
            .map(|term| (term.text.as_str(), term.count))
            .collect();
        let terms = sources
            .iter()
            .filter(|_| left > 0)
            .map(|source| near_terms(source, &asked))
            .collect();
        Self {
            sources,
            declared,
            terms,
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
                if terms.iter().any(|term| self.terms[source].contains(term)) {
                    near.push(name);
                }
            }
        }
        names.extend(near);
        names.truncate(MAX_NAMED);
        names
    }
}

/// The terms of the query and the words nearest to it in the source.
fn near_terms(source: &SearchableSource, asked: &[(&str, u32)]) -> FxHashSet<String> {
    let mut terms: FxHashSet<String> = asked.iter().map(|(term, _)| (*term).to_owned()).collect();
    let space = source.graph.as_ref().and_then(|graph| graph.space());
    let near = space.filter(|space| space.is_ready()).and_then(|space| {
        let vector = space.query_vector(asked.iter().copied())?;
        Some(space.words().nearest(&vector, NEAR_WORDS))
    });
    terms.extend(near.into_iter().flatten().map(|word| word.term));
    terms
}

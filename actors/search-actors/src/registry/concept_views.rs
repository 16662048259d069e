//! What people see of a role's concepts: thesaurus, graph, suggestions. The graph is walked and
//! many suggestions are looked at, so callers give these a thread that may wait.

use rustc_hash::FxHashMap;
use search_core::analysis::folded_line;
use search_core::concepts::{
    DeclaredConcept, GraphAnswer, GraphConcept, GraphEdge, SuggestionList, SuggestionView,
    ThesaurusAnswer,
};
use search_graph_engine::graph::{GraphView, MAX_VIEW};
use search_graph_engine::suggest::Suggestion;

use super::role_set::RoleEntry;

impl RoleEntry {
    /// A part of the role's thesaurus.
    #[must_use]
    pub fn thesaurus_answer(&self, skip: usize, limit: usize) -> ThesaurusAnswer {
        let entries = self.thesaurus.entries();
        let chosen = entries.iter().enumerate().skip(skip).take(limit);
        let concepts = chosen.map(|(place, entry)| DeclaredConcept {
            id: self.thesaurus.id(place).to_string(),
            name: entry.name.clone(),
            synonyms: entry.synonyms.clone(),
            url: entry.url.clone(),
        });
        ThesaurusAnswer {
            role: self.role.name.clone(),
            total: entries.len(),
            concepts: concepts.collect(),
            error: self.thesaurus_error.clone(),
        }
    }

    /// A concept and its neighbours, or the concepts that most documents hold; `None` when no
    /// document of the role's sources holds the concept. A synonym stands for its concept.
    #[must_use]
    pub fn graph_answer(&self, concept: Option<&str>, limit: usize) -> Option<GraphAnswer> {
        let limit = limit.min(MAX_VIEW);
        let concept = concept.map(|name| self.declared_name(name));
        let mut merged = MergedView::default();
        for source in &self.sources {
            let graph = &source.handle.graph;
            let view = match &concept {
                Some(name) => graph.neighbours(name, limit),
                None => Some(graph.read(|graph| graph.overview(limit))),
            };
            if let Some(view) = view {
                merged.add(&source.handle.id, view);
            }
        }
        let nothing = concept.is_some() && merged.concepts.is_empty();
        (!nothing).then(|| merged.answer(&self.role.name, concept.is_some(), limit))
    }

    /// What is around a document of the role's sources: its concepts that others hold too, the
    /// rarest first, and the documents that share most of them. `None` for an unknown document.
    #[must_use]
    pub fn document_neighbours(&self, id: &str, limit: usize) -> Option<GraphAnswer> {
        let limit = limit.min(MAX_VIEW);
        let (source_id, key) = id.split_once('/')?;
        let mut sources = self.sources.iter();
        let source = sources.find(|source| source.handle.id == source_id)?;
        let view = source
            .handle
            .graph
            .read(|graph| graph.neighbourhood(key, limit))?;
        let mut merged = MergedView::default();
        merged.add(source_id, view);
        Some(merged.answer(&self.role.name, true, limit))
    }

    /// The name of the declared concept that `name` is a word for, or the name itself.
    fn declared_name(&self, name: &str) -> String {
        let found = self.thesaurus.find(name);
        let whole = found
            .first()
            .filter(|one| folded_line(&name[one.start..one.end]) == folded_line(name));
        whole.map_or_else(
            || name.to_owned(),
            |one| self.thesaurus.entries()[one.entry].name.clone(),
        )
    }

    /// What may be meant by the beginning of a query: what begins so, then what nearly does.
    #[must_use]
    pub fn suggestions(&self, input: &str, limit: usize) -> SuggestionList {
        let sources = self.sources.iter();
        let suggesters: Vec<_> = sources.map(|one| one.handle.graph.suggester()).collect();
        let mut found: Vec<Suggestion> = Vec::new();
        for nearly in [false, true] {
            let mut more: Vec<Suggestion> = Vec::new();
            for suggester in &suggesters {
                more.extend(match nearly {
                    false => suggester.complete_prefix(input, limit),
                    true => suggester.nearly(input, limit),
                });
            }
            more.sort_by(|a, b| {
                let names = || (a.kind, &a.text).cmp(&(b.kind, &b.text));
                b.weight.cmp(&a.weight).then_with(names)
            });
            for one in more {
                let line = folded_line(&one.text);
                if !found.iter().any(|known| folded_line(&known.text) == line) {
                    found.push(one);
                }
            }
            if found.len() >= limit {
                break;
            }
        }
        let suggestions = found.into_iter().take(limit).map(|one| SuggestionView {
            kind: lower(&one.kind),
            text: one.text,
        });
        SuggestionList {
            role: self.role.name.clone(),
            suggestions: suggestions.collect(),
        }
    }
}

/// The name of a variant as JSON has it.
fn lower(kind: &impl std::fmt::Debug) -> String {
    format!("{kind:?}").to_ascii_lowercase()
}

/// The views of several sources as one.
#[derive(Default)]
struct MergedView {
    concepts: Vec<GraphConcept>,
    places: FxHashMap<String, usize>,
    edges: Vec<GraphEdge>,
    documents: Vec<String>,
}

impl MergedView {
    fn add(&mut self, source: &str, view: GraphView) {
        for concept in view.concepts {
            let id = concept.id.to_string();
            if let Some(&place) = self.places.get(&id) {
                self.concepts[place].documents += u64::from(concept.documents);
                continue;
            }
            self.places.insert(id.clone(), self.concepts.len());
            self.concepts.push(GraphConcept {
                id,
                name: concept.name,
                kind: lower(&concept.kind),
                documents: u64::from(concept.documents),
            });
        }
        let before = self.edges.len();
        for edge in view.edges {
            let edge = GraphEdge {
                from: edge.from.to_string(),
                to: edge.to.to_string(),
                weight: edge.weight,
                kind: lower(&edge.kind),
            };
            let same = |known: &&mut GraphEdge| {
                (&known.from, &known.to, &known.kind) == (&edge.from, &edge.to, &edge.kind)
            };
            // The edges of one source are distinct.
            match self.edges[..before].iter_mut().find(same) {
                Some(known) => known.weight = known.weight.max(edge.weight),
                None => self.edges.push(edge),
            }
        }
        let documents = view.documents.iter();
        self.documents
            .extend(documents.map(|key| format!("{source}/{key}")));
    }

    /// At most `limit` neighbours, or concepts, and the edges whose ends are among them.
    fn answer(mut self, role: &str, asked: bool, limit: usize) -> GraphAnswer {
        self.edges.sort_by(|a, b| {
            let ends = || (&a.from, &a.to, &a.kind).cmp(&(&b.from, &b.to, &b.kind));
            b.weight.total_cmp(&a.weight).then_with(ends)
        });
        if !asked {
            self.concepts.sort_by(|a, b| {
                let names = || a.name.cmp(&b.name);
                b.documents.cmp(&a.documents).then_with(names)
            });
        }
        self.concepts.truncate(limit + usize::from(asked));
        let concepts = &self.concepts;
        let shown = |id: &String| concepts.iter().any(|concept| concept.id == *id);
        self.edges
            .retain(|edge| shown(&edge.from) && shown(&edge.to));
        self.documents.truncate(limit);
        GraphAnswer {
            role: role.to_owned(),
            concepts: self.concepts,
            edges: self.edges,
            documents: self.documents,
        }
    }
}

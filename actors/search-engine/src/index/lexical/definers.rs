//! Documents that define what the query names: who types `SearchService` means the file with
//! `struct SearchService`, not those that use it.

use rustc_hash::FxHashMap;
use search_core::names::{WantedName, squeezed};
use search_core::query::QueryWord;
use tantivy::DocId;

use super::segment_search::SegmentSearch;
use super::terms::{QueryTerms, Scoring};
use crate::index::bitmap::Bitmap;
use crate::index::cursor::ExactScorer;
use crate::index::definition_terms::{definition_term, heading_term};
use crate::index::error::IndexError;
use crate::index::pool::ScoredDocument;
use crate::index::snapshot::{IndexSnapshot, documents_of, find_term};

/// Documents of a segment that define one name, more of which decide nothing (`new`, `main`).
const MAX_DEFINERS: u64 = 2_000;

/// Definers that are ranked whatever their words come to, those with the best words.
const MAX_RANKED: usize = 50;

/// What a definition of a name without a sign of being one is worth: `parse` is a word, too.
const PLAIN: f32 = 0.6;

/// What a heading that reads like the query is worth.
const HEADING: f32 = 0.5;

/// What a definition is worth that does not lie in what the query names before it.
const ELSEWHERE: f32 = 0.3;

/// What the definition of what a qualified name lies in is worth.
const OWNER: f32 = 0.5;

/// What the definition of an identifier among other words is worth.
const AMONG_WORDS: f32 = 0.6;

/// What the definition of a word with a first capital is worth among other words: `Response`, or
/// the first word of a sentence.
const CAPITAL: f32 = 0.3;

/// Shorter words with a first capital are no names, in bytes.
const MIN_CAPITAL: usize = 3;

/// The documents that define what a query names.
#[derive(Debug, Default)]
pub(in crate::index) struct DefiningDocuments {
    ranked: Vec<ScoredDocument>,
    /// How much each of them defines, up to 1.
    weights: FxHashMap<(u32, u32, u32), f32>,
}

impl DefiningDocuments {
    /// Looks the query's names up.
    pub(super) fn find(
        sources: &[IndexSnapshot],
        terms: &QueryTerms<'_>,
        scoring: Scoring,
    ) -> Result<Self, IndexError> {
        let wanted = wanted_definitions(terms);
        let mut found = Self::default();
        if wanted.is_empty() {
            return Ok(found);
        }
        for place in terms.segment_searches(sources, scoring) {
            let mut weights: Vec<(DocId, f32)> = Vec::new();
            for one in &wanted {
                weights.extend(place.defining(one)?);
            }
            weights.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
            weights.dedup_by_key(|(document, _)| *document);
            let mut exact = ExactScorer::open(place.view, place.infos, terms, scoring)?;
            for (document, weight) in weights {
                let candidate = place.candidate(document, exact.score(document));
                if candidate.score > 0.0 {
                    found.weights.insert(candidate.location(), weight);
                    found.ranked.push(candidate);
                }
            }
        }
        let best = |one: &ScoredDocument| one.score * found.weights[&one.location()];
        let order = |a: &ScoredDocument, b: &ScoredDocument| {
            best(b)
                .total_cmp(&best(a))
                .then(a.location().cmp(&b.location()))
        };
        found.ranked.sort_unstable_by(order);
        found.ranked.truncate(MAX_RANKED);
        Ok(found)
    }

    /// How much a document defines of what the query names, 0 to 1.
    pub(in crate::index) fn weight(&self, candidate: &ScoredDocument) -> f32 {
        self.weights
            .get(&candidate.location())
            .copied()
            .unwrap_or(0.0)
    }

    /// The best of the documents.
    pub(super) fn documents(&self) -> &[ScoredDocument] {
        &self.ranked
    }
}

/// A name whose definition is looked for.
struct WantedDefinition {
    /// The name, squeezed.
    name: String,
    /// What it lies in.
    owner: Option<String>,
    weight: f32,
    /// Whether a heading will do.
    is_line: bool,
}

/// Whether a name is written like one: an inner capital or a sign, a first capital.
fn is_name_like(surface: &str) -> bool {
    let has_sign = surface.contains(['_', '$']);
    has_sign || surface.contains(char::is_uppercase)
}

/// The names of the query: the whole of it, else the identifiers among its words.
fn wanted_definitions(terms: &QueryTerms<'_>) -> Vec<WantedDefinition> {
    let query = terms.query;
    let of_name = |(place, name): (usize, &WantedName)| {
        let is_qualified = !name.within.is_empty() || name.is_owner;
        let mut weight = if is_qualified || is_name_like(&name.surface) {
            1.0
        } else {
            PLAIN
        };
        if name.is_owner {
            weight *= OWNER;
        }
        WantedDefinition {
            name: name.name.clone(),
            owner: name.within.last().cloned(),
            weight,
            is_line: place == 0,
        }
    };
    let mut wanted: Vec<_> = query.names().iter().enumerate().map(of_name).collect();
    let words = query.words().iter();
    let words = words.filter(|word| query.is_looked_for(word));
    let among_words = |word: &QueryWord, weight: f32| WantedDefinition {
        name: squeezed(&word.surface),
        owner: None,
        weight,
        is_line: false,
    };
    for word in words {
        let is_capital = word.surface.starts_with(char::is_uppercase);
        if word.is_identifier() {
            wanted.push(among_words(word, AMONG_WORDS));
        } else if is_capital && word.surface.len() >= MIN_CAPITAL {
            wanted.push(among_words(word, CAPITAL));
        }
    }
    wanted
}

impl SegmentSearch<'_> {
    /// The documents that define a name, and how much that is worth.
    fn defining(&self, wanted: &WantedDefinition) -> Result<Vec<(DocId, f32)>, IndexError> {
        let mut found = Vec::new();
        if let Some(set) = self.sign_documents(&definition_term(&wanted.name))? {
            let owners = match &wanted.owner {
                Some(owner) => self.sign_documents(&definition_term(owner))?,
                None => None,
            };
            for document in self.live_documents(&set) {
                let lies_in = match (&wanted.owner, &owners) {
                    (None, _) => true,
                    (Some(_), Some(owners)) if owners.contains(document) => true,
                    (Some(owner), _) => self.is_inside(document, owner)?,
                };
                let factor = if lies_in { 1.0 } else { ELSEWHERE };
                found.push((document, wanted.weight * factor));
            }
        }
        if wanted.is_line
            && let Some(set) = self.sign_documents(&heading_term(&wanted.name))?
        {
            found.extend(
                self.live_documents(&set)
                    .map(|document| (document, HEADING)),
            );
        }
        Ok(found)
    }

    fn live_documents<'a>(&'a self, set: &'a Bitmap) -> impl Iterator<Item = DocId> + 'a {
        set.iter().filter(|&one| !self.view.reader.is_deleted(one))
    }

    /// Whether a part of the document's path has this name, squeezed.
    fn is_inside(&self, document: DocId, owner: &str) -> Result<bool, IndexError> {
        let key = self.snapshot.key(self.segment, document)?;
        let is_it = |part: &str| squeezed(part) == *owner;
        Ok(key
            .split('/')
            .any(|part| is_it(part) || is_it(search_core::names::stem(part))))
    }

    /// The documents of a term among the exact forms; none where too many have it.
    fn sign_documents(&self, term: &str) -> Result<Option<Bitmap>, IndexError> {
        let field = self.snapshot.fields().exact;
        let inverted = self.view.reader.inverted_index(field)?;
        let info = find_term(&inverted, field, term)?;
        let info = info.filter(|info| u64::from(info.doc_freq) <= MAX_DEFINERS);
        info.map(|info| documents_of(&inverted, &info, self.view.reader.max_doc()))
            .transpose()
    }
}

//! Documents that are called like the query, whatever their words come to: a long page of a type
//! has a low score for the type's name, and is what is meant.

use search_core::names::WantedName;
use tantivy::Term;

use super::segment_search::SegmentSearch;
use super::terms::{Scoring, Terms};
use crate::index::cursor::ExactScorer;
use crate::index::error::IndexError;
use crate::index::name_term::name_term;
use crate::index::pool::Candidate;
use crate::index::snapshot::{IndexSnapshot, documents_of};

/// Documents of one name that are looked at in a segment, in the order of their keys.
const MAX_LOOKED_AT: usize = 2_000;

/// Documents with a name of the query that are ranked, those with the best words.
const MAX_NAMED: usize = 50;

/// The documents that have a name of the query and hold any of its words.
pub(super) fn named_documents(
    sources: &[IndexSnapshot],
    terms: &Terms<'_>,
    scoring: Scoring,
) -> Result<Vec<Candidate>, IndexError> {
    let names = terms.query.names();
    let mut named = Vec::new();
    if names.is_empty() {
        return Ok(named);
    }
    for place in terms.segment_searches(sources, scoring) {
        let documents = place.called(names)?;
        let mut exact = ExactScorer::open(place.view, place.infos, terms, scoring)?;
        for document in documents {
            let score = exact.score(document);
            if score > 0.0 {
                named.push(place.candidate(document, score));
            }
        }
    }
    named.sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.place().cmp(&b.place())));
    named.truncate(MAX_NAMED);
    Ok(named)
}

impl SegmentSearch<'_> {
    /// The documents with one of the names, in order.
    fn called(&self, names: &[WantedName]) -> Result<Vec<u32>, IndexError> {
        let field = self.snapshot.fields().name;
        let inverted = self.view.reader.inverted_index(field)?;
        let mut documents = Vec::new();
        for name in names {
            let term = Term::from_field_text(field, &name_term(&name.name));
            let info = inverted.get_term_info(&term);
            let Some(info) = info.map_err(tantivy::TantivyError::from)? else {
                continue;
            };
            let set = documents_of(&inverted, &info, self.view.reader.max_doc())?;
            let living = set.iter().filter(|&one| !self.view.reader.is_deleted(one));
            documents.extend(living.take(MAX_LOOKED_AT));
        }
        documents.sort_unstable();
        documents.dedup();
        Ok(documents)
    }
}

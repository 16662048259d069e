//! Documents that are called like the query, whatever their words come to: a long page of a type
//! has a low score for the type's name, and is what is meant.

use search_core::query::ParsedQuery;
use tantivy::Term;

use super::segment_search::{NO_WORD, SegmentSearch};
use super::terms::{QueryTerms, Scoring};
use crate::index::cursor::ExactScorer;
use crate::index::error::IndexError;
use crate::index::name_term::name_term;
use crate::index::pool::ScoredDocument;
use crate::index::scope::SearchScope;
use crate::index::snapshot::documents_of;

/// Documents of one name that are looked at in a segment, in the order of their keys.
const MAX_LOOKED_AT: usize = 2_000;

/// Documents with a name of the query that are ranked, those with the best words.
const MAX_NAMED: usize = 50;

/// Files that the query names beside other words that are ranked, those in the folders that it
/// names before others.
const MAX_FILES: usize = 25;

/// The documents that have a name of the query and hold any of its words, files that it names
/// before others.
pub(super) fn named_documents(
    scope: &SearchScope<'_>,
    terms: &QueryTerms<'_>,
    scoring: Scoring,
) -> Result<Vec<ScoredDocument>, IndexError> {
    let names = terms.query.names();
    let mut named = Vec::new();
    let mut files: Vec<(f32, ScoredDocument)> = Vec::new();
    if names.is_empty() && terms.query.files().is_empty() {
        return Ok(named);
    }
    for place in terms.segment_searches(scope.snapshots, scoring) {
        let source = scope.name(place.source).unwrap_or_default();
        let documents = place.documents_named(names.iter().map(|one| one.name.as_str()))?;
        let mut exact = ExactScorer::open(place.view, place.infos, terms, scoring)?;
        for document in documents {
            let score = exact.score(document);
            if score > 0.0 {
                named.push(place.candidate(document, score));
            }
        }
        for (likeness, document) in place.files(terms.query, source)? {
            let score = exact.score(document).max(NO_WORD);
            files.push((likeness, place.candidate(document, score)));
        }
    }
    named.sort_unstable_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(a.location().cmp(&b.location()))
    });
    files.sort_unstable_by(|(a, one), (b, other)| {
        let by_score = || other.score.total_cmp(&one.score);
        b.total_cmp(a)
            .then_with(by_score)
            .then_with(|| one.location().cmp(&other.location()))
    });
    files.truncate(MAX_FILES);
    let files = files.into_iter().map(|(_, one)| one);
    let mut all: Vec<ScoredDocument> = files.collect();
    all.extend(named);
    all.truncate(MAX_NAMED);
    Ok(all)
}

impl SegmentSearch<'_> {
    /// The documents with one of the names, in order.
    fn documents_named<'n>(
        &self,
        names: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<u32>, IndexError> {
        let field = self.snapshot.fields().name;
        let inverted = self.view.reader.inverted_index(field)?;
        let mut documents = Vec::new();
        for name in names {
            let term = Term::from_field_text(field, &name_term(name));
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

    /// The files that the query names, and how likely each is meant.
    fn files(&self, query: &ParsedQuery, source: &str) -> Result<Vec<(f32, u32)>, IndexError> {
        let names = query.files().iter().map(|file| file.name.as_str());
        let mut files = Vec::new();
        for document in self.documents_named(names)? {
            let key = self.snapshot.key(self.segment, document)?;
            let likeness = query.file_likeness(&key, source);
            files.extend(likeness.map(|file| (file.share, document)));
        }
        Ok(files)
    }
}

//! How names of the query are written in documents.

use std::rc::Rc;

use search_core::file_roles::FileRole;

use super::super::record::DocumentRecord;
use super::super::rerank::RankedCandidate;
use super::super::spellings::{QuerySpellings, Spelling};
use super::Refiner;

impl Refiner<'_> {
    /// How the documents that define what the query names write it, one for each result.
    pub(super) fn spellings(
        &self,
        ranked: &[RankedCandidate],
        records: &[Rc<DocumentRecord>],
    ) -> Vec<Spelling> {
        let wanted = QuerySpellings::from_query(self.query);
        let spelling = |(one, record): (&RankedCandidate, &Rc<DocumentRecord>)| {
            let defined = self.outcome.definers.weight(&one.candidate);
            (defined > 0.0).then(|| wanted.spelling(&record.defined))
        };
        let found: Vec<_> = ranked.iter().zip(records).map(spelling).collect();
        let is_better = |(found, record): (&Option<Spelling>, &Rc<DocumentRecord>)| match found {
            Some(Spelling::Same) => true,
            Some(Spelling::Unknown) => record.role == FileRole::Main,
            _ => false,
        };
        let chooses = wanted.choose() && found.iter().zip(records).any(is_better);
        let of_all = |spelling: Option<Spelling>| match spelling {
            Some(spelling) if chooses => spelling,
            _ => Spelling::Unknown,
        };
        found.into_iter().map(of_all).collect()
    }

    /// Whether a document is called like the query, written just so.
    pub(super) fn is_written_so(&self, record: &DocumentRecord) -> bool {
        let mut names = self.query.names().iter().filter(|name| !name.is_owner);
        names.any(|name| {
            let kind = name.kind_of(&record.key, &record.title);
            kind.is_some_and(|(_, is_same)| is_same)
        })
    }
}

//! The records of the documents that one search looks at: each is read once.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::error::IndexError;
use super::pool::ScoredDocument;
use super::record::DocumentRecord;
use super::snapshot::IndexSnapshot;

/// The records of several sources.
pub(super) struct RecordReader<'s> {
    /// The sources.
    pub(super) snapshots: &'s [IndexSnapshot],
    /// What was read, by its place.
    known: RefCell<FxHashMap<(u32, u32, u32), Rc<DocumentRecord>>>,
}

impl<'s> RecordReader<'s> {
    pub(super) fn new(snapshots: &'s [IndexSnapshot]) -> Self {
        Self {
            snapshots,
            known: RefCell::default(),
        }
    }

    /// The record of a document.
    pub(super) fn record(
        &self,
        candidate: &ScoredDocument,
    ) -> Result<Rc<DocumentRecord>, IndexError> {
        let place = candidate.location();
        if let Some(known) = self.known.borrow().get(&place) {
            return Ok(Rc::clone(known));
        }
        let source = &self.snapshots[candidate.source as usize];
        let record = Rc::new(source.record(candidate.segment, candidate.document)?);
        self.known.borrow_mut().insert(place, Rc::clone(&record));
        Ok(record)
    }

    /// The records of several documents, one for each. Those that lie in one block of the store are
    /// read one behind the other.
    pub(super) fn records(
        &self,
        candidates: &[ScoredDocument],
    ) -> Result<Vec<Rc<DocumentRecord>>, IndexError> {
        let mut ordered: Vec<&ScoredDocument> = candidates.iter().collect();
        ordered.sort_unstable_by_key(|one| one.location());
        for one in ordered {
            self.record(one)?;
        }
        candidates.iter().map(|one| self.record(one)).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use search_core::document::ExtractedDocument;

    use super::{IndexSnapshot, RecordReader, ScoredDocument};

    #[test]
    fn i16_a_search_reads_each_record_once() {
        let documents = ["a", "b", "c"].map(|key| ExtractedDocument {
            key: key.to_owned(),
            body: "text".to_owned(),
            ..ExtractedDocument::default()
        });
        let snapshots = [IndexSnapshot::in_memory(&documents).expect("an index")];
        let reader = RecordReader::new(&snapshots);
        let candidate = |document| ScoredDocument {
            score: 1.0,
            source: 0,
            segment: 0,
            document,
        };
        let asked = [2, 0, 2].map(candidate);
        let records = reader.records(&asked).expect("are read");
        let keys: Vec<&str> = records.iter().map(|record| record.key.as_str()).collect();
        assert_eq!(keys, ["c", "a", "c"]);
        let again = reader.record(&asked[0]).expect("is known");
        assert!(Rc::ptr_eq(&again, &records[0]) && Rc::ptr_eq(&again, &records[2]));
    }
}

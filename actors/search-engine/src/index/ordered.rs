//! All documents in the order of their keys, one after the other: nobody has to hold them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use search_core::analysis::folded_line;
use tantivy::DocId;

use super::error::IndexError;
use super::keys::first_living;
use super::record::DocumentRecord;
use super::snapshot::{IndexSnapshot, find_term};

/// The documents of an index in the order of their keys. See the module.
#[derive(Debug)]
pub struct OrderedDocuments<'s> {
    snapshot: &'s IndexSnapshot,
    /// The next document of each segment that has one left: its key, the segment, its number.
    heads: BinaryHeap<Reverse<(String, u32, DocId)>>,
    /// The records that belong to them, by segment.
    records: Vec<Option<DocumentRecord>>,
    /// What a segment could not be read for.
    failure: Option<IndexError>,
}

impl IndexSnapshot {
    /// All documents in the order of their keys. Each segment lies in this order, so only one
    /// record of each is held.
    #[must_use]
    pub fn documents_in_order(&self) -> OrderedDocuments<'_> {
        let segments = self.segments().len();
        let mut documents = OrderedDocuments {
            snapshot: self,
            heads: BinaryHeap::with_capacity(segments),
            records: vec![None; segments],
            failure: None,
        };
        for segment in 0..segments as u32 {
            documents.advance(segment, 0);
        }
        documents
    }

    /// Whether any document has this title, in whatever case.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn has_title(&self, title: &str) -> Result<bool, IndexError> {
        let line = folded_line(title);
        for view in self.segments() {
            let lines = &view.title_line;
            let Some(info) = find_term(lines, self.fields().title_line, &line)? else {
                continue;
            };
            if first_living(view, lines, &info)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl OrderedDocuments<'_> {
    /// Finds the next document of a segment, from this one on.
    fn advance(&mut self, segment: u32, from: DocId) {
        let reader = &self.snapshot.segments()[segment as usize].reader;
        let next = (from..reader.max_doc()).find(|document| !reader.is_deleted(*document));
        let Some(next) = next else { return };
        match self.snapshot.record(segment, next) {
            Ok(record) => {
                let head = (record.key.clone(), segment, next);
                self.heads.push(Reverse(head));
                self.records[segment as usize] = Some(record);
            }
            Err(error) => self.failure = Some(error),
        }
    }
}

impl Iterator for OrderedDocuments<'_> {
    type Item = Result<DocumentRecord, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(failure) = self.failure.take() {
            self.heads.clear();
            return Some(Err(failure));
        }
        let Reverse((_, segment, document)) = self.heads.pop()?;
        let record = self.records[segment as usize].take();
        self.advance(segment, document + 1);
        record.map(Ok)
    }
}

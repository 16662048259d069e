//! Documents by their keys: one by its own, and those below a folder that has gone.

use tantivy::postings::TermInfo;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, InvertedIndexReader, TERMINATED, TantivyError};

use super::error::IndexError;
use super::snapshot::{IndexSnapshot, SegmentView, find_term};

impl IndexSnapshot {
    /// Where the document with this key lies: its segment and its number there.
    pub(super) fn locate(&self, key: &str) -> Result<Option<(u32, DocId)>, IndexError> {
        let field = self.fields().key;
        for (segment, view) in (0_u32..).zip(self.segments()) {
            let keys = view.reader.inverted_index(field)?;
            let Some(info) = find_term(&keys, field, key)? else {
                continue;
            };
            if let Some(document) = first_living(view, &keys, &info)? {
                return Ok(Some((segment, document)));
            }
        }
        Ok(None)
    }

    /// The keys of all documents whose key starts with `folder` and a slash, ascending.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn keys_below(&self, folder: &str) -> Result<Vec<String>, IndexError> {
        let (first, behind) = (format!("{folder}/"), format!("{folder}0")); // '0' follows '/'
        let mut keys = Vec::new();
        for view in self.segments() {
            let inverted = view.reader.inverted_index(self.fields().key)?;
            let range = inverted
                .terms()
                .range()
                .ge(first.as_bytes())
                .lt(behind.as_bytes());
            let mut stream = range.into_stream().map_err(TantivyError::from)?;
            while stream.advance() {
                if first_living(view, &inverted, stream.value())?.is_some() {
                    keys.push(String::from_utf8_lossy(stream.key()).into_owned());
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }
}

/// The first document of a posting list that is not deleted. The list is read as far as that: a set
/// of the segment's size for one document would cost what the segment does.
pub(super) fn first_living(
    view: &SegmentView,
    inverted: &InvertedIndexReader,
    info: &TermInfo,
) -> Result<Option<DocId>, IndexError> {
    let postings = inverted.read_postings_from_terminfo(info, IndexRecordOption::Basic);
    let mut postings = postings.map_err(TantivyError::from)?;
    let mut document = postings.doc();
    while document != TERMINATED && view.reader.is_deleted(document) {
        document = postings.advance();
    }
    Ok((document != TERMINATED).then_some(document))
}

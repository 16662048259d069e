//! Keys below a folder, for folders that have gone.

use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, TERMINATED, TantivyError};

use super::error::IndexError;
use super::snapshot::IndexSnapshot;

impl IndexSnapshot {
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
                let postings =
                    inverted.read_postings_from_terminfo(stream.value(), IndexRecordOption::Basic);
                let mut postings = postings.map_err(TantivyError::from)?;
                let mut document = postings.doc();
                while document != TERMINATED && view.reader.is_deleted(document) {
                    document = postings.advance();
                }
                if document != TERMINATED {
                    keys.push(String::from_utf8_lossy(stream.key()).into_owned());
                }
            }
        }
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    }
}

//! What the index holds.

use search_engine::index::{IndexError, IndexSnapshot};

use super::files::ContentHash;

/// A document of the index.
pub(super) struct IndexedDocument {
    pub(super) key: String,
    pub(super) hash: ContentHash,
    pub(super) title: String,
}

/// The documents of the index in the order of their keys.
pub(super) fn list(snapshot: &IndexSnapshot) -> Result<Vec<IndexedDocument>, IndexError> {
    let mut documents = Vec::new();
    snapshot.for_each_document(|record| {
        documents.push(IndexedDocument {
            key: record.key,
            hash: record.file.hash,
            title: record.title,
        });
    })?;
    documents.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    Ok(documents)
}

/// The distinct titles of the documents.
pub(super) fn titles(snapshot: &IndexSnapshot) -> Result<Vec<String>, IndexError> {
    let mut titles = Vec::new();
    snapshot.for_each_document(|record| {
        if !record.title.trim().is_empty() {
            titles.push(record.title);
        }
    })?;
    titles.sort_unstable();
    titles.dedup();
    Ok(titles)
}

//! What the index holds.

use search_engine::index::{DocumentRecord, IndexError, IndexSnapshot};

use super::known_documents::ContentHash;

/// A document of the index.
pub(super) struct IndexedDocument {
    pub(super) key: String,
    pub(super) hash: ContentHash,
    pub(super) title: String,
    /// Of its file, in bytes.
    pub(super) size: u64,
}

impl From<DocumentRecord> for IndexedDocument {
    fn from(record: DocumentRecord) -> Self {
        Self {
            key: record.key,
            hash: record.file.hash,
            size: record.file.size,
            title: record.title,
        }
    }
}

/// The documents of the index in the order of their keys, one after the other.
pub(super) fn in_order(
    snapshot: &IndexSnapshot,
) -> impl Iterator<Item = Result<IndexedDocument, IndexError>> {
    let documents = snapshot.documents_in_order();
    documents.map(|record| record.map(IndexedDocument::from))
}

/// The same as a list, which takes a hundred bytes and more a document.
pub(super) fn list(snapshot: &IndexSnapshot) -> Result<Vec<IndexedDocument>, IndexError> {
    in_order(snapshot).collect()
}

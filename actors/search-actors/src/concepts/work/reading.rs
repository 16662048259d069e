//! What the index holds, and the documents behind it.

use search_engine::extract::notes_dialect;

use super::*;

impl Work {
    /// A document as it is now; `None` where it cannot be read any more. What a reader in another process has found is
    /// taken from where it is kept.
    pub(super) fn read(&mut self, root: &RootFolder, listed: &Listed) -> Option<ExtractedDocument> {
        if let Some(body) = self
            .slot
            .texts
            .get()
            .and_then(|texts| texts.get(&listed.hash))
        {
            return Some(ExtractedDocument {
                key: listed.key.clone(),
                title: listed.title.clone(),
                body,
                ..ExtractedDocument::default()
            });
        }
        let holds_notes = self.slot.haystack.holds_notes();
        let extraction = self.extraction.get_or_insert_with(|| Extraction {
            notes: holds_notes.then(|| notes_dialect(root)),
            packed: None,
        });
        let limit = search_engine::walk::DEFAULT_MAX_FILE_BYTES;
        let content = root.read(&listed.key, limit, |_| false).ok()?;
        let (key, hash) = (&listed.key, &listed.hash);
        extraction
            .document(key, content.bytes, hash, content.mtime_ns)
            .ok()
    }
}

/// The documents of the index in the order of their keys.
pub(super) fn list(snapshot: &IndexSnapshot) -> Result<Vec<Listed>, IndexError> {
    let mut documents = Vec::new();
    snapshot.for_each_document(|record| {
        documents.push(Listed {
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

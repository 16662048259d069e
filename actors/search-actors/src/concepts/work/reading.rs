//! The documents behind the index.

use search_engine::extract::notes_dialect;

use super::*;

impl ConceptWorker {
    /// A document as it is now; `None` where it cannot be read any more. What a reader in another
    /// process has found is taken from where it is kept.
    pub(super) fn read(
        &mut self,
        root: &dyn SourceFiles,
        listed: &IndexedDocument,
    ) -> Option<ExtractedDocument> {
        if let Some(body) = self
            .handle
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
        let holds_notes = self.handle.haystack.holds_notes();
        let extraction = self.extraction.get_or_insert_with(|| Extraction {
            notes: holds_notes.then(|| notes_dialect(root)),
            packed: None,
        });
        let most = self.max_file_bytes;
        let content = root.read(&listed.key, most, &|_| false).ok()?;
        let (key, hash) = (&listed.key, &listed.hash);
        extraction
            .document(key, content.bytes, hash, content.mtime_ns)
            .ok()
    }
}

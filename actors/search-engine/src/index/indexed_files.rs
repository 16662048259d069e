//! Which files are indexed, asked key by key: a comparison with a folder holds a bit a document.

use tantivy::DocId;

use super::bitmap::Bitmap;
use super::error::IndexError;
use super::record::FileState;
use super::snapshot::IndexSnapshot;

/// The files of an index, each of which is taken once.
#[derive(Debug)]
pub struct IndexedFiles<'s> {
    snapshot: &'s IndexSnapshot,
    /// The documents of each segment that were taken.
    taken: Vec<Bitmap>,
    /// Where the next key will be, as a folder is listed nearly in the order of the index.
    likely: (u32, DocId),
}

impl<'s> IndexedFiles<'s> {
    /// All files of an index.
    #[must_use]
    pub fn new(snapshot: &'s IndexSnapshot) -> Self {
        let segments = snapshot.segments().iter();
        Self {
            snapshot,
            taken: segments
                .map(|view| Bitmap::new(view.reader.max_doc()))
                .collect(),
            likely: (0, 0),
        }
    }

    /// Takes a file; `None` where there is none of this key.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn take(&mut self, key: &str) -> Result<Option<FileState>, IndexError> {
        let found = match self.next_place(key)? {
            Some(found) => Some(found),
            None => match self.snapshot.locate(key)? {
                Some((segment, document)) => {
                    let record = self.snapshot.record(segment, document)?;
                    Some((segment, document, record.file))
                }
                None => None,
            },
        };
        let Some((segment, document, file)) = found else {
            return Ok(None);
        };
        self.taken[segment as usize].insert_all(&[document]);
        self.likely = (segment, document + 1);
        Ok(Some(file))
    }

    /// The file, where it lies behind the one that was taken before.
    fn next_place(&self, key: &str) -> Result<Option<(u32, DocId, FileState)>, IndexError> {
        let (segment, document) = self.likely;
        let Some(view) = self.snapshot.segments().get(segment as usize) else {
            return Ok(None);
        };
        if document >= view.reader.max_doc() || view.reader.is_deleted(document) {
            return Ok(None);
        }
        let record = self.snapshot.record(segment, document)?;
        Ok((record.key == key).then_some((segment, document, record.file)))
    }

    /// The keys that were not taken and are `wanted`, ascending.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn remaining(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, IndexError> {
        let mut keys = Vec::new();
        for (segment, (view, taken)) in self.snapshot.segments().iter().zip(&self.taken).enumerate()
        {
            for document in 0..view.reader.max_doc() {
                if taken.contains(document) || view.reader.is_deleted(document) {
                    continue;
                }
                let key = self.snapshot.key(segment as u32, document)?;
                if wanted(&key) {
                    keys.push(key);
                }
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    /// Whether any file lies below a folder; the empty key is the root.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn any_below(&self, folder: &str) -> Result<bool, IndexError> {
        if folder.is_empty() {
            return Ok(self.snapshot.document_count() > 0);
        }
        Ok(!self.snapshot.keys_below(folder)?.is_empty())
    }
}

//! Between the synchronisation and the index: puts documents, and makes a long run searchable
//! while it goes on.

use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;
use search_core::document::ExtractedDocument;
use search_engine::index::{Durability, FileState, IndexError, IndexSnapshot, SourceIndex};
use search_engine::sync::{IndexSink, KnownFile};

use crate::source_handle::SourceHandle;

/// The first commit of a long run comes after this time, the next ones after twice the former: a
/// run of an hour has about ten, so their segments cost little.
const FIRST_COMMIT: Duration = Duration::from_secs(4);

/// Puts documents into a source's index.
pub(crate) struct DocumentSink<'a> {
    index: &'a mut SourceIndex,
    handle: &'a SourceHandle,
    committed: Instant,
    interval: Duration,
}

impl<'a> DocumentSink<'a> {
    pub(crate) fn new(index: &'a mut SourceIndex, handle: &'a SourceHandle) -> Self {
        Self {
            index,
            handle,
            committed: Instant::now(),
            interval: FIRST_COMMIT,
        }
    }

    fn commit_now_and_then(&mut self) -> Result<(), IndexError> {
        if self.committed.elapsed() < self.interval {
            return Ok(());
        }
        let snapshot = self.index.commit(Durability::Fast)?;
        self.handle
            .publish(|status| status.snapshot = Some(snapshot));
        self.committed = Instant::now();
        self.interval *= 2;
        Ok(())
    }
}

impl IndexSink for DocumentSink<'_> {
    type Error = IndexError;

    fn put(&mut self, document: ExtractedDocument, version: KnownFile) -> Result<(), IndexError> {
        self.index.put(&document, file_state(version))?;
        self.commit_now_and_then()
    }

    fn delete(&mut self, key: &str) -> Result<(), IndexError> {
        self.index.delete(key)
    }
}

fn file_state(version: KnownFile) -> FileState {
    FileState {
        size: version.size,
        modified_ns: version.mtime_ns,
        hash: version.hash,
    }
}

/// The version of a file that is indexed.
pub(crate) fn known_file(file: &FileState) -> KnownFile {
    KnownFile {
        size: file.size,
        mtime_ns: file.modified_ns,
        hash: file.hash,
    }
}

/// Every indexed file and its version.
///
/// # Errors
/// The index cannot be read.
pub(crate) fn known_files(
    snapshot: &IndexSnapshot,
) -> Result<FxHashMap<String, KnownFile>, IndexError> {
    let mut known = FxHashMap::default();
    snapshot.for_each_document(|record| {
        known.insert(record.key, known_file(&record.file));
    })?;
    Ok(known)
}

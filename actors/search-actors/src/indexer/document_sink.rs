//! Between the synchronisation and the index: puts documents, and makes a long run searchable
//! while it goes on.

use std::time::{Duration, Instant};

use search_core::document::ExtractedDocument;
use search_engine::index::{
    Durability, FileState, IndexError, IndexSnapshot, IndexedFiles, SourceIndex,
};
use search_engine::sync::{IndexSink, KnownFile, KnownFiles};

use crate::changed_documents::ChangedDocuments;
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
    /// What has changed since the last commit.
    changed: ChangedDocuments,
    /// Whether searches are told with the first document that something is being indexed.
    tells: bool,
    has_written: bool,
}

/// What a sink was given.
#[derive(Debug)]
pub(crate) struct WriteSummary {
    /// What has changed and is not committed yet.
    pub(crate) changed: ChangedDocuments,
    /// Whether anything has.
    pub(crate) any: bool,
}

impl<'a> DocumentSink<'a> {
    pub(crate) fn new(index: &'a mut SourceIndex, handle: &'a SourceHandle) -> Self {
        Self {
            index,
            handle,
            committed: Instant::now(),
            interval: FIRST_COMMIT,
            changed: ChangedDocuments::default(),
            tells: false,
            has_written: false,
        }
    }

    /// The same, that tells searches with the first document that something is being indexed.
    pub(crate) fn with_notification(mut self, tells: bool) -> Self {
        self.tells = tells;
        self
    }

    /// What it was given.
    pub(crate) fn into_written(self) -> WriteSummary {
        WriteSummary {
            changed: self.changed,
            any: self.has_written,
        }
    }

    /// Notes that a document changes, with the title that it has still.
    fn record_change(&mut self, key: &str) {
        self.has_written = true;
        if std::mem::take(&mut self.tells) {
            self.handle.start_indexing();
        }
        let snapshot = || self.index.snapshot().document(key);
        self.changed
            .record(key, || Some(snapshot().ok().flatten()?.title));
    }

    fn commit_now_and_then(&mut self) -> Result<(), IndexError> {
        if self.committed.elapsed() < self.interval {
            return Ok(());
        }
        let snapshot = self.index.commit(Durability::Fast)?;
        self.handle.publish_changed(self.changed.take(), |status| {
            status.snapshot = Some(snapshot);
        });
        self.committed = Instant::now();
        self.interval *= 2;
        Ok(())
    }
}

impl IndexSink for DocumentSink<'_> {
    type Error = IndexError;

    fn put(&mut self, document: ExtractedDocument, version: KnownFile) -> Result<(), IndexError> {
        self.record_change(&document.key);
        self.index.put(&document, file_state(version))?;
        self.commit_now_and_then()
    }

    fn delete(&mut self, key: &str) -> Result<(), IndexError> {
        self.record_change(key);
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

/// Every indexed file and its version, for a comparison with the folder.
pub(crate) struct KnownInIndex<'s>(IndexedFiles<'s>);

impl<'s> KnownInIndex<'s> {
    pub(crate) fn new(snapshot: &'s IndexSnapshot) -> Self {
        Self(IndexedFiles::new(snapshot))
    }
}

impl KnownFiles for KnownInIndex<'_> {
    type Error = IndexError;

    fn take(&mut self, key: &str) -> Result<Option<KnownFile>, IndexError> {
        Ok(self.0.take(key)?.as_ref().map(known_file))
    }

    fn remaining(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, IndexError> {
        self.0.remaining(wanted)
    }

    fn any_below(&self, folder: &str) -> Result<bool, IndexError> {
        self.0.any_below(folder)
    }
}

//! The index of one source: opening, changing, committing.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use rustc_hash::FxHashSet;
use search_core::document::ExtractedDocument;
use tantivy::directory::error::LockError;
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, TantivyError, Term};

use super::builder::SegmentBuilder;
use super::damage;
use super::deletion::DeletionOrder;
use super::directory::{DeferredDirectory, PreviousState};
use super::error::{IndexError, is_machines_fault, store_error};
use super::files;
use super::options::{Durability, IndexOptions, OpenOutcome};
use super::record::FileState;
use super::schema::{self, FORMAT, SchemaFields};
use super::segment;
use super::snapshot::IndexSnapshot;
use crate::shortage::is_of_machine;

/// File that holds the format number.
const FORMAT_FILE: &str = "format";

/// What tantivy's idle indexing worker may take; our segments are built outside of it.
const WORKER_BYTES: usize = 15_000_000;

/// The index of one source, with the right to change it. One at a time: searches go through
/// [`IndexSnapshot`]s, which any number of threads may hold.
pub struct SourceIndex {
    pub(super) path: PathBuf,
    pub(super) options: IndexOptions,
    fields: SchemaFields,
    directory: DeferredDirectory,
    pub(super) index: Index,
    pub(super) writer: IndexWriter,
    reader: IndexReader,
    builder: SegmentBuilder,
    ledger: DeletionOrder,
    /// Hashes of the keys in segments written since the last commit.
    flushed: FxHashSet<u64>,
    current: IndexHandle,
    generation: Arc<AtomicU64>,
}

/// Gives the current snapshot of an index to any thread.
#[derive(Debug, Clone)]
pub struct IndexHandle(Arc<RwLock<IndexSnapshot>>);

impl IndexHandle {
    /// The state after the last commit.
    #[must_use]
    pub fn snapshot(&self) -> IndexSnapshot {
        self.0.read().clone()
    }
}

impl std::fmt::Debug for SourceIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceIndex")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl SourceIndex {
    /// Opens the index in the folder `path`, or makes an empty one. A damaged index, or one of
    /// another format, is replaced by an empty one, and [`OpenOutcome::Rebuilt`] says so.
    ///
    /// # Errors
    /// The folder cannot be used, or another process holds the index.
    pub fn open(path: &Path, options: IndexOptions) -> Result<(Self, OpenOutcome), IndexError> {
        let folder = |source| IndexError::Folder {
            path: path.to_owned(),
            source,
        };
        fs::create_dir_all(path).map_err(folder)?;
        let is_new = fs::read_dir(path).map_err(folder)?.next().is_none();
        if is_new {
            return Ok((Self::create(path, options)?, OpenOutcome::Created));
        }
        match Self::open_existing(path, options) {
            Ok(index) => Ok((index, OpenOutcome::Existing)),
            Err(OpenFailure::Error(error)) => Err(error),
            Err(OpenFailure::Unusable(reason)) => {
                if let Some(repaired) = Self::repair(path, options)? {
                    return Ok(repaired);
                }
                let _lock = files::writer_lock(path)?;
                files::clear(path).map_err(folder)?;
                Ok((
                    Self::create(path, options)?,
                    OpenOutcome::Rebuilt { reason },
                ))
            }
        }
    }

    /// Opens an index without its damaged segments; `None` where that does not help.
    fn repair(
        path: &Path,
        options: IndexOptions,
    ) -> Result<Option<(Self, OpenOutcome)>, IndexError> {
        let lock = files::writer_lock(path)?;
        let damaged = damage::unlist_damaged(path).map_err(|source| IndexError::Folder {
            path: path.to_owned(),
            source,
        })?;
        drop(lock);
        let Some(first) = damaged.first() else {
            return Ok(None);
        };
        match Self::open_existing(path, options) {
            Ok(index) => {
                let reason = format!("{first}; segments left out: {}", damaged.len());
                Ok(Some((index, OpenOutcome::Repaired { reason })))
            }
            Err(OpenFailure::Error(error)) => Err(error),
            Err(OpenFailure::Unusable(_)) => Ok(None),
        }
    }

    fn create(path: &Path, options: IndexOptions) -> Result<Self, IndexError> {
        let folder = |source| IndexError::Folder {
            path: path.to_owned(),
            source,
        };
        let store = |source| store_error(path, source);
        fs::write(path.join(FORMAT_FILE), FORMAT.to_string()).map_err(folder)?;
        let (directory, _) = DeferredDirectory::open(path).map_err(|error| store(error.into()))?;
        let (schema, fields) = schema::schema();
        let index = Index::create(directory.clone(), schema, schema::settings()).map_err(store)?;
        Self::start(path, options, directory, index, fields).map_err(store)
    }

    fn open_existing(path: &Path, options: IndexOptions) -> Result<Self, OpenFailure> {
        let found = match fs::read_to_string(path.join(FORMAT_FILE)) {
            Err(error) if is_of_machine(&error) => {
                return Err(OpenFailure::Error(IndexError::Folder {
                    path: path.to_owned(),
                    source: error,
                }));
            }
            found => found.unwrap_or_default(),
        };
        if found.trim() != FORMAT.to_string() {
            return Err(OpenFailure::Unusable(format!(
                "it has format {:?}, this version writes {FORMAT}",
                found.trim()
            )));
        }
        let unusable = |error: TantivyError| match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => {
                OpenFailure::Error(IndexError::Locked {
                    path: path.to_owned(),
                })
            }
            // What the machine lacks for a moment must not cost an index.
            error if is_machines_fault(&error) => OpenFailure::Error(store_error(path, error)),
            error => OpenFailure::Unusable(format!("it is damaged ({error})")),
        };
        let (directory, left) =
            DeferredDirectory::open(path).map_err(|error| unusable(error.into()))?;
        let index = Index::open(directory.clone()).map_err(unusable)?;
        let (schema, fields) = schema::schema();
        if index.schema() != schema || *index.settings() != schema::settings() {
            return Err(OpenFailure::Unusable("it has other fields".to_owned()));
        }
        if left == PreviousState::Doubtful {
            let damaged = index.validate_checksum().map_err(unusable)?;
            if let Some(file) = damaged.iter().next() {
                let reason = format!(
                    "file {} was damaged when the machine went down",
                    file.display()
                );
                return Err(OpenFailure::Unusable(reason));
            }
        }
        // A damaged file may end in a panic where it is decoded.
        let started = catch_unwind(AssertUnwindSafe(|| {
            Self::start(path, options, directory, index, fields)
        }));
        let index = match started {
            Ok(started) => started.map_err(unusable)?,
            Err(_) => {
                let reason = "it is damaged (reading it panicked; the log has the place)";
                return Err(OpenFailure::Unusable(reason.to_owned()));
            }
        };
        let removed = files::remove_runs(path);
        removed.map_err(|source| {
            OpenFailure::Error(IndexError::Folder {
                path: path.to_owned(),
                source,
            })
        })?;
        Ok(index)
    }

    /// Starts writer and reader. Opening the reader opens every segment's files.
    fn start(
        path: &Path,
        options: IndexOptions,
        directory: DeferredDirectory,
        index: Index,
        fields: SchemaFields,
    ) -> tantivy::Result<Self> {
        let worker = IndexWriterOptions::builder()
            .memory_budget_per_thread(WORKER_BYTES)
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter<TantivyDocument> = index.writer_with_options(worker)?;
        writer.set_merge_policy(Box::new(merge_policy()));
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            // Snapshots read the store by readers of their own.
            .doc_store_cache_num_blocks(0)
            .try_into()?;
        let generation = Arc::new(AtomicU64::new(0));
        let snapshot = IndexSnapshot::new(path, reader.searcher(), fields, 0, None)?;
        Ok(Self {
            path: path.to_owned(),
            options,
            fields,
            directory,
            index,
            writer,
            reader,
            builder: SegmentBuilder::new(path),
            ledger: DeletionOrder::default(),
            flushed: FxHashSet::default(),
            current: IndexHandle(Arc::new(RwLock::new(snapshot))),
            generation,
        })
    }

    /// Adds a document, or replaces the one with the same key. Searchable after the next
    /// [`commit`](Self::commit).
    ///
    /// # Errors
    /// A segment had to be written and could not be.
    pub fn put(&mut self, document: &ExtractedDocument, file: FileState) -> Result<(), IndexError> {
        self.delete_committed(&document.key)?;
        self.builder.add(document, file);
        if self.builder.bytes() >= self.options.memory_bytes {
            let spilled = self.builder.spill();
            spilled.map_err(|source| IndexError::Folder {
                path: self.path.clone(),
                source,
            })?;
            if self.builder.is_full() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Removes a document; nothing happens when there is none with this key.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn delete(&mut self, key: &str) -> Result<(), IndexError> {
        self.builder.remove(key);
        self.delete_committed(key)
    }

    /// Marks the document in segments as deleted.
    fn delete_committed(&self, key: &str) -> Result<(), IndexError> {
        let written = self.flushed.contains(&key_hash(key));
        if written || self.current.0.read().contains(key)? {
            let deletion = self
                .ledger
                .deletion(Term::from_field_text(self.fields.key, key));
            let queued = self.writer.delete_query(deletion);
            queued.map_err(|source| store_error(&self.path, source))?;
        }
        Ok(())
    }

    /// Writes what is gathered as a segment.
    fn flush(&mut self) -> Result<(), IndexError> {
        if self.builder.is_empty() {
            return Ok(());
        }
        let mut builder = std::mem::replace(&mut self.builder, SegmentBuilder::new(&self.path));
        let added =
            segment::write(&mut builder, &self.index, self.fields).and_then(|meta| match meta {
                Some(meta) => {
                    self.ledger.segment_written(meta.id());
                    self.writer.add_segment(meta)
                }
                None => Ok(()),
            });
        added.map_err(|source| store_error(&self.path, source))?;
        self.flushed.extend(
            builder
                .documents
                .iter()
                .map(|document| key_hash(document.key)),
        );
        Ok(())
    }

    /// Makes all changes searchable, and durable if asked.
    ///
    /// # Errors
    /// The disk is full or cannot be written; the former state stays searchable.
    pub fn commit(&mut self, durability: Durability) -> Result<IndexSnapshot, IndexError> {
        self.flush()?;
        let committed = self.writer.commit();
        committed.map_err(|source| store_error(&self.path, source))?;
        self.flushed.clear();
        self.ledger.clear();
        let snapshot = self.refresh()?;
        if durability == Durability::Synced {
            self.sync()?;
        }
        Ok(snapshot)
    }

    /// Takes over what was committed or merged since.
    pub(super) fn refresh(&mut self) -> Result<IndexSnapshot, IndexError> {
        let store = |source| store_error(&self.path, source);
        self.reader.reload().map_err(store)?;
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let (searcher, former) = (self.reader.searcher(), self.snapshot());
        let snapshot =
            IndexSnapshot::new(&self.path, searcher, self.fields, generation, Some(&former))
                .map_err(store)?;
        *self.current.0.write() = snapshot.clone();
        Ok(snapshot)
    }

    /// Makes everything committed so far durable. Returns the number of files synced, 0 when there
    /// was nothing to do.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn sync(&self) -> Result<usize, IndexError> {
        let synced = self.directory.sync();
        synced.map_err(|source| IndexError::Folder {
            path: self.path.clone(),
            source,
        })
    }

    /// The state after the last commit.
    #[must_use]
    pub fn snapshot(&self) -> IndexSnapshot {
        self.current.snapshot()
    }

    /// A handle that gives the state after the last commit, for other threads.
    #[must_use]
    pub fn handle(&self) -> IndexHandle {
        self.current.clone()
    }

    /// Bytes the index takes on the disk.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn size_on_disk(&self) -> Result<u64, IndexError> {
        let size = files::size(&self.path);
        size.map_err(|source| IndexError::Folder {
            path: self.path.clone(),
            source,
        })
    }
}

/// Why an existing index was not opened.
enum OpenFailure {
    /// It is fine, but cannot be had.
    Error(IndexError),
    /// It has to be built anew.
    Unusable(String),
}

/// Segments of a like size are merged eight at a time; few small changes make small segments, which
/// cost little to merge.
pub(super) fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(8);
    policy.set_min_layer_size(1_000);
    policy.set_del_docs_ratio_before_merge(0.3);
    policy
}

fn key_hash(key: &str) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    key.hash(&mut hasher);
    hasher.finish()
}

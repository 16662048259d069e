//! The indexer's thread: opens the index, sees that it is whole, compares it with the folder,
//! follows the changes.
//!
//! Whatever fails, it says so, waits, and begins anew: what the machine lacks now says nothing
//! about the source.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use parking_lot::Mutex;
use search_core::answer::{IndexProgress, SourceState};
use search_core::role::LocalFiles;
use search_engine::extract::{Extraction, PackedFormats, notes_dialect};
use search_engine::files::SourceFiles;
use search_engine::index::{IndexError, IndexOptions, SourceIndex};
use search_engine::sync::{self, CancelFlag, SyncError, SyncOptions, SyncPlan, SyncReport};
use search_engine::walk::{RootDirectory, WalkItem, WalkOptions};
use search_engine::watch::{DirectoryWatch, WatchError, WatchOptions};

use super::concepts::SourceLearning;
use super::document_sink::{DocumentSink, WriteSummary};
use super::mounts::Mounts;
use super::poll_pace::{PollPace, PollTrigger};
use super::settings::IndexerSettings;
use crate::backoff::{Backoff, MAX_PAUSE};
use crate::changed_documents::ChangedDocuments;
use crate::snapshots::{SnapshotError, SnapshotMode, SourcePublisher};
use crate::source_handle::{SourceHandle, SourceStatus};

/// A folder or repository that cannot be read is looked at again after this time.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);
/// While it waits the thread looks this often whether it should end.
pub(super) const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// What the actor tells the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IndexCommand {
    /// Compare everything again.
    Reindex,
}

/// Why the thread cannot go on. It begins anew after a pause.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexLoopError {
    /// The index cannot be used.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Indexing ended early.
    #[error(transparent)]
    Sync(#[from] SyncError<IndexError>),
    /// The thread for concepts cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(std::io::Error),
    /// The folder cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The repository cannot be asked.
    #[error(transparent)]
    Git(git_engine::GitError),
    /// What was published cannot be taken up.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The list of mounts cannot be kept.
    #[error("which folders of the source are mounts cannot be kept: {0}")]
    Mounts(std::io::Error),
}

/// How following a folder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopExit {
    /// The actor has ended.
    Stopped,
    /// Everything is to be opened anew.
    Reopen,
}

/// What the thread works with.
pub(crate) struct IndexLoop {
    pub(crate) handle: Arc<SourceHandle>,
    pub(crate) settings: Arc<IndexerSettings>,
    pub(crate) inbox: Receiver<IndexCommand>,
    pub(crate) cancel: Arc<AtomicBool>,
    /// Set when another process may index the source.
    pub(crate) lost: Arc<AtomicBool>,
    /// Tells the concepts thread that the index has changed; it holds one message.
    pub(crate) wake: Sender<()>,
    pub(crate) woken: Receiver<()>,
    /// When the index was first in step with the folder in this attempt.
    pub(crate) ready: Mutex<Option<Instant>>,
}

impl IndexLoop {
    /// Keeps the index until the actor ends. A failure is followed by a pause and another attempt,
    /// for ever.
    pub(super) fn run(&self) {
        let mut pauses = Backoff::default();
        loop {
            *self.ready.lock() = None;
            let end = catch_unwind(AssertUnwindSafe(|| self.run_until_stopped()));
            let reason = match end {
                // Another indexer took over: this one waits until it may again.
                Ok(Ok(())) if self.lost.load(Ordering::Acquire) && !self.is_ended() => continue,
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "indexing panicked; the log has the place".to_owned(),
            };
            if self.is_ended() {
                return;
            }
            // It went well for long: this is another fault than the one before.
            let was_ready = *self.ready.lock();
            if was_ready.is_some_and(|since| since.elapsed() > MAX_PAUSE) {
                pauses = Backoff::default();
            }
            let pause = pauses.next();
            let (source, again_s) = (self.handle.haystack.name.as_str(), pause.as_secs());
            tracing::error!(event = "indexer.failed", source, %reason, again_s);
            self.handle.record_failure(&reason, pause);
            if !self.wait_to_retry(pause) {
                return;
            }
        }
    }

    /// Waits; a command to reindex ends it. `false` when the actor has ended.
    fn wait_to_retry(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while !self.is_ended() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            match self.inbox.recv_timeout(left.min(CANCEL_POLL_INTERVAL)) {
                Ok(IndexCommand::Reindex) => return true,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        false
    }

    /// Runs until the actor ends.
    fn run_until_stopped(&self) -> Result<(), IndexLoopError> {
        while self.run_once()? == LoopExit::Reopen {}
        Ok(())
    }

    fn run_once(&self) -> Result<LoopExit, IndexLoopError> {
        self.lost.store(false, Ordering::Release);
        let Some(_publishing) = self.start_publishing()? else {
            return Ok(LoopExit::Stopped);
        };
        let mut index = self.open()?;
        if let Some(revision) = self.handle.haystack.revision() {
            return self.run_revision(&mut index, &self.files(), revision);
        }
        let Some(root) = self.wait_for_directory() else {
            return Ok(LoopExit::Stopped);
        };
        let root = Arc::new(root);
        let files: Arc<dyn SourceFiles> = Arc::<RootDirectory>::clone(&root);
        self.handle.publish(|status| status.root = Some(files));
        let mut mounts = Mounts::open(self.mounts_file()).map_err(IndexLoopError::Mounts)?;
        let _concepts = self.start_concepts(root.as_ref())?;
        let files = self.files();
        let mut watching = WatchOptions::new(files.filter);
        watching.max_directories = self.settings.concepts.limits.watched_folders;
        watching.poll_interval = self.settings.concepts.limits.poll_interval;
        let watch = DirectoryWatch::start(&root, watching)?;
        let compared = self.compare(&mut index, &root, &mut mounts, PollTrigger::Asked)?;
        let pace = PollPace::record_end(compared.took, Instant::now());
        tracing::info!(
            event = "source.ready", source = self.handle.haystack.name,
            documents = index.snapshot().document_count(), watch = %watch.mode(),
        );
        self.follow(&mut index, (&root, &watch), &mut mounts, pace)
    }

    /// Waits until this process may index the source, where others might: `None` when the actor
    /// ends before. Where nothing is published there is nothing to wait for.
    fn start_publishing(&self) -> Result<Option<Option<SourcePublisher>>, IndexLoopError> {
        let mode = &self.settings.snapshots;
        if !matches!(mode, SnapshotMode::Indexer { .. }) {
            return Ok(Some(None));
        }
        let folders = self.settings.folders(&self.handle.id);
        let is_ended = || self.is_ended();
        let begun = SourcePublisher::acquire(&self.handle, (mode, folders), &self.lost, &is_ended)?;
        Ok(begun.map(Some))
    }

    /// Whether a document belongs to the part of the source that this process indexes.
    pub(super) fn is_ours(&self, key: &str) -> bool {
        self.settings.snapshots.part().contains(key)
    }

    /// Whether something that a walk met counts. What was left out may stand for a folder.
    pub(super) fn is_walked(&self, item: &WalkItem) -> bool {
        match item {
            WalkItem::File(facts) => self.is_ours(&facts.key),
            WalkItem::Skipped(_) => true,
        }
    }

    /// What is started ends, and is waited for, when it is dropped.
    pub(super) fn start_concepts(
        &self,
        files: &dyn SourceFiles,
    ) -> Result<SourceLearning, IndexLoopError> {
        SourceLearning::start(&self.handle, &self.settings, &self.woken, files)
            .map_err(IndexLoopError::Thread)
    }

    fn files(&self) -> LocalFiles {
        let files = self.handle.haystack.indexed_files();
        files.expect("indexers are started for haystacks that are folders only")
    }

    /// What the files of the source are read with.
    fn extraction(&self, root: &dyn SourceFiles) -> Extraction {
        let notes = self.handle.haystack.holds_notes();
        let readers = self.settings.readers.clone();
        Extraction {
            notes: notes.then(|| notes_dialect(root)),
            packed: readers
                .zip(self.handle.texts.get().cloned())
                .map(|(readers, texts)| PackedFormats { readers, texts }),
        }
    }

    /// Texts of documents that are gone go too.
    pub(super) fn tidy_texts(&self, index: &SourceIndex) -> Result<(), IndexLoopError> {
        let Some(texts) = self.handle.texts.get() else {
            return Ok(());
        };
        let mut left = match texts.hashes() {
            Ok(kept) if kept.is_empty() => return Ok(()),
            Ok(kept) => kept,
            Err(error) => return self.texts_failed(&error),
        };
        index.snapshot().for_each_document(|record| {
            left.remove(&record.file.hash);
        })?;
        if let Err(error) = texts.remove(&left) {
            return self.texts_failed(&error);
        }
        Ok(())
    }

    fn texts_failed(&self, error: &std::io::Error) -> Result<(), IndexLoopError> {
        let source = self.handle.haystack.name.as_str();
        tracing::warn!(event = "texts.unwritable", source, %error);
        Ok(())
    }

    /// Whether the actor has ended.
    fn is_ended(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    /// Whether to stop: the actor has ended, or another process may index the source.
    pub(super) fn is_cancelled(&self) -> bool {
        self.is_ended() || self.lost.load(Ordering::Acquire)
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.settings.data.join(&self.handle.id)
    }

    pub(super) fn mounts_file(&self) -> PathBuf {
        self.settings
            .data
            .join(format!("{}.mounts", self.handle.id))
    }

    /// Opens the index and makes it searchable as it was left; then sees that its files are what
    /// was written. That takes the time of reading them once, and searches go on meanwhile, unless
    /// one of them has met damage.
    fn open(&self) -> Result<SourceIndex, IndexLoopError> {
        let (index, opened) = SourceIndex::open(&self.folder(), IndexOptions::default())?;
        self.check_in_step(&opened);
        let is_suspect = self.handle.take_suspicion();
        let damage = self.report_open_outcome(&opened);
        let publish = |index: &SourceIndex, damage: Option<String>| {
            self.handle.publish(|status| {
                status.snapshot = Some(index.snapshot());
                status.state = SourceState::Indexing;
                // Until it is ready again it shows why it was not.
                status.error = damage.or(status.error.take().filter(|_| status.is_down));
            });
        };
        if !is_suspect {
            publish(&index, damage.clone());
        }
        let damaged = index.damage(|| !self.is_cancelled())?;
        let Some(first) = damaged.first() else {
            if is_suspect {
                publish(&index, damage);
            }
            return Ok(index);
        };
        let documents: u64 = damaged.iter().map(|one| one.documents).sum();
        let (source, file) = (self.handle.haystack.name.as_str(), first.file.as_str());
        tracing::warn!(event = "index.damaged", source, file, reason = %first, documents);
        let told = format!("{first}: {documents} documents are being indexed again");
        // Nobody searches the damaged part while it is taken out.
        self.handle.publish(|status| status.snapshot = None);
        let (index, opened) = index.without(&damaged)?;
        self.check_in_step(&opened);
        self.report_open_outcome(&opened);
        publish(&index, Some(told));
        Ok(index)
    }

    /// The folder, as soon as it can be opened; `None` when the indexer ends before.
    fn wait_for_directory(&self) -> Option<RootDirectory> {
        let files = self.files();
        let root = self.wait_for(|| RootDirectory::open(&files.folder))?;
        let root = root.respecting_gitignore(files.respect_gitignore);
        Some(root.with_hidden(files.hidden))
    }

    /// What is looked for, as soon as it is there; `None` when the indexer ends before.
    pub(super) fn wait_for<T, E: Display>(&self, look: impl Fn() -> Result<T, E>) -> Option<T> {
        let mut told = String::new();
        while !self.is_cancelled() {
            match look() {
                Ok(found) => return Some(found),
                Err(error) => {
                    let reason = error.to_string();
                    if reason != told {
                        tracing::warn!(event = "source.unreadable", source = self.handle.haystack.name, %reason);
                        self.handle.fail(&reason);
                        told = reason;
                    }
                }
            }
            if self.inbox.recv_timeout(RETRY_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
                return None;
            }
        }
        None
    }

    pub(super) fn walk_options(&self) -> WalkOptions {
        let files = self.files();
        let mut options = WalkOptions::new(files.filter.clone());
        options.max_file_bytes = files.max_file_size.bytes();
        options.hidden = files.hidden;
        options
    }

    /// Carries out a plan; `tells` searches of it once something is to be indexed.
    pub(super) fn apply_plan(
        &self,
        index: &mut SourceIndex,
        root: &dyn SourceFiles,
        plan: SyncPlan,
        (walk, tells): (&WalkOptions, bool),
    ) -> Result<(SyncReport, WriteSummary), IndexLoopError> {
        let options = SyncOptions {
            cancel: self.cancel_flag(),
            extraction: self.extraction(root),
            ..SyncOptions::new(walk)
        };
        let handle = &self.handle;
        let mut told = Instant::now();
        let on_progress = |progress: sync::SyncProgress| {
            if self.is_cancelled() {
                options.cancel.cancel();
            }
            if progress.done == progress.total || told.elapsed() > Duration::from_millis(100) {
                told = Instant::now();
                handle.publish_progress(|status| {
                    status.progress = IndexProgress {
                        done: progress.done,
                        total: progress.total,
                        bytes: progress.bytes,
                    };
                });
            }
        };
        let mut sink = DocumentSink::new(index, handle).with_notification(tells);
        let report = sync::apply(root, plan, &options, &mut sink, on_progress)?;
        Ok((report, sink.into_written()))
    }

    fn cancel_flag(&self) -> CancelFlag {
        let flag = CancelFlag::default();
        if self.is_cancelled() {
            flag.cancel();
        }
        flag
    }

    /// The index is in step with the folder; `missing` says what of the folder is away.
    pub(super) fn publish_ready(
        &self,
        index: &SourceIndex,
        missing: Option<String>,
        changed: ChangedDocuments,
        more: impl FnOnce(&mut SourceStatus),
    ) {
        self.ready.lock().get_or_insert_with(Instant::now);
        let mut was_down = false;
        self.handle.publish_changed(changed, |status| {
            status.snapshot = Some(index.snapshot());
            status.state = SourceState::Ready;
            status.error = missing;
            was_down = std::mem::take(&mut status.is_down);
            status.updated_at = Some(SystemTime::now());
            more(status);
        });
        if was_down {
            tracing::info!(
                event = "indexer.recovered",
                source = self.handle.haystack.name
            );
        }
        // A full channel has woken it already.
        let _ = self.wake.try_send(());
    }
}

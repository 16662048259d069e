//! The keeper's thread: opens the index, compares it with the folder, follows the changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, select};
use search_core::answer::{IndexProgress, SourceState};
use search_core::role::LocalFiles;
use search_engine::extract::{Extraction, PackedFormats, notes_dialect};
use search_engine::index::{Durability, IndexError, IndexOptions, Opened, SourceIndex};
use search_engine::sync::{self, CancelFlag, Plan, SyncError, SyncOptions, SyncReport};
use search_engine::walk::{RootFolder, WalkOptions};
use search_engine::watch::{ChangeBatch, FolderWatch, WatchError, WatchOptions};

use crate::concepts::ConceptThread;
use crate::keeper::KeeperSettings;
use crate::merging::Merger;
use crate::sink::{Sink, known_file, known_files};
use crate::slot::{Published, SourceSlot};

/// A folder that cannot be opened is looked at again after this time.
const RETRY: Duration = Duration::from_secs(3);
/// Changes that were committed fast are made durable after this time without changes.
const SETTLE: Duration = Duration::from_secs(2);
/// Without events the thread looks this often whether it should end.
const IDLE: Duration = Duration::from_millis(200);

/// What the actor tells the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Compare everything again.
    Reindex,
}

/// Why the thread cannot go on. The supervisor starts a fresh life.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeepingError {
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
}

/// What the thread works with.
pub(crate) struct Keeping {
    pub(crate) slot: Arc<SourceSlot>,
    pub(crate) settings: Arc<KeeperSettings>,
    pub(crate) inbox: Receiver<Command>,
    pub(crate) cancel: Arc<AtomicBool>,
    /// Tells the concepts thread that the index has changed; it holds one message.
    pub(crate) wake: Sender<()>,
    pub(crate) woken: Receiver<()>,
}

/// What has happened that the index has to follow.
enum Event {
    Changes(ChangeBatch),
    Compare,
    /// A merge of the index has ended.
    Merged(Result<(), String>),
    Quiet,
    End,
}

impl Keeping {
    /// Runs until the actor ends.
    pub(crate) fn run(self) -> Result<(), KeepingError> {
        let mut index = self.open()?;
        let Some(root) = self.wait_for_folder() else {
            return Ok(());
        };
        let root = Arc::new(root);
        self.slot
            .publish(|published| published.root = Some(Arc::clone(&root)));
        // Ends, and is waited for, when this thread ends.
        let _concepts =
            ConceptThread::start(&self.slot, &self.settings.concepts, self.woken.clone())
                .map_err(KeepingError::Thread)?;
        let files = self.files();
        let watch = FolderWatch::start(&root, WatchOptions::new(files.filter))?;
        self.compare(&mut index, &root)?;
        tracing::info!(
            event = "source.ready", source = self.slot.haystack.name,
            documents = index.snapshot().document_count(), watch = %watch.mode(),
        );
        self.follow(&mut index, &root, &watch)
    }

    fn files(&self) -> LocalFiles {
        let files = self.slot.haystack.indexed_files();
        files.expect("keepers are started for haystacks that are folders only")
    }

    /// What the files of the source are read with.
    fn extraction(&self, root: &RootFolder) -> Extraction {
        let notes = self.slot.haystack.holds_notes();
        let readers = self.settings.readers.clone();
        Extraction {
            notes: notes.then(|| notes_dialect(root)),
            packed: readers
                .zip(self.slot.texts.get().cloned())
                .map(|(readers, texts)| PackedFormats { readers, texts }),
        }
    }

    /// Texts of documents that are gone go too.
    fn tidy_texts(&self, index: &SourceIndex) -> Result<(), KeepingError> {
        let Some(texts) = self.slot.texts.get() else {
            return Ok(());
        };
        let known = known_files(&index.snapshot())?;
        if let Err(error) = texts.keep_only(known.values().map(|file| &file.hash)) {
            let source = self.slot.haystack.name.as_str();
            tracing::warn!(event = "texts.unwritable", source, %error);
        }
        Ok(())
    }

    fn ends(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    fn folder(&self) -> PathBuf {
        self.settings.data.join(&self.slot.id)
    }

    /// Opens the index and makes it searchable as it was left.
    fn open(&self) -> Result<SourceIndex, KeepingError> {
        let (index, opened) = SourceIndex::open(&self.folder(), IndexOptions::default())?;
        if let Opened::Rebuilt { reason } = &opened {
            tracing::warn!(
                event = "index.rebuilt",
                source = self.slot.haystack.name,
                reason
            );
        }
        self.slot.publish(|published| {
            published.snapshot = Some(index.snapshot());
            published.state = SourceState::Indexing;
            published.error = None;
        });
        Ok(index)
    }

    /// The folder, as soon as it can be opened; `None` when the keeper ends before.
    fn wait_for_folder(&self) -> Option<RootFolder> {
        let mut told = String::new();
        while !self.ends() {
            match RootFolder::open(&self.files().folder) {
                Ok(root) => return Some(root.respecting_gitignore(self.files().respect_gitignore)),
                Err(error) => {
                    let reason = error.to_string();
                    if reason != told {
                        tracing::warn!(event = "source.unreadable", source = self.slot.haystack.name, %reason);
                        self.slot.fail(&reason);
                        told = reason;
                    }
                }
            }
            if self.inbox.recv_timeout(RETRY) == Err(RecvTimeoutError::Disconnected) {
                return None;
            }
        }
        None
    }

    fn walk_options(&self) -> WalkOptions {
        let files = self.files();
        let mut options = WalkOptions::new(files.filter.clone());
        options.max_file_bytes = files.max_file_size.bytes();
        options
    }

    /// Brings the whole index in step with the folder.
    fn compare(&self, index: &mut SourceIndex, root: &RootFolder) -> Result<(), KeepingError> {
        let _one_at_a_time = self.settings.bulk.lock();
        self.slot.publish(|published| {
            published.state = SourceState::Indexing;
            published.progress = IndexProgress::default();
        });
        let options = self.walk_options();
        let walked = sync::walk_all(root, &options);
        let plan = Plan::compare(known_files(&index.snapshot())?, walked);
        let report = self.carry_out(index, root, plan, &options)?;
        index.commit(Durability::Synced)?;
        self.tidy_texts(index)?;
        self.publish_ready(index, |published| {
            published.skipped = report
                .skipped
                .iter()
                .map(|(reason, count)| (reason.to_owned(), count))
                .collect();
        });
        Ok(())
    }

    fn carry_out(
        &self,
        index: &mut SourceIndex,
        root: &RootFolder,
        plan: Plan,
        walk: &WalkOptions,
    ) -> Result<SyncReport, KeepingError> {
        let options = SyncOptions {
            cancel: self.cancel_flag(),
            extraction: self.extraction(root),
            ..SyncOptions::new(walk)
        };
        let slot = &self.slot;
        let mut told = Instant::now();
        let on_progress = |progress: sync::SyncProgress| {
            if self.ends() {
                options.cancel.cancel();
            }
            if progress.done == progress.total || told.elapsed() > Duration::from_millis(100) {
                told = Instant::now();
                slot.publish_progress(|published| {
                    published.progress = IndexProgress {
                        done: progress.done,
                        total: progress.total,
                        bytes: progress.bytes,
                    };
                });
            }
        };
        let mut sink = Sink::new(index, slot);
        Ok(sync::apply(root, plan, &options, &mut sink, on_progress)?)
    }

    fn cancel_flag(&self) -> CancelFlag {
        let flag = CancelFlag::default();
        if self.ends() {
            flag.cancel();
        }
        flag
    }

    fn publish_ready(&self, index: &SourceIndex, more: impl FnOnce(&mut Published)) {
        self.slot.publish(|published| {
            published.snapshot = Some(index.snapshot());
            published.state = SourceState::Ready;
            published.error = None;
            published.updated_at = Some(SystemTime::now());
            more(published);
        });
        // A full channel has woken it already.
        let _ = self.wake.try_send(());
    }

    /// Follows the changes until the actor ends.
    fn follow(
        &self,
        index: &mut SourceIndex,
        root: &RootFolder,
        watch: &FolderWatch,
    ) -> Result<(), KeepingError> {
        let mut unsynced: Option<Instant> = None;
        let mut told_gone = false;
        let mut merger = Merger::new();
        loop {
            let event = self.next_event(watch, unsynced, &merger.ended());
            let is_gone = !root.path().is_dir();
            // What was indexed since has put another state in the place of what was told.
            let was_told = std::mem::take(&mut told_gone);
            match event {
                Event::Quiet if is_gone || was_told => {
                    if is_gone != was_told {
                        self.tell_gone(is_gone, root);
                    }
                    told_gone = is_gone;
                }
                Event::End => {
                    index.sync()?;
                    return Ok(());
                }
                Event::Compare => {
                    self.compare(index, root)?;
                    merger.changed();
                    unsynced = None;
                }
                Event::Changes(batch) => {
                    self.apply_changes(index, root, &batch)?;
                    merger.changed();
                    unsynced = Some(Instant::now());
                }
                Event::Merged(merged) => {
                    if let Some(snapshot) = merger.take(index, merged)? {
                        let publish =
                            |published: &mut Published| published.snapshot = Some(snapshot);
                        self.slot.publish(publish);
                    }
                }
                Event::Quiet => {
                    if unsynced.is_some_and(|since| since.elapsed() >= SETTLE) {
                        index.sync()?;
                        unsynced = None;
                    }
                    merger.begin(index)?;
                }
            }
        }
    }

    /// The folder has vanished, or is there again; what it held last stays searchable, and its files may come back.
    fn tell_gone(&self, is_gone: bool, root: &RootFolder) {
        let folder = root.path().display();
        if is_gone {
            let source = self.slot.haystack.name.as_str();
            tracing::warn!(event = "source.vanished", source, %folder);
        }
        self.slot.publish(|published| {
            published.error = is_gone
                .then(|| format!("{folder} is not there any more; what it held last is searched"));
        });
    }

    fn next_event(
        &self,
        watch: &FolderWatch,
        unsynced: Option<Instant>,
        merged: &Receiver<Result<(), String>>,
    ) -> Event {
        if self.ends() {
            return Event::End;
        }
        let wait = if unsynced.is_some() { IDLE } else { SETTLE };
        select! {
            recv(self.inbox) -> command => match command {
                Ok(Command::Reindex) => Event::Compare,
                Err(_) => Event::End,
            },
            recv(watch.changes()) -> batch => match batch {
                Ok(batch) if batch.rescan.is_some() => Event::Compare,
                Ok(batch) => Event::Changes(batch),
                Err(_) => Event::Compare,
            },
            recv(merged) -> merged => {
                Event::Merged(merged.unwrap_or_else(|_| Err("its thread has ended".to_owned())))
            }
            default(wait) => match self.inbox.try_recv() {
                Err(TryRecvError::Disconnected) => Event::End,
                Ok(Command::Reindex) => Event::Compare,
                Err(TryRecvError::Empty) => Event::Quiet,
            },
        }
    }

    /// Brings the files of a batch into the index and makes them searchable at once.
    fn apply_changes(
        &self,
        index: &mut SourceIndex,
        root: &RootFolder,
        batch: &ChangeBatch,
    ) -> Result<(), KeepingError> {
        let snapshot = index.snapshot();
        let known = |key: &str| {
            snapshot
                .document(key)
                .ok()
                .flatten()
                .map(|record| known_file(&record.file))
        };
        let below = |folder: &str| match snapshot.contains(folder) {
            Ok(true) => Vec::new(),
            _ => snapshot.keys_below(folder).unwrap_or_default(),
        };
        let plan = Plan::of_changes(batch, known, below);
        if plan.is_empty() {
            return Ok(());
        }
        let report = self.carry_out(index, root, plan, &self.walk_options())?;
        if report.put + report.touched + report.removed == 0 {
            return Ok(());
        }
        index.commit(Durability::Fast)?;
        self.publish_ready(index, |_| {});
        tracing::debug!(
            event = "source.changed",
            source = self.slot.haystack.name,
            put = report.put,
            removed = report.removed,
            after_ms = batch.noticed.map(|at| at.elapsed().as_millis() as u64),
        );
        Ok(())
    }
}

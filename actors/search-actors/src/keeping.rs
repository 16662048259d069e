//! The keeper's thread: opens the index, sees that it is whole, compares it with the folder, follows the changes.
//!
//! Whatever fails, it says so, waits, and begins anew: what the machine lacks now says nothing about the source.

mod following;

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
use search_engine::index::{Durability, IndexError, IndexOptions, Opened, SourceIndex};
use search_engine::sync::{self, CancelFlag, Plan, SyncError, SyncOptions, SyncReport};
use search_engine::walk::{RootFolder, WalkOptions};
use search_engine::watch::{FolderWatch, WatchError, WatchOptions};

use crate::concepts::ConceptThread;
use crate::keeper::KeeperSettings;
use crate::mounts::Mounts;
use crate::pauses::{LONGEST, Pauses};
use crate::sink::{Sink, known_files};
use crate::skips::Skips;
use crate::slot::{Published, SourceSlot};

/// A folder that cannot be opened is looked at again after this time.
const RETRY: Duration = Duration::from_secs(3);
/// While it waits the thread looks this often whether it should end.
const IDLE: Duration = Duration::from_millis(200);

/// What the actor tells the thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Compare everything again.
    Reindex,
}

/// Why the thread cannot go on. It begins anew after a pause.
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
    /// The list of mounts cannot be kept.
    #[error("which folders of the source are mounts cannot be kept: {0}")]
    Mounts(std::io::Error),
}

/// How following a folder ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The actor has ended.
    End,
    /// Everything is to be opened anew.
    Again,
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
    /// What of the source is not indexed.
    pub(crate) skips: Mutex<Skips>,
    /// When the index was first in step with the folder in this attempt.
    pub(crate) ready: Mutex<Option<Instant>>,
}

impl Keeping {
    /// Keeps the index until the actor ends. A failure is followed by a pause and another attempt, for ever.
    pub(crate) fn keep(&self) {
        let mut pauses = Pauses::default();
        loop {
            *self.ready.lock() = None;
            let end = catch_unwind(AssertUnwindSafe(|| self.run()));
            let reason = match end {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "indexing panicked; the log has the place".to_owned(),
            };
            if self.ends() {
                return;
            }
            // It went well for long: this is another fault than the one before.
            let was_ready = *self.ready.lock();
            if was_ready.is_some_and(|since| since.elapsed() > LONGEST) {
                pauses = Pauses::default();
            }
            let pause = pauses.next();
            let (source, again_s) = (self.slot.haystack.name.as_str(), pause.as_secs());
            tracing::error!(event = "keeper.failed", source, %reason, again_s);
            self.slot.down(&reason, pause);
            if !self.rest(pause) {
                return;
            }
        }
    }

    /// Waits; a command to reindex ends it. `false` when the actor has ended.
    fn rest(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while !self.ends() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            match self.inbox.recv_timeout(left.min(IDLE)) {
                Ok(Command::Reindex) => return true,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
        false
    }

    /// Runs until the actor ends.
    fn run(&self) -> Result<(), KeepingError> {
        while self.run_once()? == Next::Again {}
        Ok(())
    }

    fn run_once(&self) -> Result<Next, KeepingError> {
        let mut index = self.open()?;
        let Some(root) = self.wait_for_folder() else {
            return Ok(Next::End);
        };
        let root = Arc::new(root);
        self.slot
            .publish(|published| published.root = Some(Arc::clone(&root)));
        let mut mounts = Mounts::open(self.mounts_file()).map_err(KeepingError::Mounts)?;
        // Ends, and is waited for, when this thread ends.
        let _concepts =
            ConceptThread::start(&self.slot, &self.settings.concepts, self.woken.clone())
                .map_err(KeepingError::Thread)?;
        let files = self.files();
        let watch = FolderWatch::start(&root, WatchOptions::new(files.filter))?;
        self.compare(&mut index, &root, &mut mounts)?;
        tracing::info!(
            event = "source.ready", source = self.slot.haystack.name,
            documents = index.snapshot().document_count(), watch = %watch.mode(),
        );
        self.follow(&mut index, &root, &watch, &mut mounts)
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

    fn mounts_file(&self) -> PathBuf {
        self.settings.data.join(format!("{}.mounts", self.slot.id))
    }

    /// Opens the index and makes it searchable as it was left; then sees that its files are what was written. That takes
    /// the time of reading them once, and searches go on meanwhile, unless one of them has met damage.
    fn open(&self) -> Result<SourceIndex, KeepingError> {
        let (index, opened) = SourceIndex::open(&self.folder(), IndexOptions::default())?;
        let is_doubted = self.slot.take_doubt();
        let damage = self.tell_opened(&opened);
        let publish = |index: &SourceIndex, damage: Option<String>| {
            self.slot.publish(|published| {
                published.snapshot = Some(index.snapshot());
                published.state = SourceState::Indexing;
                // Until it is ready again it shows why it was not.
                published.error = damage.or(published.error.take().filter(|_| published.is_down));
            });
        };
        if !is_doubted {
            publish(&index, damage.clone());
        }
        let damaged = index.damage(|| !self.ends())?;
        let Some(first) = damaged.first() else {
            if is_doubted {
                publish(&index, damage);
            }
            return Ok(index);
        };
        let documents: u64 = damaged.iter().map(|one| one.documents).sum();
        let (source, file) = (self.slot.haystack.name.as_str(), first.file.as_str());
        tracing::warn!(event = "index.damaged", source, file, reason = %first, documents);
        let told = format!("{first}: {documents} documents are being indexed again");
        // Nobody searches the damaged part while it is taken out.
        self.slot.publish(|published| published.snapshot = None);
        let (index, opened) = index.without(&damaged)?;
        self.tell_opened(&opened);
        publish(&index, Some(told));
        Ok(index)
    }

    /// Says how the index was opened, where documents have to be indexed again.
    fn tell_opened(&self, opened: &Opened) -> Option<String> {
        let source = self.slot.haystack.name.as_str();
        match opened {
            Opened::Created | Opened::Existing => None,
            Opened::Rebuilt { reason } => {
                tracing::warn!(event = "index.rebuilt", source, reason);
                Some(format!(
                    "its index could not be used ({reason}): all of it is being indexed again"
                ))
            }
            Opened::Repaired { reason } => {
                tracing::warn!(event = "index.damaged", source, reason);
                Some(format!("{reason}: documents are being indexed again"))
            }
        }
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
    fn compare(
        &self,
        index: &mut SourceIndex,
        root: &RootFolder,
        mounts: &mut Mounts,
    ) -> Result<(), KeepingError> {
        let _one_at_a_time = self.settings.bulk.lock();
        self.slot.publish(|published| {
            published.state = SourceState::Indexing;
            published.progress = IndexProgress::default();
        });
        let options = self.walk_options();
        let walked = sync::walk_all(root, &options);
        let now_mounted = walked.mounts.clone();
        let former = mounts.wanted(&options.filter);
        let plan = Plan::compare_mounted(known_files(&index.snapshot())?, walked, &former);
        // Known before anything is taken from them: they may be away at the next look.
        let known_mounts = now_mounted.into_iter().chain(plan.unmounted.clone());
        mounts
            .keep(known_mounts.collect())
            .map_err(KeepingError::Mounts)?;
        let report = self.carry_out(index, root, plan, &options)?;
        index.commit(Durability::Synced)?;
        self.tidy_texts(index)?;
        let skips = Skips::of(report.left_out);
        let counts = skips.counts();
        *self.skips.lock() = skips;
        self.publish_ready(index, mounts.missing(root), |published| {
            published.skipped = counts;
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

    /// The index is in step with the folder; `missing` says what of the folder is away.
    fn publish_ready(
        &self,
        index: &SourceIndex,
        missing: Option<String>,
        more: impl FnOnce(&mut Published),
    ) {
        self.ready.lock().get_or_insert_with(Instant::now);
        let mut was_down = false;
        self.slot.publish(|published| {
            published.snapshot = Some(index.snapshot());
            published.state = SourceState::Ready;
            published.error = missing;
            was_down = std::mem::take(&mut published.is_down);
            published.updated_at = Some(SystemTime::now());
            more(published);
        });
        if was_down {
            tracing::info!(event = "keeper.recovered", source = self.slot.haystack.name);
        }
        // A full channel has woken it already.
        let _ = self.wake.try_send(());
    }
}

//! Following a folder once its index is in step with it.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, select};
use search_engine::index::{Durability, SourceIndex};
use search_engine::sync::Plan;
use search_engine::walk::RootFolder;
use search_engine::watch::{ChangeBatch, FolderWatch};

use super::{Command, IDLE, Keeping, KeepingError, Next};
use crate::merging::Merger;
use crate::mounts::Mounts;
use crate::sink::known_file;
use crate::slot::Published;

/// Changes that were committed fast are made durable after this time without changes.
const SETTLE: Duration = Duration::from_secs(2);

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
    /// Follows the changes until the actor ends, or until everything is to be opened anew: a folder that was away is
    /// back, or a search has met damage.
    pub(super) fn follow(
        &self,
        index: &mut SourceIndex,
        root: &RootFolder,
        watch: &FolderWatch,
        mounts: &mut Mounts,
    ) -> Result<Next, KeepingError> {
        let mut unsynced: Option<Instant> = None;
        let mut told = mounts.missing(root);
        let mut merger = Merger::new();
        loop {
            let event = self.next_event(watch, unsynced, &merger.ended());
            if self.slot.is_doubted() {
                return Ok(Next::Again);
            }
            self.tell_busy(watch);
            let missing = mounts.missing(root);
            if told.is_some() && missing.is_none() && !matches!(event, Event::End) {
                index.sync()?;
                return Ok(Next::Again);
            }
            if missing != told {
                self.tell_missing(missing.as_deref());
                told.clone_from(&missing);
            }
            match event {
                Event::End => {
                    index.sync()?;
                    return Ok(Next::End);
                }
                // Single changes cannot be told from what went away with its file system.
                Event::Changes(_) if missing.is_some() => {
                    self.compare(index, root, mounts)?;
                    merger.changed();
                    unsynced = None;
                }
                Event::Compare => {
                    self.compare(index, root, mounts)?;
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

    /// The folder, or a file system below it, has vanished; what it held last stays searchable, and its files may come
    /// back.
    fn tell_missing(&self, missing: Option<&str>) {
        if let Some(reason) = missing {
            let source = self.slot.haystack.name.as_str();
            tracing::warn!(event = "source.vanished", source, reason);
        }
        self.slot
            .publish(|published| published.error = missing.map(str::to_owned));
    }

    /// Shows how many files never stop changing.
    fn tell_busy(&self, watch: &FolderWatch) {
        let busy = watch.busy() as u64;
        if self.slot.with(|published| published.busy_files != busy) {
            self.slot
                .publish_progress(|published| published.busy_files = busy);
        }
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
        // What was a file was no folder.
        let below = |folder: &str| match snapshot.document(folder) {
            Ok(Some(_)) => Vec::new(),
            _ => snapshot.keys_below(folder).unwrap_or_default(),
        };
        let plan = Plan::of_changes(batch, known, below);
        if plan.is_empty() {
            self.follow_skips(batch, Vec::new());
            return Ok(());
        }
        let report = self.carry_out(index, root, plan, &self.walk_options())?;
        let has_changed = report.put + report.touched + report.removed > 0;
        self.follow_skips(batch, report.left_out);
        if !has_changed {
            return Ok(());
        }
        index.commit(Durability::Fast)?;
        self.publish_ready(index, None, |_| {});
        tracing::debug!(
            event = "source.changed",
            source = self.slot.haystack.name,
            put = report.put,
            removed = report.removed,
            after_ms = batch.noticed.map(|at| at.elapsed().as_millis() as u64),
        );
        Ok(())
    }

    /// Counts what of a batch is left out now.
    fn follow_skips(&self, batch: &ChangeBatch, left_out: Vec<search_engine::walk::SkippedPath>) {
        let mut skips = self.skips.lock();
        if skips.follow(batch, left_out) {
            let counts = skips.counts();
            self.slot
                .publish_progress(|published| published.skipped = counts);
        }
    }
}

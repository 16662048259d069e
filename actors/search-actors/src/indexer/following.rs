//! Following a folder once its index is in step with it.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError, select};
use search_engine::index::{Durability, SourceIndex};
use search_engine::sync::SyncPlan;
use search_engine::walk::RootDirectory;
use search_engine::watch::{ChangeBatch, DirectoryWatch};

use super::document_sink::known_file;
use super::index_loop::{CANCEL_POLL_INTERVAL, IndexCommand, IndexLoop, IndexLoopError, LoopExit};
use super::merger::Merger;
use super::mounts::Mounts;
use super::poll_pace::{PollPace, PollTrigger};
use crate::source_handle::SourceStatus;

/// Changes that were committed fast are made durable after this time without changes.
const SYNC_DELAY: Duration = Duration::from_secs(2);

/// What has happened that the index has to follow.
enum Event {
    Changes(ChangeBatch),
    Compare(PollTrigger),
    /// A merge of the index has ended.
    Merged(Result<(), String>),
    Quiet,
    End,
}

impl Event {
    /// Where something of the folder is missing single changes cannot be told from what went away
    /// with its file system.
    fn with_missing(self, is_missing: bool) -> Self {
        match self {
            Self::Changes(batch) if is_missing && batch.names_paths() => {
                Self::Compare(PollTrigger::Asked)
            }
            event => event,
        }
    }
}

impl IndexLoop {
    /// Follows the changes until the actor ends, or until everything is to be opened anew: a folder
    /// that was away is back, or a search has met damage.
    pub(super) fn follow(
        &self,
        index: &mut SourceIndex,
        (root, watch): (&RootDirectory, &DirectoryWatch),
        mounts: &mut Mounts,
        mut pace: PollPace,
    ) -> Result<LoopExit, IndexLoopError> {
        let mut unsynced: Option<Instant> = None;
        let mut told = mounts.missing(root);
        let mut merger = Merger::new();
        loop {
            let polls_in = pace.wait(Instant::now());
            let event = self.next_event(watch, (unsynced, polls_in), &merger.result());
            if self.handle.is_suspect() {
                return Ok(LoopExit::Reopen);
            }
            self.report_busy_files(watch);
            for limit in self.settings.concepts.limits.watch_states(watch.mode()) {
                self.handle.set_limit(limit);
            }
            let missing = mounts.missing(root);
            if told.is_some() && missing.is_none() && !matches!(event, Event::End) {
                index.sync()?;
                return Ok(LoopExit::Reopen);
            }
            if missing != told {
                self.report_missing(missing.as_deref());
                told.clone_from(&missing);
            }
            match event.with_missing(missing.is_some()) {
                Event::End => {
                    index.sync()?;
                    return Ok(LoopExit::Stopped);
                }
                Event::Compare(trigger) => {
                    let compared = self.compare(index, root, mounts, trigger)?;
                    pace = PollPace::record_end(compared.took, Instant::now());
                    if compared.has_written {
                        merger.changed();
                        unsynced = None;
                    }
                }
                Event::Changes(batch) => {
                    if batch.rescan.is_some() {
                        pace.request();
                    }
                    if !batch.names_paths() {
                        continue;
                    }
                    self.apply_changes(index, root, &batch)?;
                    merger.changed();
                    unsynced = Some(Instant::now());
                }
                Event::Merged(merged) => {
                    if let Some(snapshot) = merger.take(index, merged)? {
                        let publish = |status: &mut SourceStatus| status.snapshot = Some(snapshot);
                        self.handle.publish(publish);
                    }
                }
                Event::Quiet => {
                    if unsynced.is_some_and(|since| since.elapsed() >= SYNC_DELAY) {
                        index.sync()?;
                        unsynced = None;
                    }
                    merger.start_if_due(index)?;
                }
            }
        }
    }

    /// The folder, or a file system below it, has vanished; what it held last stays searchable, and
    /// its files may come back.
    fn report_missing(&self, missing: Option<&str>) {
        if let Some(reason) = missing {
            let source = self.handle.haystack.name.as_str();
            tracing::warn!(event = "source.vanished", source, reason);
        }
        self.handle
            .publish(|status| status.error = missing.map(str::to_owned));
    }

    /// Shows how many files never stop changing.
    fn report_busy_files(&self, watch: &DirectoryWatch) {
        let busy = watch.busy() as u64;
        if self.handle.read_status(|status| status.busy_files != busy) {
            self.handle
                .publish_progress(|status| status.busy_files = busy);
        }
    }

    fn next_event(
        &self,
        watch: &DirectoryWatch,
        (unsynced, polls_in): (Option<Instant>, Option<Duration>),
        merged: &Receiver<Result<(), String>>,
    ) -> Event {
        if self.is_cancelled() {
            return Event::End;
        }
        if polls_in.is_some_and(|wait| wait.is_zero()) {
            return Event::Compare(PollTrigger::Polling);
        }
        let wait = if unsynced.is_some() {
            CANCEL_POLL_INTERVAL
        } else {
            SYNC_DELAY
        };
        select! {
            recv(self.inbox) -> command => match command {
                Ok(IndexCommand::Reindex) => Event::Compare(PollTrigger::Asked),
                Err(_) => Event::End,
            },
            recv(watch.changes()) -> batch => match batch {
                Ok(batch) if batch.must_compare() => Event::Compare(PollTrigger::Asked),
                Ok(batch) => Event::Changes(batch),
                Err(_) => Event::Compare(PollTrigger::Asked),
            },
            recv(merged) -> merged => {
                Event::Merged(merged.unwrap_or_else(|_| Err("its thread has ended".to_owned())))
            }
            default(polls_in.map_or(wait, |polls_in| polls_in.min(wait))) => match self.inbox.try_recv() {
                Err(TryRecvError::Disconnected) => Event::End,
                Ok(IndexCommand::Reindex) => Event::Compare(PollTrigger::Asked),
                Err(TryRecvError::Empty) => Event::Quiet,
            },
        }
    }

    /// Brings the files of a batch into the index and makes them searchable at once.
    fn apply_changes(
        &self,
        index: &mut SourceIndex,
        root: &RootDirectory,
        batch: &ChangeBatch,
    ) -> Result<(), IndexLoopError> {
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
        let mut plan = SyncPlan::from_changes(batch, known, below);
        plan.retain(|key| self.is_ours(key));
        if plan.is_empty() {
            self.follow_skips(batch, Vec::new());
            return Ok(());
        }
        let options = self.walk_options();
        let (report, written) = self.apply_plan(index, root, plan, (&options, false))?;
        let has_changed = report.put + report.touched + report.removed > 0;
        self.follow_skips(batch, report.left_out);
        if !has_changed {
            return Ok(());
        }
        index.commit(Durability::Fast)?;
        self.publish_ready(index, None, written.changed, |_| {});
        tracing::debug!(
            event = "source.changed",
            source = self.handle.haystack.name,
            put = report.put,
            removed = report.removed,
            after_ms = batch.noticed.map(|at| at.elapsed().as_millis() as u64),
        );
        Ok(())
    }

    /// Counts what of a batch is left out now.
    pub(super) fn follow_skips(
        &self,
        batch: &ChangeBatch,
        left_out: Vec<search_engine::walk::SkippedPath>,
    ) {
        let counts = self.handle.follow_skips(batch, left_out);
        if let Some(counts) = counts {
            self.handle
                .publish_progress(|status| status.skipped = counts);
        }
    }
}

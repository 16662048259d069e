//! When a source has become quiet its index is merged into one segment, in the background.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, bounded, never};
use search_engine::index::{IndexError, IndexSnapshot, SourceIndex};

/// A source is quiet after this time without changes.
const MERGE_DELAY: Duration = Duration::from_secs(5);
/// A merge that has failed, because another one was first or the disk is full, is tried again after
/// this time, then after twice as long each time.
const RETRY_DELAY: Duration = Duration::from_secs(10);
/// Doublings at most: about three quarters of an hour.
const DOUBLINGS: u32 = 8;

/// The merge of one source's index.
pub(crate) struct Merger {
    /// When to look next whether a merge is worth it; `None` until something changes.
    due: Option<Instant>,
    running: Option<MergeInProgress>,
    /// Merges that have failed since the last one that did not.
    failures: u32,
}

struct MergeInProgress {
    since: Instant,
    ended: Receiver<Result<(), String>>,
}

impl Merger {
    /// Looks once the source has been quiet: an index may have been left unmerged.
    pub(crate) fn new() -> Self {
        Self {
            due: Some(Instant::now() + MERGE_DELAY),
            running: None,
            failures: 0,
        }
    }

    /// Notes that the index has changed.
    pub(crate) fn changed(&mut self) {
        self.due = Some(Instant::now() + MERGE_DELAY);
    }

    /// Gives the result of the merge that is going on.
    pub(crate) fn result(&self) -> Receiver<Result<(), String>> {
        let running = self.running.as_ref();
        running.map_or_else(never, |running| running.ended.clone())
    }

    /// Begins a merge if it is time for one and worth it.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn start_if_due(&mut self, index: &mut SourceIndex) -> Result<(), IndexError> {
        if self.running.is_some() || self.due.is_none_or(|due| Instant::now() < due) {
            return Ok(());
        }
        self.due = None;
        let Some(merging) = index.start_merge()? else {
            return Ok(());
        };
        let (sender, ended) = bounded(1);
        let waiting = std::thread::Builder::new().name("index-merge".to_owned());
        let waiting = waiting.spawn(move || {
            // The source may have ended meanwhile.
            let _ = sender.send(merging.wait());
        });
        match waiting {
            Ok(_) => {
                let since = Instant::now();
                self.running = Some(MergeInProgress { since, ended });
            }
            // Nobody would wait for it; it goes on, and the next commit takes it over.
            Err(error) => self.failed(&error.to_string()),
        }
        Ok(())
    }

    /// Takes over what was merged; `None` where the merge has failed and the index is as it was.
    ///
    /// # Errors
    /// The index cannot be read.
    pub(crate) fn take(
        &mut self,
        index: &mut SourceIndex,
        merged: Result<(), String>,
    ) -> Result<Option<IndexSnapshot>, IndexError> {
        let since = self.running.take().map(|running| running.since);
        if let Err(error) = merged {
            self.failed(&error);
            return Ok(None);
        }
        self.failures = 0;
        let snapshot = index.take_merged()?;
        index.sync()?;
        let took_ms = since.map_or(0, |since| since.elapsed().as_millis() as u64);
        tracing::debug!(event = "index.merged", took_ms);
        Ok(Some(snapshot))
    }

    fn failed(&mut self, error: &str) {
        tracing::debug!(event = "index.unmerged", error);
        self.due = Some(Instant::now() + RETRY_DELAY * (1 << self.failures.min(DOUBLINGS)));
        self.failures += 1;
    }
}

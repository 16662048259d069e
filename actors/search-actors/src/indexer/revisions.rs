//! Keeping the index of a branch, tag or commit of a repository: compared once with its tree, then
//! followed as it moves, by what differs between two commits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::select;
use git_engine::{Git, GitError, RefStamp};
use search_core::role::LocalFiles;
use search_engine::files::SourceFiles;
use search_engine::index::{Durability, SourceIndex};
use search_engine::revision::{Revision, RevisionError, RevisionFiles};
use search_engine::sync::{Comparison, SyncPlan};
use search_engine::walk::SkippedPath;
use search_engine::watch::ChangeBatch;

use super::document_sink::KnownInIndex;
use super::index_loop::{CANCEL_POLL_INTERVAL, IndexCommand, IndexLoop, IndexLoopError, LoopExit};
use super::merger::Merger;
use crate::source_handle::SourceStatus;

/// What the name means is asked for after this time even if no file of git's has changed.
const RESOLVE_INTERVAL: Duration = Duration::from_secs(30);
/// Changes that were committed fast are made durable after this time without changes.
const SYNC_DELAY: Duration = Duration::from_secs(2);
/// Where git and its own helpers are looked for.
const GIT_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/run/current-system/sw/bin";

/// The git that repositories of sources are read with.
#[must_use]
pub fn source_git() -> Git {
    Git::new("git", GIT_PATH)
}

/// What is followed, and how far.
struct FollowedRevision {
    revision: Revision,
    /// The commit that the index is in step with.
    at: Arc<RevisionFiles>,
    /// The files of git's names before `at` was asked for.
    stamp: RefStamp,
    asked: Instant,
}

impl IndexLoop {
    /// Keeps the index like the repository until the actor ends, or until everything is to be
    /// opened anew.
    pub(super) fn run_revision(
        &self,
        index: &mut SourceIndex,
        files: &LocalFiles,
        name: &str,
    ) -> Result<LoopExit, IndexLoopError> {
        let Some(followed) = self.wait_for(|| first_look(files, name)) else {
            return Ok(LoopExit::Stopped);
        };
        let _concepts = self.start_concepts(followed.at.as_ref())?;
        self.compare_revision(index, &followed.at)?;
        tracing::info!(
            event = "source.ready",
            source = self.handle.haystack.name,
            documents = index.snapshot().document_count(),
            commit = followed.at.commit(),
        );
        self.follow_revision(index, followed)
    }

    /// Brings the whole index in step with a commit: only files that differ are read.
    fn compare_revision(
        &self,
        index: &mut SourceIndex,
        at: &Arc<RevisionFiles>,
    ) -> Result<(), IndexLoopError> {
        let _one_at_a_time = self.settings.bulk.lock();
        self.handle.start_indexing();
        let options = self.walk_options();
        let plan = {
            let snapshot = index.snapshot();
            let mut known = KnownInIndex::new(&snapshot);
            let mut comparison = Comparison::new(&mut known, &std::collections::BTreeSet::new())?;
            for item in at.walk(&options)? {
                let item = item?;
                if self.is_walked(&item) {
                    comparison.compare_item(item)?;
                }
            }
            comparison.finish(&std::collections::BTreeSet::new())?
        };
        self.show_files(at);
        let carried_out = self.apply_plan(index, at.as_ref(), plan, (&options, false))?;
        self.finish_comparison(index, carried_out, None)
    }

    /// Searches read these files from now on.
    fn show_files(&self, at: &Arc<RevisionFiles>) {
        let files: Arc<dyn SourceFiles> = Arc::<RevisionFiles>::clone(at);
        self.handle.publish(|status| status.root = Some(files));
    }

    fn follow_revision(
        &self,
        index: &mut SourceIndex,
        mut followed: FollowedRevision,
    ) -> Result<LoopExit, IndexLoopError> {
        let mut unsynced: Option<Instant> = None;
        let mut merger = Merger::new();
        loop {
            let mut compares = false;
            let (inbox, merged) = (&self.inbox, merger.result());
            select! {
                recv(inbox) -> command => match command {
                    Ok(IndexCommand::Reindex) => compares = true,
                    Err(_) => break,
                },
                recv(merged) -> merged => {
                    let merged = merged.unwrap_or_else(|_| Err("its thread has ended".to_owned()));
                    if let Some(snapshot) = merger.take(index, merged)? {
                        let publish = |status: &mut SourceStatus| status.snapshot = Some(snapshot);
                        self.handle.publish(publish);
                    }
                }
                default(CANCEL_POLL_INTERVAL) => {}
            }
            if self.is_cancelled() {
                break;
            }
            if self.handle.is_suspect() {
                return Ok(LoopExit::Reopen);
            }
            if self.poll_revision(index, &mut followed, compares)? {
                unsynced = Some(Instant::now());
                merger.changed();
            } else if unsynced.is_some_and(|since| since.elapsed() >= SYNC_DELAY) {
                index.sync()?;
                unsynced = None;
            }
            merger.start_if_due(index)?;
            followed.revision.end_idle_processes();
        }
        index.sync()?;
        Ok(LoopExit::Stopped)
    }

    /// Asks what the name means, if it may mean another commit, and follows it; says whether the
    /// index has changed.
    fn poll_revision(
        &self,
        index: &mut SourceIndex,
        followed: &mut FollowedRevision,
        compares: bool,
    ) -> Result<bool, IndexLoopError> {
        let stamp = followed.revision.stamp();
        let is_due = followed.asked.elapsed() >= RESOLVE_INTERVAL;
        if !compares && !is_due && stamp == followed.stamp {
            return Ok(false);
        }
        (followed.stamp, followed.asked) = (stamp, Instant::now());
        let now = match followed.revision.files() {
            Ok(now) => Arc::new(now),
            Err(error) => {
                self.report_lost(Some(&error));
                return Ok(false);
            }
        };
        self.report_lost(None);
        if !compares && now.is_same(&followed.at) {
            return Ok(false);
        }
        let changes = (!compares).then(|| {
            let options = self.walk_options();
            followed.revision.changes(&followed.at, &now, &options)
        });
        match changes {
            Some(Ok((batch, left_out))) if batch.rescan.is_none() => {
                self.apply_commit(index, &now, &batch, left_out)?;
            }
            // The former commit may be gone, or too much differs.
            _ => self.compare_revision(index, &now)?,
        }
        tracing::info!(
            event = "source.moved",
            source = self.handle.haystack.name,
            from = followed.at.commit(),
            to = now.commit(),
            documents = index.snapshot().document_count(),
        );
        followed.at = now;
        Ok(true)
    }

    /// Brings what differs between two commits into the index.
    fn apply_commit(
        &self,
        index: &mut SourceIndex,
        now: &Arc<RevisionFiles>,
        batch: &ChangeBatch,
        mut left_out: Vec<SkippedPath>,
    ) -> Result<(), IndexLoopError> {
        let plan = {
            let snapshot = index.snapshot();
            // Each path of a difference is named, so nothing stands for a folder.
            let mut plan =
                SyncPlan::from_changes(batch, |key| known_file_at(&snapshot, key), |_| Vec::new());
            plan.retain(|key| self.is_ours(key));
            plan
        };
        self.show_files(now);
        if plan.is_empty() {
            self.follow_skips(batch, left_out);
            return Ok(());
        }
        let options = self.walk_options();
        let (report, written) = self.apply_plan(index, now.as_ref(), plan, (&options, false))?;
        left_out.extend(report.left_out);
        self.follow_skips(batch, left_out);
        index.commit(Durability::Fast)?;
        self.publish_ready(index, None, written.changed, |_| {});
        Ok(())
    }

    /// The name, or the repository, is not there any more, or is again; what was indexed last stays
    /// searchable.
    fn report_lost(&self, error: Option<&RevisionError>) {
        let reason =
            error.map(|error| format!("{error}; what it held last is searched until it is back"));
        if self.handle.read_status(|status| status.error == reason) {
            return;
        }
        if let Some(reason) = &reason {
            let source = self.handle.haystack.name.as_str();
            tracing::warn!(event = "source.vanished", source, reason);
        }
        self.handle.publish(|status| status.error = reason);
    }
}

fn first_look(files: &LocalFiles, name: &str) -> Result<FollowedRevision, RevisionError> {
    let revision = Revision::open(&source_git(), &files.folder, name)?;
    let revision = revision.with_max_file_bytes(files.max_file_size.bytes());
    let stamp = revision.stamp();
    let at = Arc::new(revision.files()?);
    Ok(FollowedRevision {
        revision,
        at,
        stamp,
        asked: Instant::now(),
    })
}

fn known_file_at(
    snapshot: &search_engine::index::IndexSnapshot,
    key: &str,
) -> Option<search_engine::sync::KnownFile> {
    let record = snapshot.document(key).ok().flatten();
    record.map(|record| super::document_sink::known_file(&record.file))
}

impl From<GitError> for IndexLoopError {
    fn from(error: GitError) -> Self {
        Self::Git(error)
    }
}

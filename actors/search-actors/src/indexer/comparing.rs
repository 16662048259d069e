//! Comparing a whole source with its index, and bringing the index in step.

use std::time::Instant;

use search_core::answer::SourceState;
use search_engine::index::{Durability, SourceIndex};
use search_engine::sync::{Comparison, SyncPlan, SyncReport};
use search_engine::walk::{RootDirectory, WalkOptions};

use super::document_sink::{KnownInIndex, WriteSummary};
use super::index_loop::{IndexLoop, IndexLoopError};
use super::mounts::Mounts;
use super::poll_pace::{ComparisonResult, PollTrigger};
use crate::skips::SkippedFiles;

impl IndexLoop {
    /// Brings the whole index in step with the folder.
    pub(super) fn compare(
        &self,
        index: &mut SourceIndex,
        root: &RootDirectory,
        mounts: &mut Mounts,
        trigger: PollTrigger,
    ) -> Result<ComparisonResult, IndexLoopError> {
        let is_asked = trigger == PollTrigger::Asked;
        let mut one_at_a_time = is_asked.then(|| self.settings.bulk.lock());
        if is_asked {
            self.handle.start_indexing();
        }
        let began = Instant::now();
        let options = self.walk_options();
        let plan = self.plan(index, root, mounts, &options)?;
        let took = began.elapsed();
        if one_at_a_time.is_none() && !plan.is_empty() {
            one_at_a_time = self.settings.bulk.try_lock();
            // Changes that are told of do not wait for another source. It is polled again.
            if one_at_a_time.is_none() {
                return Ok(ComparisonResult::without_writes(took));
            }
        }
        let (report, written) = self.apply_plan(index, root, plan, (&options, !is_asked))?;
        let is_shown = self
            .handle
            .read_status(|status| status.state == SourceState::Ready);
        if is_shown && !written.any {
            self.record_skips(SkippedFiles::from_paths(report.left_out));
            return Ok(ComparisonResult::without_writes(took));
        }
        self.finish_comparison(index, (report, written), mounts.missing(root))?;
        drop(one_at_a_time);
        Ok(ComparisonResult {
            took,
            has_written: true,
        })
    }

    /// What differs between the folder and the index.
    fn plan(
        &self,
        index: &SourceIndex,
        root: &RootDirectory,
        mounts: &mut Mounts,
        options: &WalkOptions,
    ) -> Result<SyncPlan, IndexLoopError> {
        let snapshot = index.snapshot();
        let mut known = KnownInIndex::new(&snapshot);
        let former = mounts.matching(&options.filter);
        let mut comparison = Comparison::new(&mut known, &former)?;
        let mut walk = root.walk(options);
        for item in walk.by_ref().filter(|item| self.is_walked(item)) {
            comparison.compare_item(item)?;
        }
        let now_mounted = walk.mounts();
        let plan = comparison.finish(&now_mounted)?;
        // Known before anything is taken from them: they may be away at the next look.
        let known_mounts = now_mounted.into_iter().chain(plan.unmounted.clone());
        mounts
            .save(known_mounts.collect())
            .map_err(IndexLoopError::Mounts)?;
        Ok(plan)
    }

    /// A comparison was carried out; `missing` says what of the source is away.
    pub(super) fn finish_comparison(
        &self,
        index: &mut SourceIndex,
        (report, written): (SyncReport, WriteSummary),
        missing: Option<String>,
    ) -> Result<(), IndexLoopError> {
        let snapshot = index.commit(Durability::Synced)?;
        if report.cancelled {
            // What is not in the index yet is not gone, and the source is not ready.
            self.handle.publish_changed(written.changed, |status| {
                status.snapshot = Some(snapshot);
            });
            return Ok(());
        }
        self.record_in_step();
        self.tidy_texts(index)?;
        let skips = SkippedFiles::from_paths(report.left_out);
        let counts = skips.counts();
        self.handle.set_skips(skips);
        self.publish_ready(index, missing, written.changed, |status| {
            status.skipped = counts;
        });
        Ok(())
    }

    /// Notes what of the source is left out.
    fn record_skips(&self, skips: SkippedFiles) {
        let counts = skips.counts();
        self.handle.set_skips(skips);
        if self.handle.read_status(|status| status.skipped != counts) {
            self.handle
                .publish_progress(|status| status.skipped = counts);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use config_core::Environment;
    use crossbeam_channel::bounded;
    use parking_lot::Mutex;
    use search_core::answer::SourceState;
    use search_engine::index::{IndexOptions, SourceIndex};
    use search_engine::walk::RootDirectory;
    use supervision::ChildSpec;

    use super::{IndexLoop, Mounts, PollTrigger};
    use crate::embedding::EmbeddingService;
    use crate::indexer::{IndexerSettings, in_step_mark};
    use crate::{LearningRests, RoleSet, SearchLimits};

    /// The loop of a source that lies below `home`.
    fn index_loop(home: &Path) -> IndexLoop {
        let location = home.join("files");
        let role = serde_json::json!({"name": "R", "relevance_function": "BM25", "theme": "spacelab",
            "haystacks": [{"name": "H", "service": "LocalFiles", "location": location}]});
        let role = role.to_string();
        let roles = search_core::role::parse("role.json", &role, &Environment::default());
        let roles = RoleSet::new(&roles.expect("a valid role"));
        let embedding = ChildSpec::new("embedding", |_| EmbeddingService::default());
        let (rests, limits) = (LearningRests::default(), SearchLimits::default());
        let data = home.join("index");
        let settings = IndexerSettings::new(data, rests, limits, embedding.reference());
        let (wake, woken) = bounded(1);
        IndexLoop {
            handle: Arc::clone(&roles.handles()[0]),
            settings: Arc::new(settings),
            inbox: bounded(1).1,
            cancel: Arc::default(),
            lost: Arc::default(),
            wake,
            woken,
            ready: Mutex::default(),
        }
    }

    #[test]
    fn i16_a_comparison_that_is_ended_early_does_not_say_that_all_is_indexed() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join("files")).expect("a folder");
        std::fs::create_dir(home.path().join("index")).expect("a folder");
        std::fs::write(home.path().join("files/a.txt"), "needle\n").expect("a file");
        let index_loop = index_loop(home.path());
        let mark = in_step_mark(&index_loop.settings.data, &index_loop.handle.id);
        let opened = SourceIndex::open(&index_loop.folder(), IndexOptions::default());
        let (mut index, _) = opened.expect("the index opens");
        let root = RootDirectory::open(&home.path().join("files")).expect("it is there");
        let mut mounts = Mounts::open(index_loop.mounts_file()).expect("a list");
        for (is_ended, documents) in [(true, 0), (false, 1)] {
            index_loop.cancel.store(is_ended, Ordering::Relaxed);
            let compared = index_loop.compare(&mut index, &root, &mut mounts, PollTrigger::Asked);
            compared.expect("it is compared");
            assert_eq!(index.snapshot().document_count(), documents);
            assert_eq!(mark.exists(), !is_ended);
            let state = index_loop.handle.read().state;
            assert_eq!(state == SourceState::Ready, !is_ended, "{state:?}");
        }
    }
}

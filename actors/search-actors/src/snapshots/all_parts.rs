//! Learning of a source that is split: the indexer of its first part follows what all parts
//! publish, as a searcher does, and learns of that. So the vectors are those of one index.
//!
//! ```text
//! indexers of all parts ──publish──▶ storage ──▶ SnapshotFollower ──wakes──▶ concepts thread
//!                                       ▲                                        │ learns
//!                                       └── publisher of part 1 ◀── its folder ◀─┘
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, bounded};
use search_engine::files::SourceFiles;
use search_engine::texts::TextStore;

use super::adopt::SourceFolders;
use super::follower::{PartLearner, SnapshotFollower};
use super::place::SnapshotPlace;
use crate::concepts::{ConceptDuty, ConceptSettings, ConceptThread};
use crate::source_handle::SourceHandle;

/// The threads that follow and learn. Dropped, they end, and are waited for.
pub(crate) struct AllPartsLearner {
    cancel: Arc<AtomicBool>,
    follower: Option<JoinHandle<()>>,
    /// Ends with the follower's inbox.
    _commands: Sender<()>,
    _concepts: ConceptThread,
}

impl AllPartsLearner {
    /// Starts them. `files` is the source as it lies here.
    pub(crate) fn start(
        part: &Arc<SourceHandle>,
        settings: &Arc<ConceptSettings>,
        (place, folders): (&SnapshotPlace, &SourceFolders),
        files: &dyn SourceFiles,
    ) -> std::io::Result<Self> {
        let folder = folders.published.join("all-parts");
        let texts = TextStore::new(folder.join("texts"));
        let all = Arc::new(SourceHandle::for_all_parts(part, texts));
        let (wake, woken) = bounded(1);
        let (commands, inbox) = bounded::<()>(1);
        let cancel: Arc<AtomicBool> = Arc::default();
        let learner = PartLearner {
            top_names: files.top_names(),
            wake,
            part: Arc::clone(part),
        };
        let concepts = ConceptThread::start(&all, settings, woken, ConceptDuty::Learning)?;
        let following = (Arc::clone(&all), Arc::clone(settings));
        let follower = SnapshotFollower::new(following, folder, place, inbox, Arc::clone(&cancel))
            .for_learner(learner);
        let thread = std::thread::Builder::new()
            .name(format!("all-parts-{}", part.id))
            .spawn(move || follower.run())?;
        Ok(Self {
            cancel,
            follower: Some(thread),
            _commands: commands,
            _concepts: concepts,
        })
    }
}

impl Drop for AllPartsLearner {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        // How it ended was reported by the thread itself.
        let _ = self.follower.take().map(JoinHandle::join);
    }
}

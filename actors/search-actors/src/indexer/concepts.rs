//! Who learns of a source: its one indexer, or the one of its first part for all of them. Each
//! part is embedded by its own indexer, as that takes longest.

use std::sync::Arc;

use crossbeam_channel::Receiver;
use search_engine::files::SourceFiles;

use super::settings::IndexerSettings;
use crate::concepts::{ConceptDuty, ConceptThread};
use crate::snapshots::{AllPartsLearner, SnapshotMode};
use crate::source_handle::SourceHandle;

/// What learns beside an index. Dropped, it ends, and is waited for.
pub(super) struct SourceLearning {
    /// Of what is indexed here; it embeds only, where the source is split.
    _own: Option<ConceptThread>,
    /// Of all parts of the source.
    _all: Option<AllPartsLearner>,
}

impl SourceLearning {
    /// Starts what learns in this process; `files` is the source as it lies here, `woken` tells of
    /// its changes.
    pub(super) fn start(
        handle: &Arc<SourceHandle>,
        settings: &IndexerSettings,
        woken: &Receiver<()>,
        files: &dyn SourceFiles,
    ) -> std::io::Result<Self> {
        let concepts = &settings.concepts;
        let (mut own, mut all) = (None, None);
        match &settings.snapshots {
            SnapshotMode::Indexer { place, part, .. } if handle.learns && !part.is_whole() => {
                let folders = settings.folders(&handle.id);
                let start = || AllPartsLearner::start(handle, concepts, (place, &folders), files);
                all = part.is_learner().then(start).transpose()?;
                if handle.model.is_some() {
                    let duty = ConceptDuty::Embedding;
                    own = Some(ConceptThread::start(handle, concepts, woken.clone(), duty)?);
                }
            }
            _ => {
                let duty = ConceptDuty::All;
                own = Some(ConceptThread::start(handle, concepts, woken.clone(), duty)?);
            }
        }
        Ok(Self {
            _own: own,
            _all: all,
        })
    }
}

//! Who learns of a source: its one indexer, or the one of its first part for all of them.

use search_engine::files::SourceFiles;

use super::index_loop::IndexLoop;
use crate::concepts::ConceptThread;
use crate::snapshots::{AllPartsLearning, SnapshotMode};

/// What learns beside an index. Dropped, it ends, and is waited for.
pub(super) struct SourceLearning {
    /// Of what is indexed here.
    _own: Option<ConceptThread>,
    /// Of all parts of the source.
    _all: Option<AllPartsLearning>,
}

impl SourceLearning {
    /// Starts what learns in this process; `files` is the source as it lies here.
    pub(super) fn start(index: &IndexLoop, files: &dyn SourceFiles) -> std::io::Result<Self> {
        let (handle, concepts) = (&index.handle, &index.settings.concepts);
        let (mut own, mut all) = (None, None);
        match &index.settings.snapshots {
            SnapshotMode::Indexer { place, part, .. } if handle.learns && !part.is_whole() => {
                let folders = index.settings.folders(&handle.id);
                let start = || AllPartsLearning::start(handle, concepts, (place, &folders), files);
                all = part.learns().then(start).transpose()?;
            }
            _ => own = Some(ConceptThread::start(handle, concepts, index.woken.clone())?),
        }
        Ok(Self {
            _own: own,
            _all: all,
        })
    }
}

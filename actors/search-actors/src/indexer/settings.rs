//! What all indexers share.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use search_formats_engine::ReaderPool;
use supervision::ChildRef;

use super::threads::IndexThreads;
use crate::concepts::{ConceptSettings, LearningRests, LoadedModels};
use crate::embedding::EmbeddingService;
use crate::limits::SearchLimits;
use crate::snapshots::{SnapshotMode, SourceFolders};

/// What all indexers share.
#[derive(Debug)]
pub struct IndexerSettings {
    /// Folder of the indexes.
    pub(crate) data: PathBuf,
    /// Held while a whole folder is indexed: one at a time, so that memory stays bounded.
    pub(crate) bulk: Mutex<()>,
    /// What the concept threads share.
    pub(crate) concepts: Arc<ConceptSettings>,
    /// The threads of all sources.
    pub(crate) threads: IndexThreads,
    /// Readers of documents that are no text files; without them such files are skipped.
    pub(crate) readers: Option<ReaderPool>,
    /// What this process does with snapshots.
    pub(crate) snapshots: SnapshotMode,
}

impl IndexerSettings {
    /// Indexes live below `data`; what was learnt of concepts lives in `concepts` beside it, and is
    /// learnt at the pace of `rests` within `limits`. `embedding` asks the embedding models of
    /// servers.
    #[must_use]
    pub fn new(
        data: PathBuf,
        rests: LearningRests,
        limits: SearchLimits,
        embedding: ChildRef<EmbeddingService>,
    ) -> Self {
        let concepts = ConceptSettings {
            data: data.with_file_name("concepts"),
            learning: Mutex::new(()),
            rests,
            limits,
            models: LoadedModels::default(),
            embedding,
        };
        Self {
            concepts: Arc::new(concepts),
            data,
            bulk: Mutex::new(()),
            threads: IndexThreads::default(),
            readers: None,
            snapshots: SnapshotMode::Local,
        }
    }

    /// What is indexed is published, or what others publish is searched.
    #[must_use]
    pub fn with_snapshots(mut self, snapshots: SnapshotMode) -> Self {
        self.snapshots = snapshots;
        self
    }

    /// The folders of the source with this id.
    pub(crate) fn folders(&self, id: &str) -> SourceFolders {
        SourceFolders {
            index: self.data.join(id),
            concepts: self.concepts.data.join(id),
            marker: SourceFolders::marker_in(&self.data, id),
            published: self.data.with_file_name("published").join(id),
        }
    }

    /// PDF, office documents, books, mail and notebooks are read by these.
    #[must_use]
    pub fn with_readers(mut self, readers: Option<ReaderPool>) -> Self {
        self.readers = readers;
        self
    }
}

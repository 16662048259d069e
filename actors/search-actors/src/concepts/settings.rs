//! What the concept threads of all sources share.

use std::path::PathBuf;

use parking_lot::Mutex;
use supervision::ChildRef;

use super::models::LoadedModels;
use super::throttle::LearningRests;
use crate::embedding::EmbeddingService;
use crate::limits::SearchLimits;

/// What the concept threads of all sources share.
#[derive(Debug)]
pub(crate) struct ConceptSettings {
    /// Folder of what was learnt.
    pub(crate) data: PathBuf,
    /// Held while one source learns: one at a time, so that memory stays bounded.
    pub(crate) learning: Mutex<()>,
    /// How long the threads rest.
    pub(crate) rests: LearningRests,
    /// How much of one source is taken up.
    pub(crate) limits: SearchLimits,
    /// Embedding models in memory.
    pub(crate) models: LoadedModels,
    /// Who asks the embedding models of servers.
    pub(crate) embedding: ChildRef<EmbeddingService>,
}

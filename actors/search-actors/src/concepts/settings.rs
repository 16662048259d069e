//! What the concept threads of all sources share.

use std::path::PathBuf;
use std::time::Duration;

use parking_lot::Mutex;
use supervision::ChildRef;

use super::models::LoadedModels;
use crate::embedding::EmbeddingService;

/// What the concept threads of all sources share.
#[derive(Debug)]
pub(crate) struct ConceptSettings {
    /// Folder of what was learnt.
    pub(crate) data: PathBuf,
    /// Held while one source learns: one at a time, so that memory stays bounded.
    pub(crate) learning: Mutex<()>,
    /// After so long without a change, vectors that depend on the past of their source are learnt
    /// from nothing.
    pub(crate) settle_after: Duration,
    /// Embedding models in memory.
    pub(crate) models: LoadedModels,
    /// Who asks the embedding models of servers.
    pub(crate) embedding: ChildRef<EmbeddingService>,
}

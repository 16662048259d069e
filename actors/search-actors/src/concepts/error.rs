//! Why concepts could not be brought up to date.

use std::io;

use search_engine::index::IndexError;
use search_graph_engine::learning::LearningError;
use search_graph_engine::space::SpaceError;

/// Why concepts could not be brought up to date. It is tried again.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConceptError {
    /// The folder of what was learnt cannot be used.
    #[error("what was learnt cannot be kept: {0}")]
    Io(#[from] io::Error),
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// Learning failed.
    #[error(transparent)]
    Learning(#[from] LearningError),
    /// The space cannot be kept.
    #[error(transparent)]
    Space(#[from] SpaceError),
}

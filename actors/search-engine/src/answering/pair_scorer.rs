//! A model that reads a query and a text together.

use std::fmt::Debug;
use std::sync::Arc;

/// Says how well texts answer a query.
pub trait PairScorer: Debug + Send + Sync {
    /// One number for each text, the higher the better it answers. It waits for nobody.
    ///
    /// # Errors
    /// Why there are none.
    fn scores(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, NoScores>;
}

/// Why a model gave no numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoScores {
    /// It did not answer, or cannot be used.
    Failed(String),
    /// A server has it, which whoever searches has to ask before he searches again.
    Pending,
}

impl From<String> for NoScores {
    fn from(reason: String) -> Self {
        Self::Failed(reason)
    }
}

/// How a role's results are read once more.
#[derive(Debug, Clone)]
pub struct RerankOptions {
    /// Who reads them.
    pub scorer: Arc<dyn PairScorer>,
    /// How many.
    pub top: usize,
}

//! A model that reads a query and a text together.

use std::fmt::Debug;
use std::sync::Arc;

/// Says how well texts answer a query.
pub trait PairScorer: Debug + Send + Sync {
    /// One number for each text, the higher the better it answers.
    ///
    /// # Errors
    /// Why there are none.
    fn scores(&self, query: &str, texts: &[String]) -> Result<Vec<f32>, String>;
}

/// How a role's results are read once more.
#[derive(Debug, Clone)]
pub struct Reranking {
    /// Who reads them.
    pub scorer: Arc<dyn PairScorer>,
    /// How many.
    pub top: usize,
}

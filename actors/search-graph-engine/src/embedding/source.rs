//! A source's embeddings, as searches use them.

use std::sync::Arc;

use search_core::document::ContentKind;

use super::{Embedding, EmbeddingIndex, EmbeddingModel};
use crate::fuse::VectorWeights;

/// What made embeddings.
#[derive(Debug, Clone)]
pub enum EmbeddedBy {
    /// A model in memory, which embeds queries as well.
    Model(Arc<EmbeddingModel>),
    /// A model of a server, by a number of its own; queries are embedded before the search.
    Server([u8; 32]),
}

/// A model, and what it made of the documents of a source so far.
#[derive(Debug, Clone)]
pub struct SourceEmbeddings {
    /// What made them.
    pub by: EmbeddedBy,
    /// The documents.
    pub index: EmbeddingIndex,
    /// Whether every document that can have one has its embedding.
    pub complete: bool,
    /// Numbers in each embedding; 0 while there is none.
    pub width: usize,
    /// What most of the documents are.
    pub kind: ContentKind,
}

/// A query as the model of a server sees it, or why there is nothing to see.
#[derive(Debug, Clone)]
pub struct ServedQuery {
    /// The model.
    pub model: [u8; 32],
    /// The direction of the query, or why the server did not give it.
    pub direction: Result<Embedding, String>,
}

impl SourceEmbeddings {
    /// Parts of the vectors in the fused scores of documents of which this share is one passage.
    #[must_use]
    pub fn weights(&self, short: f32) -> VectorWeights {
        VectorWeights::with_model(self.kind, short)
    }
}

impl EmbeddedBy {
    /// Tells models apart: directions of two cannot be compared.
    #[must_use]
    pub fn id(&self) -> [u8; 32] {
        match self {
            Self::Model(model) => model.id(),
            Self::Server(id) => *id,
        }
    }

    /// The direction of a query; `served` are those that servers gave.
    ///
    /// # Errors
    /// Why the server did not give it.
    pub fn query(&self, text: &str, served: &[ServedQuery]) -> Result<Embedding, String> {
        let id = match self {
            Self::Model(model) => return Ok(model.embed(text)),
            Self::Server(id) => id,
        };
        let given = served.iter().find(|one| one.model == *id);
        given.map_or_else(
            || Err("the embedding server was not asked".to_owned()),
            |one| one.direction.clone(),
        )
    }
}

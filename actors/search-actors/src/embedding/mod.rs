//! Models of language-model servers that embed, documents in the background and queries on their
//! way to a search, or that read the best results once more.
//!
//! ```text
//! concepts threads --EmbedTexts (batches)--> EmbeddingService --HTTP--> language-model server
//! SearchService --EmbedQuery (one, 1.5 s)---------^
//! SearchService --RerankTexts (20, 5 s)-----------+
//! ```
//! Nobody waits for the server but who asked: a search goes on by words and learnt vectors when it
//! does not answer, and says so.

mod queries;
mod service;

pub(crate) use queries::{PendingQuery, QueryEmbedder};
pub use service::EmbeddingService;
pub(crate) use service::{EmbedQuery, EmbedTexts, RERANK_TIMEOUT, RerankTexts, TEXTS_TIMEOUT};

use url::Url;

/// A model of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EmbeddingEndpoint {
    pub(crate) base_url: Url,
    pub(crate) model: String,
}

impl EmbeddingEndpoint {
    /// Tells models apart. What a server gives by the same name later is taken for the same model,
    /// unless its vectors have another length.
    pub(crate) fn id(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for part in ["embedding server", self.base_url.as_str(), &self.model] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        *hasher.finalize().as_bytes()
    }
}

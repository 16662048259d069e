//! Embedding models of language-model servers: documents in the background, queries on their way to a search.
//!
//! ```text
//! concepts threads --EmbedTexts (batches)--> EmbedDesk --HTTP--> language-model server
//! SearchDesk --EmbedQuery (one, 1.5 s)---------^
//! ```
//! Nobody waits for the server but who asked: a search goes on by words and learnt vectors when it does not answer, and
//! says so.

mod desk;
mod queries;

pub use desk::EmbedDesk;
pub(crate) use desk::{EmbedQuery, EmbedTexts, TEXTS_DEADLINE};
pub(crate) use queries::{QueryEmbedder, Wanted};

use url::Url;

/// A model of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EmbeddingPlace {
    pub(crate) base_url: Url,
    pub(crate) model: String,
}

impl EmbeddingPlace {
    /// Tells models apart. What a server gives by the same name later is taken for the same model, unless its vectors have
    /// another length.
    pub(crate) fn id(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        for part in ["embedding server", self.base_url.as_str(), &self.model] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        *hasher.finalize().as_bytes()
    }
}

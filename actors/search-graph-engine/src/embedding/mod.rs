//! A sentence-transformer folder run on the processor: texts to directions, without a server.
//!
//! ```text
//! folder: config.json, tokenizer.json, model.safetensors ─► EmbeddingModel ─ embed(text) ─► Embedding
//! ```
//!
//! The models that people use for this are small BERTs with word pieces (MiniLM, BGE, E5, GTE):
//! that is what is read here, and nothing is downloaded. Texts are cut at 128 tokens, passages of
//! longer documents at 256.

mod bert;
mod config;
mod cross_encoder;
mod demand;
mod document;
mod error;
mod file;
mod index;
mod source;
mod tokenizer;
mod vector;
mod weights;

use std::path::Path;

use bert::Bert;
use config::BertConfig;
pub use cross_encoder::CrossEncoder;
pub use demand::EmbeddingDemand;
pub use document::DocumentEmbedding;
pub use error::EmbeddingError;
pub use file::{EmbeddedContent, EmbeddedPassage, EmbeddingFile, TextDigest, UNKNOWN_DIGEST};
pub use index::EmbeddingIndex;
pub use source::{EmbeddedBy, ServedQuery, SourceEmbeddings};
use tokenizer::Tokenizer;
pub use vector::Embedding;
use weights::Weights;

/// Texts are cut at this many tokens, the two at the ends included.
pub const MAX_TOKENS: usize = 128;

/// Passages of longer texts are cut at this many: hardly one has more.
pub const MAX_PASSAGE_TOKENS: usize = 256;

/// A model in memory, ready to embed; shared by threads.
#[derive(Debug)]
pub struct EmbeddingModel {
    tokenizer: Tokenizer,
    bert: Bert,
    id: [u8; 32],
}

impl EmbeddingModel {
    /// Reads a model folder.
    ///
    /// # Errors
    /// A file is missing or damaged, or the model is not one of those that can be run here; the
    /// error names the file.
    pub fn open(folder: &Path) -> Result<Self, EmbeddingError> {
        let config = BertConfig::read(&folder.join("config.json"))?;
        let tokenizer = Tokenizer::read(&folder.join("tokenizer.json"), config.vocab_size)?;
        let mut weights = Weights::open(&folder.join("model.safetensors"))?;
        let bert = Bert::read(&config, &mut weights)?;
        Ok(Self {
            tokenizer,
            bert,
            id: weights.id(),
        })
    }

    /// Tells this model from others: what is embedded by another one cannot be compared.
    #[must_use]
    pub const fn id(&self) -> [u8; 32] {
        self.id
    }

    /// Numbers in an embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.bert.width()
    }

    /// The direction of a text's meaning. Takes some 20 to 50 ms of one core for 128 tokens.
    #[must_use]
    pub fn embed(&self, text: &str) -> Embedding {
        self.embed_tokens(text, MAX_TOKENS)
    }

    /// The same for a passage of a longer text; takes twice as long.
    #[must_use]
    pub fn embed_passage(&self, text: &str) -> Embedding {
        self.embed_tokens(text, MAX_PASSAGE_TOKENS)
    }

    fn embed_tokens(&self, text: &str, most: usize) -> Embedding {
        let tokens = self.tokenizer.tokens(text, self.bert.positions().min(most));
        Embedding::new(&self.bert.embed(&tokens))
    }
}

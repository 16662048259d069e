//! A model that reads a query and a text together, and says how well the text answers.
//!
//! The models that people use for this are the small BERTs that were trained on MS MARCO
//! (`cross-encoder/ms-marco-MiniLM-L6-v2` and its family): `BertForSequenceClassification` with
//! one label. Source: Nogueira and Cho, "Passage Re-ranking with BERT",
//! <https://arxiv.org/abs/1901.04085>.

use std::path::Path;

use super::bert::{Bert, Dense};
use super::config::BertConfig;
use super::error::EmbeddingError;
use super::tokenizer::Tokenizer;
use super::weights::Weights;

/// A pair is cut at so many tokens, the three around its texts included: some 1,000 characters.
const MAX_PAIR_TOKENS: usize = 256;
/// Of which a query has so many at most.
const MAX_QUERY_TOKENS: usize = 64;

/// A model in memory; shared by threads.
#[derive(Debug)]
pub struct CrossEncoder {
    tokenizer: Tokenizer,
    bert: Bert,
    pooler: Dense,
    classifier: Dense,
}

impl CrossEncoder {
    /// Reads a model folder: `config.json`, `tokenizer.json`, `model.safetensors`.
    ///
    /// # Errors
    /// A file is missing or damaged, or the model is not one of those that can be run here; the
    /// error names the file.
    pub fn open(folder: &Path) -> Result<Self, EmbeddingError> {
        let config = BertConfig::read(&folder.join("config.json"))?;
        let tokenizer = Tokenizer::read(&folder.join("tokenizer.json"), config.vocab_size)?;
        let mut weights = Weights::open(&folder.join("model.safetensors"))?;
        let bert = Bert::read(&config, &mut weights)?;
        let width = config.hidden_size;
        let mut layer =
            |name: &str, columns| Dense::read(&mut weights, &[name.to_owned()], width, columns);
        Ok(Self {
            tokenizer,
            pooler: layer("pooler.dense", width)?,
            classifier: layer("classifier", 1)?,
            bert,
        })
    }

    /// How likely the text answers the query, from 0 to 1: the sigmoid of the model's number.
    /// Takes some 40 to 100 ms of one core for 256 tokens of a model with six layers.
    #[must_use]
    pub fn score(&self, query: &str, text: &str) -> f32 {
        let limit = self.bert.positions().min(MAX_PAIR_TOKENS);
        let first = MAX_QUERY_TOKENS.min(limit / 2);
        let (tokens, second_from) = self.tokenizer.pair((query, first), text, limit);
        let rows = self.bert.last_rows(&tokens, second_from);
        let mut pooled = Vec::new();
        self.pooler
            .apply(&rows[..self.bert.width()], &mut pooled, 1);
        pooled.iter_mut().for_each(|value| *value = value.tanh());
        let mut number = Vec::new();
        self.classifier.apply(&pooled, &mut number, 1);
        1.0 / (1.0 + (-number[0]).exp())
    }
}

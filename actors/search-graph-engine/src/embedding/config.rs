//! The shape of a model: `config.json`.

use std::path::Path;

use serde::Deserialize;

use super::error::{EmbeddingError, read_bounded};

/// The fields that decide how a BERT is run.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct BertConfig {
    #[serde(default)]
    model_type: String,
    #[serde(default)]
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    pub(super) hidden_size: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) intermediate_size: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) vocab_size: usize,
    #[serde(default = "small")]
    pub(super) layer_norm_eps: f32,
}

fn absolute() -> String {
    "absolute".to_owned()
}

fn small() -> f32 {
    1e-12
}

impl BertConfig {
    pub(super) fn read(path: &Path) -> Result<Self, EmbeddingError> {
        let bytes = read_bounded(path, 1 << 20)?;
        let config: Self = serde_json::from_slice(&bytes)
            .map_err(|error| EmbeddingError::unusable(path, error.to_string()))?;
        match config.problem() {
            None => Ok(config),
            Some(problem) => Err(EmbeddingError::unusable(path, problem)),
        }
    }

    fn problem(&self) -> Option<&'static str> {
        let sizes = [
            (self.hidden_size, 2_048),
            (self.num_hidden_layers, 48),
            (self.intermediate_size, 16_384),
            (self.max_position_embeddings, 65_536),
            (self.vocab_size, 1 << 20),
            (self.num_attention_heads, 64),
        ];
        if self.model_type != "bert" {
            Some("only models of `model_type` `bert` can be run here")
        } else if self.hidden_act != "gelu" {
            Some("only `hidden_act` `gelu` can be run here")
        } else if self.position_embedding_type != "absolute" {
            Some("only `position_embedding_type` `absolute` can be run here")
        } else if sizes.iter().any(|(size, most)| *size == 0 || size > most) {
            Some("a size is 0 or too large")
        } else if !self.hidden_size.is_multiple_of(self.num_attention_heads) {
            Some("`hidden_size` is no multiple of `num_attention_heads`")
        } else {
            None
        }
    }
}

//! Model folders of the shape that people download, with made-up numbers.

use std::path::Path;

use serde_json::json;

/// The sizes of a BERT.
#[derive(Debug, Clone, Copy)]
pub struct BertShape {
    /// Numbers of a token.
    pub width: usize,
    /// Heads of its attention.
    pub heads: usize,
    /// Layers.
    pub layers: usize,
    /// Numbers between the two halves of a layer.
    pub wide: usize,
    /// The longest text, in tokens.
    pub positions: usize,
    /// Its pieces of words, behind `[PAD]`, `[UNK]`, `[CLS]`, `[SEP]`.
    pub pieces: &'static [&'static str],
}

impl BertShape {
    fn vocabulary(&self) -> usize {
        4 + self.pieces.len()
    }

    /// The tensors in their order in the file: those of a BERT, a pooler, a classifier of one
    /// label.
    fn tensors(&self) -> Vec<(String, Vec<usize>)> {
        let (width, wide) = (self.width, self.wide);
        let mut tensors = vec![
            (
                "embeddings.word_embeddings.weight".to_owned(),
                vec![self.vocabulary(), width],
            ),
            (
                "embeddings.position_embeddings.weight".to_owned(),
                vec![self.positions, width],
            ),
            (
                "embeddings.token_type_embeddings.weight".to_owned(),
                vec![2, width],
            ),
        ];
        let mut dense = |name: String, rows: usize, columns: usize| {
            tensors.push((format!("{name}.weight"), vec![rows, columns]));
            tensors.push((format!("{name}.bias"), vec![rows]));
        };
        let layer = |number: usize, part: &str| format!("encoder.layer.{number}.{part}");
        for number in 0..self.layers {
            for part in ["query", "key", "value"] {
                dense(
                    layer(number, &format!("attention.self.{part}")),
                    width,
                    width,
                );
            }
            dense(layer(number, "attention.output.dense"), width, width);
            dense(layer(number, "intermediate.dense"), wide, width);
            dense(layer(number, "output.dense"), width, wide);
        }
        let mut normal = |name: String| {
            tensors.push((format!("{name}.LayerNorm.weight"), vec![width]));
            tensors.push((format!("{name}.LayerNorm.bias"), vec![width]));
        };
        normal("embeddings".to_owned());
        for number in 0..self.layers {
            normal(layer(number, "attention.output"));
            normal(layer(number, "output"));
        }
        for (name, rows) in [("pooler.dense", width), ("classifier", 1)] {
            tensors.push((format!("{name}.weight"), vec![rows, width]));
            tensors.push((format!("{name}.bias"), vec![rows]));
        }
        tensors
    }

    /// Writes `config.json`, `tokenizer.json` and `model.safetensors`. Its numbers follow from
    /// their places in the file.
    pub fn write(&self, folder: &Path) {
        let config = json!({
            "model_type": "bert", "hidden_act": "gelu", "hidden_size": self.width,
            "num_attention_heads": self.heads, "num_hidden_layers": self.layers,
            "intermediate_size": self.wide, "max_position_embeddings": self.positions,
            "vocab_size": self.vocabulary(),
        });
        let pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
            .iter()
            .chain(self.pieces);
        let vocabulary: serde_json::Map<_, _> = pieces
            .enumerate()
            .map(|(number, piece)| ((*piece).to_owned(), json!(number)))
            .collect();
        let tokenizer = json!({
            "model": {
                "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "vocab": vocabulary,
            },
            "normalizer": {"type": "BertNormalizer", "lowercase": true},
        });
        let (mut header, mut numbers) = (serde_json::Map::new(), Vec::new());
        for (name, shape) in self.tensors() {
            let (start, count) = (numbers.len(), shape.iter().product::<usize>());
            for at in 0..count {
                let value = ((at * 37 + start * 11) % 19) as f32 / 9.0 - 1.0;
                numbers.extend_from_slice(&value.to_le_bytes());
            }
            let offsets = [start, numbers.len()];
            let entry = json!({"dtype": "F32", "shape": shape, "data_offsets": offsets});
            header.insert(name, entry);
        }
        let header = serde_json::Value::Object(header).to_string();
        let mut weights = (header.len() as u64).to_le_bytes().to_vec();
        weights.extend(header.as_bytes());
        weights.extend(numbers);
        for (name, bytes) in [
            ("config.json", config.to_string().into_bytes()),
            ("tokenizer.json", tokenizer.to_string().into_bytes()),
            ("model.safetensors", weights),
        ] {
            std::fs::write(folder.join(name), bytes).expect("a model folder can be written");
        }
    }
}

//! A BERT run forward on one text.

use super::config::BertConfig;
use super::error::EmbeddingError;
use super::weights::Weights;
use crate::math::{FusedMultiplyAdd, PackedMatrix, Work, dot, exp, multiply, vectorised};

/// A matrix and what is added to its products.
#[derive(Debug)]
pub(super) struct Dense {
    matrix: PackedMatrix,
    bias: Vec<f32>,
}

impl Dense {
    /// Reads the layers of these names side by side.
    pub(super) fn read(
        weights: &mut Weights,
        names: &[String],
        inner: usize,
        columns: usize,
    ) -> Result<Self, EmbeddingError> {
        let (mut matrix, mut bias) = (Vec::new(), Vec::new());
        for name in names {
            matrix.extend(weights.tensor(&format!("{name}.weight"), &[columns, inner])?);
            bias.extend(weights.tensor(&format!("{name}.bias"), &[columns])?);
        }
        Ok(Self {
            matrix: PackedMatrix::from_columns(&matrix, inner, columns * names.len()),
            bias,
        })
    }

    pub(super) fn apply(&self, input: &[f32], output: &mut Vec<f32>, rows: usize) {
        let columns = self.matrix.columns();
        output.resize(rows * columns, 0.0);
        multiply(input, &self.matrix, output, FusedMultiplyAdd::WherePossible);
        for row in output.chunks_exact_mut(columns) {
            for (value, bias) in row.iter_mut().zip(&self.bias) {
                *value += bias;
            }
        }
    }
}

/// Brings rows to mean 0 and variance 1, then to learnt ones.
#[derive(Debug)]
struct LayerNorm {
    scale: Vec<f32>,
    bias: Vec<f32>,
    least: f32,
}

impl LayerNorm {
    fn read(
        weights: &mut Weights,
        name: &str,
        config: &BertConfig,
    ) -> Result<Self, EmbeddingError> {
        Ok(Self {
            scale: weights.tensor(&format!("{name}.weight"), &[config.hidden_size])?,
            bias: weights.tensor(&format!("{name}.bias"), &[config.hidden_size])?,
            least: config.layer_norm_eps,
        })
    }

    fn apply(&self, rows: &mut [f32]) {
        vectorised(LayerNormWork(self, rows));
    }
}

struct LayerNormWork<'n>(&'n LayerNorm, &'n mut [f32]);

impl Work for LayerNormWork<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(normal, rows) = self;
        let width = normal.scale.len();
        for row in rows.chunks_exact_mut(width) {
            let mean = row.iter().sum::<f32>() / width as f32;
            row.iter_mut().for_each(|value| *value -= mean);
            let variance = dot(row, row) / width as f32;
            let factor = (variance + normal.least).sqrt().recip();
            let learnt = normal.scale.iter().zip(&normal.bias);
            for (value, (scale, bias)) in row.iter_mut().zip(learnt) {
                *value = *value * factor * scale + bias;
            }
        }
    }
}

/// One layer.
#[derive(Debug)]
struct Layer {
    attention: Dense,
    attention_output: Dense,
    attention_normal: LayerNorm,
    wide: Dense,
    narrow: Dense,
    normal: LayerNorm,
}

impl Layer {
    fn read(
        weights: &mut Weights,
        number: usize,
        config: &BertConfig,
    ) -> Result<Self, EmbeddingError> {
        let name = |part: &str| format!("encoder.layer.{number}.{part}");
        let (width, wide) = (config.hidden_size, config.intermediate_size);
        let parts = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        let output = [name("attention.output.dense")];
        Ok(Self {
            attention: Dense::read(weights, &parts, width, width)?,
            attention_output: Dense::read(weights, &output, width, width)?,
            attention_normal: LayerNorm::read(
                weights,
                &name("attention.output.LayerNorm"),
                config,
            )?,
            wide: Dense::read(weights, &[name("intermediate.dense")], width, wide)?,
            narrow: Dense::read(weights, &[name("output.dense")], wide, width)?,
            normal: LayerNorm::read(weights, &name("output.LayerNorm"), config)?,
        })
    }
}

/// The whole model.
#[derive(Debug)]
pub(super) struct Bert {
    pieces: Vec<f32>,
    /// Rows of the positions, with that of the first segment added.
    positions: Vec<f32>,
    /// What the second segment's row has more than the first's.
    second: Vec<f32>,
    normal: LayerNorm,
    layers: Vec<Layer>,
    heads: usize,
    width: usize,
}

/// Room for the numbers between layers.
#[derive(Debug, Default)]
struct Scratch {
    mixed: Vec<f32>,
    context: Vec<f32>,
    wide: Vec<f32>,
    added: Vec<f32>,
    head: Vec<f32>,
    other: Vec<f32>,
    scores: Vec<f32>,
    packed: PackedMatrix,
}

impl Bert {
    pub(super) fn read(config: &BertConfig, weights: &mut Weights) -> Result<Self, EmbeddingError> {
        let width = config.hidden_size;
        let positions = [config.max_position_embeddings, width];
        let mut positions = weights.tensor("embeddings.position_embeddings.weight", &positions)?;
        let segments = weights.tensor("embeddings.token_type_embeddings.weight", &[2, width])?;
        let (first, second) = segments.split_at(width);
        for row in positions.chunks_exact_mut(width) {
            for (value, segment) in row.iter_mut().zip(first) {
                *value += segment;
            }
        }
        let shape = [config.vocab_size, width];
        Ok(Self {
            pieces: weights.tensor("embeddings.word_embeddings.weight", &shape)?,
            positions,
            second: second.iter().zip(first).map(|(b, a)| b - a).collect(),
            normal: LayerNorm::read(weights, "embeddings.LayerNorm", config)?,
            layers: (0..config.num_hidden_layers)
                .map(|number| Layer::read(weights, number, config))
                .collect::<Result<_, _>>()?,
            heads: config.num_attention_heads,
            width,
        })
    }

    pub(super) const fn width(&self) -> usize {
        self.width
    }

    /// Longest text, in tokens.
    pub(super) fn positions(&self) -> usize {
        self.positions.len() / self.width
    }

    /// The mean of the last layer's rows.
    pub(super) fn embed(&self, tokens: &[u32]) -> Vec<f32> {
        let mut mean = vec![0.0; self.width];
        for row in self
            .last_rows(tokens, tokens.len())
            .chunks_exact(self.width)
        {
            mean.iter_mut()
                .zip(row)
                .for_each(|(sum, value)| *sum += value);
        }
        mean
    }

    /// The last layer's rows; the second segment begins with the token `second_from`.
    pub(super) fn last_rows(&self, tokens: &[u32], second_from: usize) -> Vec<f32> {
        let mut rows = Vec::with_capacity(tokens.len() * self.width);
        let positions = self.positions.chunks_exact(self.width);
        for (token, position) in tokens.iter().zip(positions) {
            let start = *token as usize * self.width;
            let piece = &self.pieces[start..start + self.width];
            rows.extend(piece.iter().zip(position).map(|(a, b)| a + b));
        }
        for row in rows.chunks_exact_mut(self.width).skip(second_from) {
            row.iter_mut()
                .zip(&self.second)
                .for_each(|(value, more)| *value += more);
        }
        self.normal.apply(&mut rows);
        let mut scratch = Scratch::default();
        for layer in &self.layers {
            self.run(layer, &mut rows, &mut scratch);
        }
        rows
    }

    fn run(&self, layer: &Layer, rows: &mut [f32], scratch: &mut Scratch) {
        let count = rows.len() / self.width;
        layer.attention.apply(rows, &mut scratch.mixed, count);
        self.apply_attention(count, scratch);
        let Scratch {
            context,
            wide,
            added,
            ..
        } = scratch;
        layer.attention_output.apply(context, added, count);
        rows.iter_mut()
            .zip(&*added)
            .for_each(|(row, more)| *row += more);
        layer.attention_normal.apply(rows);
        layer.wide.apply(rows, wide, count);
        vectorised(ActivationWork(wide));
        layer.narrow.apply(wide, added, count);
        rows.iter_mut()
            .zip(&*added)
            .for_each(|(row, more)| *row += more);
        layer.normal.apply(rows);
    }

    /// Mixes the rows' values by how well keys answer queries, head by head.
    fn apply_attention(&self, count: usize, scratch: &mut Scratch) {
        let depth = self.width / self.heads;
        let Scratch {
            mixed,
            context,
            head,
            other,
            scores,
            packed,
            ..
        } = scratch;
        context.resize(count * self.width, 0.0);
        scores.resize(count * count, 0.0);
        let part = |number: usize, out: &mut Vec<f32>| {
            out.clear();
            for row in mixed.chunks_exact(3 * self.width) {
                out.extend_from_slice(&row[number * depth..(number + 1) * depth]);
            }
        };
        for number in 0..self.heads {
            part(number, head);
            part(self.heads + number, other);
            packed.refill_columns(other, depth, count);
            multiply(head, packed, scores, FusedMultiplyAdd::WherePossible);
            vectorised(SoftmaxWork(scores, count, (depth as f32).sqrt().recip()));
            part(2 * self.heads + number, other);
            packed.refill_rows(other, count, depth);
            head.resize(count * depth, 0.0);
            multiply(scores, packed, head, FusedMultiplyAdd::WherePossible);
            let rows = context.chunks_exact_mut(self.width);
            for (row, values) in rows.zip(head.chunks_exact(depth)) {
                row[number * depth..(number + 1) * depth].copy_from_slice(values);
            }
        }
    }
}

struct ActivationWork<'w>(&'w mut [f32]);

impl Work for ActivationWork<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        for value in self.0 {
            *value = gelu(*value);
        }
    }
}

struct SoftmaxWork<'s>(&'s mut [f32], usize, f32);

impl Work for SoftmaxWork<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        soften(self.0, self.1, self.2);
    }
}

/// Softmax of each row of scaled scores.
#[inline(always)]
fn soften(scores: &mut [f32], count: usize, scale: f32) {
    for row in scores.chunks_exact_mut(count) {
        let highest = row.iter().fold(f32::NEG_INFINITY, |high, v| high.max(*v));
        for value in &mut *row {
            *value = exp((*value - highest) * scale);
        }
        let sum: f32 = row.iter().sum();
        row.iter_mut().for_each(|value| *value /= sum);
    }
}

/// Gaussian error linear unit, with the error function to seven digits.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t
        + 0.254_829_6)
        * t;
    let error = 1.0 - series * exp(-z * z);
    0.5 * x * (1.0 + error.copysign(x))
}

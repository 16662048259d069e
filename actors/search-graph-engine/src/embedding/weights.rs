//! The numbers of a model: safetensors, read tensor by tensor.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::error::EmbeddingError;

/// Longest header that is read, in bytes.
const MAX_HEADER: u64 = 16 << 20;

/// Largest tensor that is read, in numbers.
const MAX_NUMBERS: usize = 1 << 28;

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

/// An open file of weights.
#[derive(Debug)]
pub(super) struct Weights {
    path: PathBuf,
    file: File,
    entries: HashMap<String, serde_json::Value>,
    /// Where the numbers begin.
    start: u64,
    hasher: blake3::Hasher,
}

impl Weights {
    pub(super) fn open(path: &Path) -> Result<Self, EmbeddingError> {
        let fail = EmbeddingError::io(path);
        let unusable = |what: &str| EmbeddingError::unusable(path, what);
        let file = File::open(path).map_err(&fail)?;
        let mut length = [0; 8];
        file.read_exact_at(&mut length, 0).map_err(&fail)?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(unusable(
                "its header is too long: this is no safetensors file",
            ));
        }
        let mut header = vec![0; length as usize];
        file.read_exact_at(&mut header, 8).map_err(&fail)?;
        let entries = serde_json::from_slice(&header)
            .map_err(|_| unusable("its header is no JSON: this is no safetensors file"))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(&header);
        Ok(Self {
            path: path.to_owned(),
            file,
            entries,
            start: 8 + length,
            hasher,
        })
    }

    /// Hash of what was read: the same weights give the same.
    pub(super) fn id(&self) -> [u8; 32] {
        *self.hasher.finalize().as_bytes()
    }

    /// The numbers of the tensor of this name, which has this shape; `bert.` may stand before the
    /// name.
    pub(super) fn tensor(
        &mut self,
        name: &str,
        shape: &[usize],
    ) -> Result<Vec<f32>, EmbeddingError> {
        let unusable =
            |what: &str| EmbeddingError::unusable(&self.path, format!("`{name}` {what}"));
        let value = self
            .entries
            .get(name)
            .or_else(|| self.entries.get(&format!("bert.{name}")))
            .ok_or_else(|| unusable("is missing"))?;
        let entry = Entry::deserialize(value).map_err(|_| unusable("has no sound entry"))?;
        if entry.shape != shape {
            return Err(unusable("has another shape than config.json says"));
        }
        let size = match entry.dtype.as_str() {
            "F32" => 4,
            "F16" | "BF16" => 2,
            _ => return Err(unusable("is not in F32, F16 or BF16")),
        };
        let count: usize = shape.iter().product();
        let [begin, end] = entry.data_offsets;
        if count > MAX_NUMBERS || end.checked_sub(begin) != Some((count * size) as u64) {
            return Err(unusable("is not as long as its shape says"));
        }
        let mut bytes = vec![0; count * size];
        self.file
            .read_exact_at(&mut bytes, self.start.saturating_add(begin))
            .map_err(EmbeddingError::io(&self.path))?;
        self.hasher.update(&bytes);
        Ok(match entry.dtype.as_str() {
            "F32" => bytes
                .as_chunks()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b))
                .collect(),
            "F16" => halves(&bytes).map(from_half).collect(),
            _ => halves(&bytes)
                .map(|half| f32::from_bits(u32::from(half) << 16))
                .collect(),
        })
    }
}

fn halves(bytes: &[u8]) -> impl Iterator<Item = u16> {
    bytes.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b))
}

/// IEEE half precision to single.
fn from_half(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let (exponent, fraction) = (u32::from(half >> 10) & 0x1f, u32::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => fraction as f32 / 16_777_216.0,
        31 => return f32::from_bits(sign | 0x7f80_0000 | fraction << 13),
        _ => f32::from_bits((exponent + 112) << 23 | fraction << 13),
    };
    f32::from_bits(magnitude.to_bits() | sign)
}

#[cfg(test)]
mod tests {
    use super::from_half;

    #[test]
    fn halves_become_numbers() {
        for (half, number) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x0001, 5.960_464_5e-8),
            (0x7bff, 65_504.0),
            (0x8000, -0.0),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(from_half(half).to_bits(), f32::to_bits(number), "{half:#x}");
        }
        assert!(from_half(0x7e00).is_nan());
    }
}

//! Directions in the concept space.

use serde::{Deserialize, Serialize};

use crate::math::{Bytes, VectorRow, dot, norm, quantise, quantised_dot};

/// A direction in the concept space, of length 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConceptVector {
    #[serde(with = "bytes")]
    pub(super) bytes: Bytes,
    pub(super) factor: f32,
}

impl ConceptVector {
    /// The direction of a row; `None` when it has none.
    pub(crate) fn new(row: &VectorRow) -> Option<Self> {
        let length = norm(row);
        if !length.is_finite() || length < 1e-6 {
            return None;
        }
        let (bytes, factor) = quantise(row);
        // The factor makes the row of bytes as long as 1, not as long as the row was.
        let exact: VectorRow = std::array::from_fn(|at| f32::from(bytes[at]));
        (factor > 0.0).then(|| Self {
            bytes,
            factor: dot(&exact, &exact).sqrt().recip(),
        })
    }

    /// Cosine of the angle between two directions.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> f32 {
        quantised_dot(&self.bytes, &other.bytes) as f32 * (self.factor * other.factor)
    }
}

/// The bytes of a vector in a file.
mod bytes {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    use crate::math::Bytes;

    pub(super) fn serialize<S: Serializer>(bytes: &Bytes, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&bytes.map(|byte| byte as u8))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Bytes, D::Error> {
        let bytes = <&[u8]>::deserialize(from)?;
        let bytes = bytes.first_chunk().filter(|row| row.len() == bytes.len());
        let bytes: &[u8; crate::math::WIDTH] =
            bytes.ok_or_else(|| D::Error::custom("a vector has 128 bytes"))?;
        Ok(bytes.map(|byte| byte as i8))
    }
}

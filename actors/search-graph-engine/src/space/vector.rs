//! Directions in the concept space.

use crate::math::{Bytes, Row, dot, norm, quantise};

/// A direction in the concept space, of length 1.
#[derive(Debug, Clone, PartialEq)]
pub struct ConceptVector {
    pub(super) bytes: Bytes,
    pub(super) factor: f32,
}

impl ConceptVector {
    /// The direction of a row; `None` when it has none.
    pub(crate) fn new(row: &Row) -> Option<Self> {
        let length = norm(row);
        if !length.is_finite() || length < 1e-6 {
            return None;
        }
        let (bytes, factor) = quantise(row);
        // The factor makes the row of bytes as long as 1, not as long as the row was.
        let exact: Row = std::array::from_fn(|at| f32::from(bytes[at]));
        (factor > 0.0).then(|| Self {
            bytes,
            factor: dot(&exact, &exact).sqrt().recip(),
        })
    }

    /// The 128 numbers.
    #[must_use]
    pub fn to_numbers(&self) -> Vec<f32> {
        self.bytes
            .iter()
            .map(|byte| f32::from(*byte) * self.factor)
            .collect()
    }
}

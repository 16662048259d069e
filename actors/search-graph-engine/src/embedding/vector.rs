//! An embedding: a direction, in bytes.

use std::sync::Arc;

/// The direction of a text's meaning; a byte a number, as they are kept by the tens of thousands.
/// Clones share them.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding {
    bytes: Arc<[i8]>,
    factor: f32,
}

impl Embedding {
    /// The direction of these numbers, of any length; nothing when they are all 0. Also for the
    /// answers of an embedding server.
    #[must_use]
    pub fn new(numbers: &[f32]) -> Self {
        let largest = numbers.iter().fold(0.0f32, |high, n| high.max(n.abs()));
        let scale = if largest > 0.0 && largest.is_finite() {
            127.0 / largest
        } else {
            0.0
        };
        Self::from_parts(numbers.iter().map(|n| (n * scale).round() as i8).collect())
    }

    fn from_parts(bytes: Arc<[i8]>) -> Self {
        let square: f32 = bytes.iter().map(|b| f32::from(*b).powi(2)).sum();
        let factor = if square > 0.0 {
            square.sqrt().recip()
        } else {
            0.0
        };
        Self { bytes, factor }
    }

    /// Numbers in the embedding.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.bytes.len()
    }

    /// Whether it has no direction.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.factor == 0.0
    }

    /// The numbers, of length 1 in all.
    #[must_use]
    pub fn to_numbers(&self) -> Vec<f32> {
        self.bytes
            .iter()
            .map(|byte| f32::from(*byte) * self.factor)
            .collect()
    }

    /// Cosine of the angle to another; `None` when they are of different models.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        let pairs = self.bytes.iter().zip(other.bytes.iter());
        let product: i32 = pairs.map(|(a, b)| i32::from(*a) * i32::from(*b)).sum();
        (self.bytes.len() == other.bytes.len())
            .then_some(product as f32 * (self.factor * other.factor))
    }

    /// The bytes to keep.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.bytes.iter().map(|byte| *byte as u8).collect()
    }

    /// From the bytes kept.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::from_parts(bytes.iter().map(|byte| *byte as i8).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Embedding;

    #[test]
    fn directions_compare_by_angle_and_survive_being_kept() {
        let a = Embedding::new(&[1.0, 0.0, 2.0]);
        assert!((a.cosine(&Embedding::new(&[10.0, 0.0, 20.0])).unwrap_or(0.0) - 1.0).abs() < 1e-3);
        assert_eq!(a.cosine(&Embedding::new(&[0.0, 3.0, 0.0])), Some(0.0));
        assert_eq!(a.cosine(&Embedding::new(&[1.0])), None);
        assert_eq!(Embedding::from_bytes(&a.to_bytes()), a);
        assert_eq!(a.cosine(&Embedding::new(&[0.0; 3])), Some(0.0));
    }
}

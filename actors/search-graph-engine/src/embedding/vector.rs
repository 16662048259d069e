//! An embedding: a direction, in bytes.

use crate::columns::Column;

/// The direction of a text's meaning; a byte a number, as they are kept by the tens of thousands.
/// Clones share them.
#[derive(Debug, Clone)]
pub struct Embedding {
    /// Signed, on the heap or in a file that is mapped.
    bytes: Column,
    factor: f32,
}

impl PartialEq for Embedding {
    fn eq(&self, other: &Self) -> bool {
        *self.bytes == *other.bytes
    }
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
        let numbers = numbers.iter().map(|n| (n * scale).round() as i8 as u8);
        Self::from_column(numbers.collect::<Vec<u8>>().into())
    }

    pub(super) fn from_column(bytes: Column) -> Self {
        let square: f32 = bytes.iter().map(|b| f32::from(*b as i8).powi(2)).sum();
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
            .map(|byte| f32::from(*byte as i8) * self.factor)
            .collect()
    }

    /// Cosine of the angle to another; `None` when they are of different models.
    #[must_use]
    pub fn cosine(&self, other: &Self) -> Option<f32> {
        let pairs = self.bytes.iter().zip(other.bytes.iter());
        let product: i32 = pairs
            .map(|(a, b)| i32::from(*a as i8) * i32::from(*b as i8))
            .sum();
        (self.bytes.len() == other.bytes.len())
            .then_some(product as f32 * (self.factor * other.factor))
    }

    /// The bytes to keep.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// From the bytes kept.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::from_column(bytes.to_vec().into())
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
        assert_eq!(Embedding::from_bytes(a.as_bytes()), a);
        assert_eq!(a.cosine(&Embedding::new(&[0.0; 3])), Some(0.0));
    }
}

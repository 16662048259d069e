//! How much the terms of a query say: a rare one more than a frequent one.

/// Terms that are told apart.
const TERMS: usize = 64;

/// The least that a term counts, where rarities are known.
const LEAST: f32 = 0.01;

/// How much each term of a query says, by its bit.
#[derive(Debug, Clone, PartialEq)]
pub struct TermWeights([f32; TERMS]);

impl Default for TermWeights {
    /// All say the same.
    fn default() -> Self {
        Self([1.0; TERMS])
    }
}

impl TermWeights {
    /// By the rarities of the query's terms. What is not among them says as much as they do on
    /// average.
    #[must_use]
    pub fn from_rarities(rarities: &[f32]) -> Self {
        let known = rarities.iter().filter(|rarity| **rarity > 0.0);
        let (count, sum) = known.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
        let average: f32 = if count > 0.0 { sum / count } else { 1.0 };
        let mut weights = [average; TERMS];
        for (weight, rarity) in weights.iter_mut().zip(rarities) {
            *weight = rarity.max(LEAST);
        }
        Self(weights)
    }

    /// What these terms say together.
    #[must_use]
    pub fn total(&self, terms: u64) -> f32 {
        let (mut left, mut sum) = (terms, 0.0);
        while left != 0 {
            sum += self.0[left.trailing_zeros() as usize];
            left &= left - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_terms_say_more_than_several_frequent_ones() {
        let weights = TermWeights::from_rarities(&[8.0, 1.0, 1.0, 0.0]);
        assert!(weights.total(0b1) > weights.total(0b1110));
        assert!(weights.total(0b1110) > weights.total(0b110));
        // A prefix has no rarity of its own.
        assert!((weights.total(1 << 9) - 10.0 / 3.0).abs() < 1e-6);
        assert!((TermWeights::default().total(0b1011) - 3.0).abs() < f32::EPSILON);
    }
}

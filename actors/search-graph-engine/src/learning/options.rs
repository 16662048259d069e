//! How to learn. The values were measured (docs/adr/0006-servicegraph.md).

/// Most words that get a vector of their own.
pub const MAX_VOCABULARY: usize = 60_000;

/// Pairs told apart at a time.
pub(crate) const BATCH: usize = 256;

/// How to learn; part of what a checkpoint belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnOptions {
    /// Seed of everything that is drawn.
    pub seed: u64,
    /// Times each document is looked at; `None` chooses by the size of the corpus, 8 to 40.
    pub epochs: Option<u32>,
    /// Rate of the first step; it falls to 0.
    pub rate: f32,
}

impl Default for LearnOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            epochs: None,
            rate: 0.03,
        }
    }
}

impl LearnOptions {
    /// For a corpus that changed a little since the vectors were learnt: two looks at each
    /// document, from what is known.
    #[must_use]
    pub fn refresh(seed: u64) -> Self {
        Self {
            seed,
            epochs: Some(2),
            rate: 0.005,
        }
    }

    /// Times each of `documents` is looked at.
    pub(crate) fn epochs_for(&self, documents: usize) -> u32 {
        self.epochs.unwrap_or_else(|| {
            let few = (320 * BATCH).div_ceil(documents.max(1));
            few.clamp(8, 40) as u32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::LearnOptions;

    #[test]
    fn small_corpora_are_looked_at_more_often() {
        let epochs = |documents| LearnOptions::default().epochs_for(documents);
        assert_eq!((epochs(0), epochs(1_000)), (40, 40));
        assert_eq!((epochs(5_120), epochs(80_000)), (16, 8));
        assert_eq!(LearnOptions::refresh(1).epochs_for(1_000), 2);
    }
}

//! How near the documents of a source are to a query altogether: what makes cosines of sources with
//! vectors of their own comparable.

/// Steps of a cosine in the sums, which are whole numbers: the order of adding makes no difference.
const STEPS: f32 = 32_768.0;

/// Sources whose cosines hardly differ say nothing; they are not stretched further than this.
const LEAST_DEVIATION: f64 = 0.02;

/// Mean and standard deviation of the cosines of all documents of a source to a query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CosineDistribution {
    mean: f64,
    deviation: f64,
}

impl CosineDistribution {
    /// How far a cosine stands out among those of its source, in standard deviations.
    #[must_use]
    pub fn standing(&self, cosine: f32) -> f32 {
        ((f64::from(cosine) - self.mean) / self.deviation) as f32
    }
}

/// Adds cosines up.
#[derive(Debug, Default)]
pub(super) struct SpreadTally {
    count: i64,
    sum: i64,
    squares: i64,
}

impl SpreadTally {
    #[inline(always)]
    pub(super) fn add(&mut self, cosine: f32) {
        self.add_for(1, cosine);
    }

    /// Adds the cosine of one document that stands for `documents` of them.
    #[inline(always)]
    pub(super) fn add_for(&mut self, documents: i64, cosine: f32) {
        let steps = i64::from((cosine * STEPS) as i32);
        self.count += documents;
        self.sum += documents * steps;
        self.squares += documents * (steps * steps);
    }

    pub(super) fn spread(&self) -> CosineDistribution {
        let count = self.count.max(1) as f64;
        let steps = f64::from(STEPS);
        let mean = self.sum as f64 / count / steps;
        let variance = self.squares as f64 / count / (steps * steps) - mean * mean;
        CosineDistribution {
            mean,
            deviation: variance.max(0.0).sqrt().max(LEAST_DEVIATION),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SpreadTally;

    #[test]
    fn cosines_are_placed_among_those_of_their_source() {
        let spread = |cosines: &[f32]| {
            let mut tally = SpreadTally::default();
            cosines.iter().for_each(|&cosine| tally.add(cosine));
            tally.spread()
        };
        // The mean is .2, each is .1 away from it.
        let narrow = spread(&[0.1, 0.3, 0.1, 0.3]);
        assert!((narrow.standing(0.5) - 3.0).abs() < 0.01);
        let wide = spread(&[-0.2, 0.6, -0.2, 0.6]);
        assert!((wide.standing(0.5) - 0.75).abs() < 0.01);
        assert_eq!(spread(&[0.1, 0.6, 0.3]), spread(&[0.6, 0.3, 0.1]));
        // One of a sample counts for those that it stands for.
        let mut sample = SpreadTally::default();
        sample.add_for(2, 0.1);
        sample.add_for(2, 0.3);
        assert_eq!(sample.spread(), narrow);
        // One document, or none, is no reason to divide by nothing.
        assert!(spread(&[0.4]).standing(0.5).is_finite());
        assert!(spread(&[]).standing(0.5).is_finite());
    }
}

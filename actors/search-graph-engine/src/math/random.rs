//! Numbers that look random and are a function of their seed.

/// A stream of numbers (SplitMix64): the same seeds give the same stream on every machine.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// A stream of its own for each combination of seeds.
    pub(crate) fn new(seeds: [u64; 3]) -> Self {
        let mut random = Self(0x9e37_79b9_7f4a_7c15);
        for seed in seeds {
            random.0 = random.0.rotate_left(23) ^ seed.wrapping_mul(0xd6e8_feb8_6659_fd93);
            random.0 = random.next();
        }
        random
    }

    /// The next 64 bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `bound`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }

    /// True with this probability.
    #[inline]
    pub(crate) fn chance(&mut self, probability: f32) -> bool {
        ((self.next() >> 40) as f32) < probability * (1u64 << 24) as f32
    }

    /// A number of mean 0 and variance 1, nearly normal: a sum of four even ones.
    #[inline]
    pub(crate) fn bell(&mut self) -> f32 {
        let bits = self.next();
        let sum: u64 = (0..4).map(|part| (bits >> (16 * part)) & 0xffff).sum();
        (sum as f32 / 65_536.0 - 2.0) * 1.732_050_8
    }

    /// The numbers below `count` in an order of their own.
    pub(crate) fn permutation(&mut self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn streams_repeat_and_differ_by_seed() {
        let first = |seeds| Random::new(seeds).next();
        assert_eq!(first([1, 2, 3]), first([1, 2, 3]));
        assert_ne!(first([1, 2, 3]), first([1, 3, 2]));
        let mut order = Random::new([1, 0, 0]).permutation(1000);
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }

    #[test]
    fn the_bell_has_mean_0_and_variance_1() {
        let mut random = Random::new([5, 0, 0]);
        let values: Vec<f32> = (0..20_000).map(|_| random.bell()).collect();
        let mean = values.iter().sum::<f32>() / 20_000.0;
        let variance = values.iter().map(|v| v * v).sum::<f32>() / 20_000.0;
        assert!(
            mean.abs() < 0.03 && (variance - 1.0).abs() < 0.03,
            "{mean} {variance}"
        );
    }
}

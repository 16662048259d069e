//! Numbers from a seed: where kills and faults fall has to differ and to be repeatable, not to be
//! unforeseeable.

use std::time::SystemTime;

/// xorshift64* (Marsaglia 2003; Vigna 2016).
#[derive(Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A stream of its own for each `lane` of one seed.
    pub(crate) fn new(seed: u64, lane: u64) -> Self {
        // splitmix64's finaliser, so that neighbouring lanes do not look alike; never zero.
        let mut state = seed.wrapping_add(lane.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        state = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        state = (state ^ (state >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((state ^ (state >> 31)) | 1)
    }

    /// A number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) % bound
    }
}

/// A seed for a run that was given none.
pub(crate) fn seed_of_the_clock() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    u64::from(since.unwrap_or_default().subsec_nanos())
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_lanes_differ() {
        let draw = |seed, lane| {
            let mut random = Random::new(seed, lane);
            [0; 8].map(|_: u64| random.below(1 << 40))
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }
}

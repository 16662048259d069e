//! Sketches of documents' vectors: which of their numbers are above 0, a bit each.
//!
//! Two vectors that point the same way have the same signs nearly everywhere, so the few documents
//! whose signs differ least from a query's hold the nearest ones: those alone are compared in full
//! (Charikar, "Similarity estimation techniques from rounding algorithms", STOC 2002; binary
//! quantisation with rescoring in today's vector databases). 16 bytes a document are read where the
//! full comparison reads 128.

use crate::math::{Bytes, WIDTH, Work, vectorised};

/// The signs of a vector.
pub(super) type Sketch = u128;

const _: () = assert!(WIDTH == Sketch::BITS as usize, "a bit for each number");

/// Sources with more documents than this are looked through by sketches.
pub(super) const EXACT_UP_TO: usize = 262_144;

/// Documents that are compared in full for each one that is asked for, at least.
const COMPARED: usize = 100;

/// And one of this many documents of the source.
const SHARE: usize = 32;

/// The sketch of a vector.
#[inline(always)]
pub(super) fn sketch(bytes: &Bytes) -> Sketch {
    let bit = |(at, byte): (usize, &i8)| Sketch::from(*byte > 0) << at;
    bytes
        .iter()
        .enumerate()
        .map(bit)
        .fold(0, |all, bit| all | bit)
}

/// How many of `count` documents are compared in full for the `limit` nearest; `None`: all are.
pub(super) fn compared(count: usize, limit: usize) -> Option<usize> {
    let compared = (limit.saturating_mul(COMPARED)).max(count / SHARE);
    (compared < count / 4).then_some(compared)
}

/// The places of at least `wanted` sketches that differ least from `from`, in ascending order: all
/// that differ as little as the last of them are among them.
pub(super) fn nearest(sketches: &[Sketch], from: Sketch, wanted: usize) -> Vec<usize> {
    let mut differences = vec![0; sketches.len()];
    let counts = vectorised(SketchDifferences {
        sketches,
        from,
        differences: &mut differences,
    });
    let mut found = 0;
    let most = counts.iter().position(|count| {
        found += *count as usize;
        found >= wanted
    });
    let most = most.unwrap_or(WIDTH) as u8;
    let alike = differences.iter().enumerate();
    let alike = alike.filter(|(_, difference)| **difference <= most);
    let mut places = Vec::with_capacity(found);
    places.extend(alike.map(|(place, _)| place));
    places
}

/// In how many bits each sketch differs, and how many sketches differ in that many.
struct SketchDifferences<'s> {
    sketches: &'s [Sketch],
    from: Sketch,
    differences: &'s mut [u8],
}

impl Work for SketchDifferences<'_> {
    type Output = [u32; WIDTH + 1];

    #[inline(always)]
    fn call(self) -> Self::Output {
        let mut counts = [0; WIDTH + 1];
        for (sketch, difference) in self.sketches.iter().zip(self.differences) {
            let bits = (sketch ^ self.from).count_ones();
            *difference = bits as u8;
            counts[bits as usize] += 1;
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_bits_in_the_order_of_the_numbers() {
        let mut bytes = [-3; WIDTH];
        assert_eq!(sketch(&bytes), 0);
        (bytes[0], bytes[1], bytes[127]) = (1, 0, 127);
        assert_eq!(sketch(&bytes), 1 | 1 << 127);
    }

    #[test]
    fn those_that_differ_least_come_with_all_that_differ_as_little() {
        let sketches = [0b111, 0b1, 0, 0b11, 0b10, u128::MAX];
        for (wanted, places) in [
            (1, &[2][..]),
            (2, &[1, 2, 4]),
            (4, &[1, 2, 3, 4]),
            (6, &[0, 1, 2, 3, 4, 5]),
            (9, &[0, 1, 2, 3, 4, 5]),
        ] {
            assert_eq!(nearest(&sketches, 0, wanted), places, "{wanted}");
        }
        assert_eq!(nearest(&[], 0, 3), [0; 0]);
    }

    #[test]
    fn few_documents_and_many_wanted_ones_are_compared_in_full() {
        assert_eq!(compared(1_000_000, 100), Some(31_250));
        assert_eq!(compared(300_000, 100), Some(10_000));
        assert_eq!(compared(300_000, 1_000), None);
        assert_eq!(compared(100, 100), None);
    }
}

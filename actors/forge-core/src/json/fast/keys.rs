//! Whether the keys of an object differ, by their hashes.

use std::ops::Range;

/// As many bytes as are looked at from a short key on: it ends among the first 64 of them.
pub(super) const BLOCK: usize = 72;
/// Longest key that two loads of eight bytes cover, its quote too.
const SHORT: usize = 15;
/// Rows of up to so many keys are compared sooner than looked up.
const TINY: usize = 4;
/// Rows of up to so many keys are compared key by key; longer ones are sorted.
const FEW: usize = 16;
/// Rows of keys that are remembered.
const ROWS: usize = 32;

/// The hash of the key of this length at the beginning of a block; its quote follows it. Equal keys have equal hashes, whatever
/// stands behind them.
#[inline(always)]
pub(super) fn hash(block: &[u8; BLOCK], length: usize) -> u64 {
    if length > SHORT {
        return long(&block[..=length]);
    }
    // The first eight bytes and the last eight, the quote among them. What is behind a shorter key is shifted out, and as
    // no key has zeros in it, those that come in tell its length; that of a longer one is added to its quote.
    let over = length.saturating_sub(7);
    let shift = 8 * (7 + over - length);
    let first = eight(block, 0) << shift;
    let last = eight(block, over) << shift;
    mixed(first, last + ((over as u64) << 56))
}

/// The same of a key that is followed by its quote and nothing else.
#[inline(never)]
pub(super) fn hash_of(quoted: &[u8]) -> u64 {
    let length = quoted.len() - 1;
    if length > SHORT {
        return long(quoted);
    }
    let mut block = [0; BLOCK];
    block[..=length].copy_from_slice(quoted);
    hash(&block, length)
}

/// With the quote.
#[inline(never)]
fn long(quoted: &[u8]) -> u64 {
    let (eights, _) = quoted.as_chunks();
    let hash = eights.iter().fold(quoted.len() as u64, |hash, eight| {
        mixed(hash.rotate_left(23), u64::from_le_bytes(*eight))
    });
    let last = quoted.last_chunk().copied().map_or(0, u64::from_le_bytes);
    mixed(hash.rotate_left(23), last)
}

#[inline(always)]
fn eight(block: &[u8; BLOCK], at: usize) -> u64 {
    let eight = block[at..].first_chunk();
    eight.copied().map_or(0, u64::from_le_bytes)
}

#[inline(always)]
fn mixed(one: u64, other: u64) -> u64 {
    let one = one.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    one.wrapping_add(other.wrapping_mul(0xbf58_476d_1ce4_e5b9))
}

/// Rows of keys that were compared. The objects of an array mostly have the same keys in the same order, and a row that is known
/// needs no second look.
#[derive(Default)]
pub(super) struct Rows {
    hashes: Vec<u64>,
    /// The newest row of each length, as far as there is a place for it.
    newest: [Range<usize>; ROWS],
}

impl Rows {
    /// Whether the keys of an object differ. Different ones of one hash are so rare that they may count as equal: the strict
    /// reader compares the keys themselves.
    #[inline(always)]
    pub(super) fn all_differ(&mut self, row: &mut [u64]) -> bool {
        if row.len() <= TINY {
            return all_differ(row);
        }
        let known = self.newest[row.len() % ROWS].clone();
        self.hashes.get(known) == Some(row) || self.new_differs(row)
    }

    /// Only a row without a key twice is kept.
    #[inline(never)]
    fn new_differs(&mut self, row: &mut [u64]) -> bool {
        let start = self.hashes.len();
        self.hashes.extend_from_slice(row);
        let differs = all_differ(row);
        if differs {
            self.newest[row.len() % ROWS] = start..self.hashes.len();
        }
        differs
    }
}

fn all_differ(hashes: &mut [u64]) -> bool {
    if hashes.len() <= FEW {
        return (1..hashes.len()).all(|at| !hashes[..at].contains(&hashes[at]));
    }
    hashes.sort_unstable();
    hashes.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// The key, its quote, and something behind it.
    fn block(key: &str, behind: u8) -> [u8; BLOCK] {
        let mut block = [behind; BLOCK];
        block[..key.len()].copy_from_slice(key.as_bytes());
        block[key.len()] = b'"';
        block
    }

    fn hashed(key: &str) -> u64 {
        hash_of(format!("{key}\"").as_bytes())
    }

    proptest! {
        #[test]
        fn a_keys_hash_does_not_depend_on_what_follows(key in "[a-z_]{0,63}", one: u8, other: u8) {
            prop_assert_eq!(hash(&block(&key, one), key.len()), hashed(&key));
            prop_assert_eq!(hash(&block(&key, other), key.len()), hashed(&key));
        }

        #[test]
        fn a_row_with_a_key_twice_is_found_whatever_was_compared_before(
            rows in prop::collection::vec(prop::collection::vec(0..40_u64, 0..40), 1..8),
        ) {
            let mut known = Rows::default();
            for row in rows.iter().chain(&rows) {
                let number = row.iter().collect::<std::collections::HashSet<_>>().len();
                prop_assert_eq!(known.all_differ(&mut row.clone()), number == row.len());
            }
        }
    }

    /// Every length up to two blocks, and for each of them keys that differ from another in one byte only.
    #[test]
    fn keys_that_are_nearly_equal_have_different_hashes() {
        let mut seen = HashMap::new();
        for length in 0..2 * BLOCK {
            let plain = "a".repeat(length);
            let others = (0..length).map(|at| format!("{}b{}", &plain[..at], &plain[at + 1..]));
            for key in others.chain([plain.clone()]) {
                let before = seen.insert(hashed(&key), key.clone());
                assert_eq!(before, None, "{key}");
            }
        }
    }

    #[test]
    fn rows_of_one_place_are_told_apart() {
        let mut known = Rows::default();
        let mut row: Vec<u64> = (0..5).collect();
        let mut longer: Vec<u64> = (0..5 + ROWS as u64).collect();
        for _ in 0..2 {
            assert!(known.all_differ(&mut row));
            assert!(known.all_differ(&mut longer));
        }
        longer[5] = longer[4];
        assert!(!known.all_differ(&mut longer));
        assert!(!known.all_differ(&mut longer));
    }
}

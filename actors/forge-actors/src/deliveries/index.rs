//! The index of the rows of deliveries, in memory.
//!
//! Only a miss is trusted, so it has to know every row that is stored, and may know more. It does:
//!
//! - An entry is added before its row is put. A request that is undone later, alone or with its
//!   group, leaves an entry without a row: a find reads the row, and takes it for unseen.
//! - No entry goes because its row was deleted: that may be undone as well. Entries go when their
//!   row cannot be there any more, which a transaction can tell whose group has removed nothing
//!   yet: it sees what is committed and what the group has added. A row that it does not see is
//!   not stored, whatever became of former groups, and never will be, as no key is given twice.
//!   A group is told by its number: removals are noted with theirs, and a later group has a
//!   greater one. (A group that fails gives its number to the next, which is only more careful.)
//! - Entries go in bulk, by generations of ascending keys, once the first row is beyond them.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};

use store::{ReadRows, StoreError, WriteTxn};

use super::rows::{DeliveryRow, LookupKey, SEEN};

/// Bits of a key below its time.
const COUNTER_BITS: u32 = 20;
/// Entries of a generation: as many as a map of 65,536 places takes before it grows.
const GENERATION: usize = 65_536 / 8 * 7;
/// Most entries of a row.
const MARKS: usize = 3;

/// When the row of a key was added, in milliseconds.
pub(super) fn time_of(key: u64) -> u64 {
    key >> COUNTER_BITS
}

/// The key of a row added at `now` after that of key `last`.
pub(super) fn key_after(last: u64, now: u64) -> u64 {
    let now = now.min(u64::MAX >> COUNTER_BITS) << COUNTER_BITS;
    now.max(last.saturating_add(1))
}

/// Finds rows by hashes of what is in them. An entry takes 20 to 40 bytes, and a delivery has two
/// or three: 150,000 deliveries take 7 to 11 MB.
pub(super) struct Index {
    /// Nobody can choose what collides.
    keys: RandomState,
    /// The bits of hashes that are used: fewer in tests of collisions.
    mask: u64,
    /// Most entries of a generation.
    room: usize,
    /// By ascending keys.
    generations: VecDeque<Generation>,
    /// The greatest key given.
    last: u64,
    /// No row of a smaller key is stored.
    oldest: u64,
    /// The number of the last group that removed rows.
    removed_in: u64,
}

/// Entries of rows that came one after the other.
#[derive(Default)]
struct Generation {
    /// The newest row of each hash.
    newest: HashMap<u64, u64>,
    /// Hash and key of the other rows: an id that came with several bodies, and collisions.
    older: BTreeSet<(u64, u64)>,
    /// Entries that were added.
    added: usize,
    /// The greatest key in it.
    last: u64,
}

impl Default for Index {
    fn default() -> Self {
        Self::sized(u64::MAX, GENERATION)
    }
}

impl Index {
    /// One that uses these bits of a hash, and has generations of so many entries.
    pub(super) fn sized(mask: u64, room: usize) -> Self {
        Self {
            keys: RandomState::new(),
            mask,
            room,
            generations: VecDeque::new(),
            last: 0,
            oldest: u64::MAX,
            removed_in: 0,
        }
    }

    /// A key greater than all before: the time, and a counter where that is not enough.
    pub(super) fn next_key(&mut self, now: u64) -> u64 {
        self.last = key_after(self.last, now);
        self.last
    }

    /// Adds a row, whose key is greater than those before.
    pub(super) fn add(&mut self, key: u64, seen: &DeliveryRow) {
        self.last = self.last.max(key);
        self.oldest = self.oldest.min(key);
        if self
            .generations
            .back()
            .is_none_or(|newest| newest.added + MARKS > self.room)
        {
            self.generations.push_back(Generation::default());
        }
        let (keys, mask) = (&self.keys, self.mask);
        if let Some(generation) = self.generations.back_mut() {
            for mark in seen.lookup_keys() {
                generation.add(keys.hash_one(mark) & mask, key);
            }
        }
    }

    /// The newest row that has this mark, as the transaction sees it.
    pub(super) fn find(
        &mut self,
        rows: &mut WriteTxn<'_>,
        mark: LookupKey<'_>,
    ) -> Result<Option<DeliveryRow>, StoreError> {
        let hash = self.keys.hash_one(mark) & self.mask;
        let (mut found, mut missing) = (None, Vec::new());
        for key in self.rows_of(hash) {
            match rows.get(&SEEN, &key)? {
                Some(seen) if seen.lookup_keys().any(|other| other == mark) => {
                    found = Some(seen);
                    break;
                }
                // Another one with the same hash.
                Some(_) => {}
                None => missing.push(key),
            }
        }
        if self.removed_in < rows.group() {
            for key in missing {
                self.forget(hash, key);
            }
        }
        Ok(found)
    }

    /// The keys of a hash, greatest first.
    fn rows_of(&self, hash: u64) -> impl Iterator<Item = u64> {
        let generations = self.generations.iter().rev();
        generations.flat_map(move |generation| generation.rows_of(hash))
    }

    fn forget(&mut self, hash: u64, key: u64) {
        for generation in &mut self.generations {
            generation.forget(hash, key);
        }
    }

    /// No row of a smaller key is stored.
    pub(super) fn no_row_before(&self) -> u64 {
        self.oldest
    }

    /// This is the first row that a transaction of the group sees: drops what is before, if it is
    /// not the group itself that removed it.
    pub(super) fn first_row_is(&mut self, key: u64, group: u64) {
        if self.removed_in >= group {
            return;
        }
        self.oldest = key;
        while self.generations.front().is_some_and(|of| of.last < key) {
            self.generations.pop_front();
        }
    }

    /// A request of this group is about to remove rows.
    pub(super) fn removes_rows(&mut self, group: u64) {
        self.removed_in = group;
    }
}

impl Generation {
    fn add(&mut self, hash: u64, key: u64) {
        self.added += 1;
        self.last = key;
        if let Some(older) = self.newest.insert(hash, key)
            && older != key
        {
            self.older.insert((hash, older));
        }
    }

    fn rows_of(&self, hash: u64) -> impl Iterator<Item = u64> {
        let newest = self.newest.get(&hash).copied();
        // Nothing is older than what is not there: nearly always one look is enough.
        let older = newest.map(|_| self.older.range((hash, 0)..=(hash, u64::MAX)));
        let older = older.into_iter().flatten().rev().map(|(_, key)| *key);
        newest.into_iter().chain(older)
    }

    fn forget(&mut self, hash: u64, key: u64) {
        if self.newest.get(&hash) != Some(&key) {
            self.older.remove(&(hash, key));
            return;
        }
        self.newest.remove(&hash);
        let next = self.older.range((hash, 0)..=(hash, u64::MAX)).next_back();
        if let Some(next) = next.copied() {
            self.older.remove(&next);
            self.newest.insert(hash, next.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(n: u64) -> DeliveryRow {
        let mut body = [0; 32];
        body[..8].copy_from_slice(&n.to_be_bytes());
        DeliveryRow {
            id: Some(n.to_string()),
            body: Some(body),
            subject: Some(n.to_string()),
            led_to: None,
        }
    }

    #[test]
    fn as_many_rows_as_are_kept_take_little_memory() {
        let mut index = Index::default();
        for n in 0..150_000 {
            let key = index.next_key(n);
            index.add(key, &seen(n));
        }
        // A place has hash, key and a byte; maps fill seven places of eight.
        let place = 2 * size_of::<u64>() + 1;
        let places = index
            .generations
            .iter()
            .map(|of| of.newest.capacity() / 7 * 8);
        let bytes = places.sum::<usize>() * place;
        assert!(bytes < 11_000_000, "{bytes}");
    }

    #[test]
    fn entries_go_with_their_generation_once_a_later_group_has_seen_the_first_row() {
        let mut index = Index::default();
        let keys: Vec<u64> = (0..100_000)
            .map(|n| {
                let key = index.next_key(n);
                index.add(key, &seen(n));
                key
            })
            .collect();
        let known = |index: &Index, n: usize| {
            let hash = index.keys.hash_one(LookupKey::Id(&n.to_string()));
            index.rows_of(hash).any(|key| key == keys[n])
        };
        index.removes_rows(7);
        index.first_row_is(keys[50_000], 7);
        assert!(known(&index, 0), "the removal may be undone");
        index.first_row_is(keys[50_000], 8);
        assert!(!known(&index, 0));
        assert!((50_000..100_000).all(|n| known(&index, n)));
    }

    #[test]
    fn keys_rise_whatever_the_clock_does() {
        let mut index = Index::default();
        let times = [5, 5, 3, 6, u64::MAX, 1];
        let keys = times.map(|now| index.next_key(now));
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!([keys[0], keys[3]].map(time_of), [5, 6]);
    }
}

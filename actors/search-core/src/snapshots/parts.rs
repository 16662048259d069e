//! Sources that are split: each document belongs to one part, by its key alone.

use std::num::NonZeroU32;

/// A part of a source that is split by the ids of its documents; the whole of one that is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourcePart {
    /// Which, from 1.
    number: NonZeroU32,
    /// How many there are.
    count: NonZeroU32,
}

/// A part that there is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("there is no part {number} of {count}: parts are counted from 1")]
pub struct PartError {
    number: NonZeroU32,
    count: NonZeroU32,
}

impl SourcePart {
    /// A source that is not split.
    pub const WHOLE: Self = Self {
        number: NonZeroU32::MIN,
        count: NonZeroU32::MIN,
    };

    /// Part `number` of `count`.
    ///
    /// # Errors
    /// There are fewer.
    pub fn new(number: NonZeroU32, count: NonZeroU32) -> Result<Self, PartError> {
        if number > count {
            return Err(PartError { number, count });
        }
        Ok(Self { number, count })
    }

    /// All parts of a source that is split into `count`.
    pub fn all(count: NonZeroU32) -> impl Iterator<Item = Self> {
        let numbers = (1..=count.get()).filter_map(NonZeroU32::new);
        numbers.map(move |number| Self { number, count })
    }

    /// How many parts there are.
    #[must_use]
    pub fn count(self) -> NonZeroU32 {
        self.count
    }

    /// Whether it is the only one.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.count == NonZeroU32::MIN
    }

    /// Whether its indexer learns of all parts: what is learnt is of a whole source.
    #[must_use]
    pub fn is_learner(self) -> bool {
        self.number == NonZeroU32::MIN
    }

    /// Whether the document with this key belongs to it.
    #[must_use]
    pub fn contains(self, key: &str) -> bool {
        // FNV-1a: the same in every version and on every machine.
        let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // Its low bits alone depend on the last letters alone.
        let mixed = hash ^ (hash >> 32);
        mixed % u64::from(self.count.get()) == u64::from(self.number.get() - 1)
    }

    /// Its folder in the storage: `1-of-2`.
    #[must_use]
    pub fn folder(self) -> String {
        format!("{}-of-{}", self.number, self.count)
    }
}

impl std::fmt::Display for SourcePart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i18_every_document_has_one_part_and_parts_are_alike() {
        let three = NonZeroU32::new(3).expect("three");
        let mut sizes = [0; 3];
        for number in 0..3_000 {
            let key = format!("docs/page-{number}.md");
            let holders: Vec<usize> = SourcePart::all(three)
                .enumerate()
                .filter(|(_, part)| part.contains(&key))
                .map(|(place, _)| place)
                .collect();
            assert_eq!(holders.len(), 1, "{key}");
            sizes[holders[0]] += 1;
            assert!(SourcePart::WHOLE.contains(&key));
        }
        assert!(
            sizes.iter().all(|size| (900..1_100).contains(size)),
            "{sizes:?}"
        );
        let four = NonZeroU32::new(4).expect("four");
        assert_eq!(
            SourcePart::new(four, three).map_err(|error| error.to_string()),
            Err("there is no part 4 of 3: parts are counted from 1".to_owned())
        );
    }

    /// Indexers of two versions have to agree.
    #[test]
    fn i18_the_part_of_a_key_never_changes() {
        let two = NonZeroU32::new(2).expect("two");
        let parts: Vec<String> = ["a.md", "b.md", "docs/x.rs"]
            .iter()
            .flat_map(|key| SourcePart::all(two).filter(|part| part.contains(key)))
            .map(SourcePart::folder)
            .collect();
        assert_eq!(parts, ["2-of-2", "1-of-2", "2-of-2"]);
    }
}

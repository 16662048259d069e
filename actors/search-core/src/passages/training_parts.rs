//! What concept vectors are learnt from: documents, and of small collections their passages.

#![allow(
    clippy::single_range_in_vec_init,
    reason = "one part that is all of a text is a list of one range"
)]

use std::ops::Range;

use super::cuts::{evenly, passages};
use crate::document::ContentKind;

/// A source with fewer documents is learnt from by passages: the documents are too few to tell
/// words apart by.
const LEARNT_BY_PASSAGES_BELOW: u64 = 1_000;

/// Passages that are learnt from in all: more teach little, and take longer.
const MOST: usize = 10_000;

/// Bytes of a passage, about.
const USUAL: u64 = 1_000;

/// The parts of a text that are learnt from in a source of so many documents: all of it as one, or
/// its passages; of long texts some that are spread evenly.
///
/// Code is one part: what a file of it is about its passages say less well than the whole
/// (docs/adr/0052).
#[must_use]
pub fn learning_parts(text: &str, kind: ContentKind, documents: u64) -> Vec<Range<usize>> {
    if documents >= LEARNT_BY_PASSAGES_BELOW || kind == ContentKind::Code {
        return vec![0..text.len()];
    }
    let all = passages(text);
    let most = MOST / usize::try_from(documents).unwrap_or(MOST).max(1);
    evenly(all.len(), most)
        .map(|number| all[number].clone())
        .collect()
}

/// How many parts documents of these sizes in bytes have, about.
#[must_use]
pub fn estimate_parts(sizes: impl IntoIterator<Item = u64>) -> u64 {
    sizes.into_iter().map(|size| (size / USUAL).max(1)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_small_sources_are_learnt_by_passages_and_large_ones_by_documents() {
        let text = "A sentence of some words. ".repeat(2_000);
        let parts = |documents| learning_parts(&text, ContentKind::Prose, documents);
        assert_eq!(
            learning_parts(&text, ContentKind::Code, 200),
            [0..text.len()]
        );
        let all = passages(&text);
        assert!(all.len() > 30, "{}", all.len());
        for (documents, expected) in [(0, all.len()), (1, all.len()), (200, all.len()), (500, 20)] {
            assert_eq!(parts(documents).len(), expected, "{documents}");
        }
        assert_eq!(parts(500)[0], all[0]);
        for documents in [LEARNT_BY_PASSAGES_BELOW, u64::MAX] {
            assert_eq!(parts(documents), [0..text.len()]);
        }
        assert_eq!(learning_parts("", ContentKind::Prose, 10), [0..0]);
    }

    #[test]
    fn i16_parts_are_guessed_by_the_sizes_of_files() {
        for (sizes, expected) in [(&[][..], 0), (&[0, 10, 1_999], 3), (&[20_000, 500], 21)] {
            assert_eq!(estimate_parts(sizes.iter().copied()), expected, "{sizes:?}");
        }
    }
}

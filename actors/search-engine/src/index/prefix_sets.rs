//! The documents of the words that begin alike, kept as long as their segment is.
//!
//! Three letters stand for hundreds of words, or thousands, whose posting lists are all read; the
//! documents of two letters have a list of their own, see [`initials`](super::initials). The same
//! few hundred beginnings are asked for again and again, so the sets that took most reading are
//! kept. All words count, however many there are: a set is made once a segment.
//! A segment is never changed: a document that is deleted from it stays in its posting lists, and
//! in these sets. Who asks takes it out, as with any posting list. So a set holds whatever is
//! deleted or added, later states of the index take it over with the segment, and it goes when the
//! segment is merged into another.

use std::sync::{Arc, OnceLock};

use quick_cache::sync::Cache;
use tantivy::postings::BlockSegmentPostings;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, InvertedIndexReader, TantivyError};

use super::bitmap::Bitmap;
use super::error::IndexError;

/// A set of fewer words is as quickly read again.
const LEAST_WORDS: usize = 500;

/// Sets that are kept of one segment, at most, by their bytes.
const MAX_SETS: u64 = 64;

/// What keeping a set takes beside its documents and its letters.
const ENTRY_BYTES: u64 = 128;

/// The sets of one segment.
#[derive(Debug, Default)]
pub(super) struct PrefixSets {
    /// By the letters. None before the first that is worth it: most segments are small.
    sets: OnceLock<Cache<Box<str>, Arc<Bitmap>, SetWeight>>,
}

#[derive(Debug, Clone)]
struct SetWeight;

impl quick_cache::Weighter<Box<str>, Arc<Bitmap>> for SetWeight {
    fn weight(&self, letters: &Box<str>, set: &Arc<Bitmap>) -> u64 {
        (letters.len() + set.bytes()) as u64 + ENTRY_BYTES
    }
}

impl PrefixSets {
    /// The documents of a segment with a word that begins so, in any of its dictionaries; deleted
    /// ones are among them.
    pub(super) fn documents(
        &self,
        dictionaries: [&InvertedIndexReader; 2],
        letters: &str,
        max_doc: DocId,
    ) -> Result<Arc<Bitmap>, IndexError> {
        let kept = self.sets.get().and_then(|sets| sets.get(letters));
        if let Some(set) = kept {
            return Ok(set);
        }
        let (mut set, mut words) = (Bitmap::new(max_doc), 0);
        for dictionary in dictionaries {
            words += add_beginning(dictionary, letters, |_| true, usize::MAX, &mut set)?;
        }
        let set = Arc::new(set);
        if words >= LEAST_WORDS {
            let sets = self.sets.get_or_init(|| empty(&set));
            sets.insert(letters.into(), Arc::clone(&set));
        }
        Ok(set)
    }

    /// Bytes held, and the most there may be.
    #[cfg(test)]
    fn bytes(&self) -> (u64, u64) {
        let sets = self.sets.get();
        sets.map_or((0, 0), |sets| (sets.weight(), sets.capacity()))
    }
}

/// Room for the sets of a segment, of which this is one. So few are expected that all lie in one
/// shard: where there are several, each has its own share of the room.
fn empty(any: &Bitmap) -> Cache<Box<str>, Arc<Bitmap>, SetWeight> {
    let room = (any.bytes() as u64 + ENTRY_BYTES) * MAX_SETS;
    Cache::with_weighter(MAX_SETS as usize / 2, room, SetWeight)
}

/// Adds the documents of a dictionary's words that begin so and are `wanted`, of `most` words;
/// gives the number of words.
pub(super) fn add_beginning(
    dictionary: &InvertedIndexReader,
    letters: &str,
    wanted: impl Fn(&[u8]) -> bool,
    most: usize,
    into: &mut Bitmap,
) -> Result<usize, IndexError> {
    let add = |_: &[u8], list: &mut BlockSegmentPostings| into.insert_list(list);
    for_each_beginning(dictionary, letters, (wanted, most), add)
}

/// Visits a dictionary's words that begin so and are wanted, of so many at most, each with its
/// posting list; gives the number of words.
pub(super) fn for_each_beginning(
    dictionary: &InvertedIndexReader,
    letters: &str,
    (wanted, most): (impl Fn(&[u8]) -> bool, usize),
    mut visit: impl FnMut(&[u8], &mut BlockSegmentPostings),
) -> Result<usize, IndexError> {
    let range = dictionary.terms().range().ge(letters.as_bytes());
    let mut stream = range.into_stream().map_err(TantivyError::from)?;
    // One cursor goes over all lists: most hold a document or two, and a new one is a kilobyte.
    let mut cursor: Option<BlockSegmentPostings> = None;
    let mut words = 0;
    while words < most && stream.advance() && stream.key().starts_with(letters.as_bytes()) {
        if !wanted(stream.key()) {
            continue;
        }
        words += 1;
        let info = stream.value();
        match &mut cursor {
            Some(cursor) => dictionary.reset_block_postings_from_terminfo(info, cursor),
            None => dictionary
                .read_block_postings_from_terminfo(info, IndexRecordOption::Basic)
                .map(|first| cursor = Some(first)),
        }
        .map_err(TantivyError::from)?;
        if let Some(cursor) = &mut cursor {
            visit(stream.key(), cursor);
        }
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use search_core::document::ExtractedDocument;

    use super::MAX_SETS;
    use crate::index::{Durability, FileState, IndexOptions, IndexSnapshot, SourceIndex};

    fn letters(number: usize) -> String {
        let letter = |at: usize| char::from(b'a' + (at % 26) as u8);
        // Words that end with a y have other stems.
        let letters = [number / 26, number].map(letter);
        letters.into_iter().chain(['q']).collect()
    }

    /// A document with more words of one beginning than are read again.
    fn put(index: &mut SourceIndex, key: &str, beginning: &str) {
        let word = |at: usize| format!("{beginning}{at:03}x ");
        let document = ExtractedDocument {
            key: key.to_owned(),
            body: (0..600).map(word).collect(),
            ..ExtractedDocument::default()
        };
        let added = index.put(&document, FileState::default());
        added.expect("the document is put");
    }

    fn commit(index: &mut SourceIndex) -> IndexSnapshot {
        index.commit(Durability::Fast).expect("the commit succeeds")
    }

    #[test]
    fn i16_sets_stay_with_their_segment_and_go_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = SourceIndex::open(folder.path(), IndexOptions::default());
        let (mut index, _) = opened.expect("the index opens");
        for number in 0..3 {
            put(&mut index, &number.to_string(), "wor");
        }
        let first = commit(&mut index);
        let view = &first.segments()[0];
        assert_eq!(view.prefix_sets.bytes(), (0, 0), "nothing was asked for");
        let set = first.beginning(view, "wor").expect("reads");
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 1, 2]);
        let held = view.prefix_sets.bytes().0;
        assert!(held > 0);
        // What few words begin with is read again.
        assert_eq!(first.beginning(view, "wor001").expect("reads"), set);
        assert_eq!(view.prefix_sets.bytes().0, held);
        // A deletion leaves the segment as it is.
        index.delete("1").expect("deletes");
        let second = commit(&mut index);
        let later = &second.segments()[0];
        assert!(Arc::ptr_eq(&view.prefix_sets, &later.prefix_sets));
        assert_eq!(second.beginning(later, "wor").expect("reads"), set);
        let merged = index.merge().expect("merges");
        let view = &merged.segments()[0];
        assert_eq!(view.prefix_sets.bytes(), (0, 0));
        assert_eq!(merged.beginning(view, "wor").expect("reads").len(), 2);
    }

    #[test]
    fn i16_kept_sets_are_bounded() {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = SourceIndex::open(folder.path(), IndexOptions::default());
        let (mut index, _) = opened.expect("the index opens");
        let all = MAX_SETS as usize * 3;
        for number in 0..all {
            put(&mut index, &format!("{number:04}"), &letters(number));
        }
        let snapshot = commit(&mut index);
        let view = &snapshot.segments()[0];
        for number in (0..all).chain(0..all) {
            let set = snapshot.beginning(view, &letters(number)).expect("reads");
            assert_eq!(set.iter().collect::<Vec<_>>(), [number as u32]);
            let (held, most) = view.prefix_sets.bytes();
            assert!(held <= most, "{held} bytes of {most}");
        }
        let one = 128 + 3 + view.reader.max_doc().div_ceil(64) as u64 * 8;
        let (held, most) = view.prefix_sets.bytes();
        assert!(held > most / 2 && most <= one * MAX_SETS, "{held} {most}");
    }
}

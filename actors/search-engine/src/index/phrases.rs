//! The documents of a segment that hold a phrase, by the places of its words.
//!
//! The posting lists of the words are gone through together, the rarest leading; where all words
//! stand in a document their places decide. Of identifiers as a whole the index does not know where
//! they stand, nor how many numbers lie between their neighbours: a document with one of them,
//! where nothing else decides, is for [`verify`](super::verify) to read. Of words of source code it
//! knows the passages: where these lie too far apart the phrase is not there, all else is to be
//! read.

use search_core::query::MatchState;
use tantivy::postings::{Postings, SegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;
use tantivy::{DocId, DocSet, TERMINATED, TantivyError};

use super::bitmap::Bitmap;
use super::conditions::MatchBounds;
use super::error::IndexError;
use super::places::{NOWHERE, is_everywhere, is_unplaced, without_gaps};
use super::snapshot::{IndexSnapshot, SegmentView};

/// The documents in which the words of these posting lists follow one another, deleted ones
/// included.
pub(super) fn documents_with_phrase(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    terms: Vec<(&str, Option<&TermInfo>)>,
) -> Result<MatchBounds, IndexError> {
    let max_doc = view.reader.max_doc();
    let mut words = Vec::with_capacity(terms.len());
    for (place, (term, info)) in (0..).zip(terms) {
        let Some(info) = info else {
            return Ok(MatchBounds::exact(Bitmap::new(max_doc)));
        };
        words.push((place, info, is_everywhere(term)));
    }
    if words.is_empty() {
        return Ok(MatchBounds::exact(Bitmap::new(max_doc)));
    }
    let placed = snapshot.placed(view)?;
    words.sort_by_key(|(_, info, _)| info.doc_freq);
    let open = |(place, info, is_everywhere): (u32, &TermInfo, bool)| {
        let option = IndexRecordOption::WithFreqsAndPositions;
        let postings = view.text.read_postings_from_terminfo(info, option);
        postings.map(|postings| PhraseWord {
            place,
            is_everywhere,
            postings,
        })
    };
    let words: Result<Vec<PhraseWord>, _> = words.into_iter().map(open).collect();
    let mut phrase = OpenPhrase {
        words: words.map_err(TantivyError::from)?,
        places: Vec::new(),
        begins: Vec::new(),
    };
    let (mut known, mut undecided) = (Vec::new(), Vec::new());
    let mut document = phrase.words[0].postings.doc();
    while document != TERMINATED {
        match phrase.seek(document) {
            Ok(()) => {
                let has_places = placed.is_none_or(|placed| placed.contains(document));
                let state = if has_places {
                    phrase.state()
                } else if phrase.may_be_in_code() {
                    MatchState::Undecided
                } else {
                    MatchState::No
                };
                match state {
                    MatchState::Yes => known.push(document),
                    MatchState::Undecided => undecided.push(document),
                    MatchState::No => {}
                }
                document = phrase.words[0].postings.advance();
            }
            Err(next) => document = phrase.words[0].seek(next),
        }
    }
    let mut lower = Bitmap::new(max_doc);
    lower.insert_all(&known);
    if undecided.is_empty() {
        return Ok(MatchBounds::exact(lower));
    }
    let mut upper = lower.clone();
    upper.insert_all(&undecided);
    Ok(MatchBounds {
        upper,
        lower: Some(lower),
    })
}

/// Which of these documents, in ascending order, hold words at these places of a phrase. Those
/// whose words have no places do not.
pub(super) fn documents_among(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    words: &[(u32, &TermInfo)],
    documents: &[DocId],
) -> Result<Vec<bool>, IndexError> {
    let placed = snapshot.placed(view)?;
    let open = |&(place, info): &(u32, &TermInfo)| {
        let option = IndexRecordOption::WithFreqsAndPositions;
        let postings = view.text.read_postings_from_terminfo(info, option);
        postings.map(|postings| PhraseWord {
            place,
            is_everywhere: false,
            postings,
        })
    };
    let words: Result<Vec<PhraseWord>, _> = words.iter().map(open).collect();
    let mut phrase = OpenPhrase {
        words: words.map_err(TantivyError::from)?,
        places: Vec::new(),
        begins: Vec::new(),
    };
    let holds = |document: &DocId| {
        let has_places = placed.is_none_or(|placed| placed.contains(*document));
        has_places && phrase.is_in(*document)
    };
    Ok(documents.iter().map(holds).collect())
}

/// A word of a phrase.
struct PhraseWord {
    /// Its place in the phrase.
    place: u32,
    /// Whether its places say nothing.
    is_everywhere: bool,
    postings: SegmentPostings,
}

impl PhraseWord {
    /// The first document from `document` on.
    fn seek(&mut self, document: DocId) -> DocId {
        if self.postings.doc() < document {
            self.postings.seek(document)
        } else {
            self.postings.doc()
        }
    }
}

/// The posting lists of a phrase, the rarest word first.
struct OpenPhrase {
    words: Vec<PhraseWord>,
    /// Places of a word.
    places: Vec<u32>,
    /// Where the phrase may begin, by the words looked at.
    begins: Vec<u32>,
}

impl OpenPhrase {
    /// Goes to a document that holds all words; fails with the next one that may.
    fn seek(&mut self, document: DocId) -> Result<(), DocId> {
        for word in &mut self.words[1..] {
            let found = word.seek(document);
            if found != document {
                return Err(found);
            }
        }
        Ok(())
    }

    /// Whether a document behind those looked at holds the phrase.
    fn is_in(&mut self, document: DocId) -> bool {
        let all = self
            .words
            .iter_mut()
            .all(|word| word.seek(document) == document);
        all && matches!(self.state(), MatchState::Yes)
    }

    /// Whether the document, which is source code, may hold the phrase: in its text by the passages
    /// of the words, or in its title, whose words have no place.
    fn may_be_in_code(&mut self) -> bool {
        let reach = max_distance(self.words.len());
        let (mut may_be_title, mut leading) = (true, None);
        self.begins.clear();
        for word in &mut self.words {
            word.postings.positions(&mut self.places);
            may_be_title &= self.places.contains(&NOWHERE);
            if word.is_everywhere {
                continue;
            }
            self.places.retain(|&place| place != NOWHERE);
            match leading {
                None => {
                    leading = Some(word.place);
                    self.begins.extend(&self.places);
                    self.begins.dedup();
                }
                Some(leading) => {
                    let is_behind = word.place > leading;
                    retain_near(&mut self.begins, &self.places, is_behind, reach);
                }
            }
            if self.begins.is_empty() && !may_be_title {
                return false;
            }
        }
        may_be_title || leading.is_none() || !self.begins.is_empty()
    }

    /// Whether the document holds the phrase.
    fn state(&mut self) -> MatchState {
        let (mut is_first, mut is_unsure) = (true, false);
        for PhraseWord {
            place, postings, ..
        } in &mut self.words
        {
            postings.positions(&mut self.places);
            let without_nowhere = self.places.iter().filter(|&&place| place != NOWHERE);
            let is_anywhere = without_nowhere.clone().next().is_some();
            if !is_anywhere {
                return MatchState::No;
            }
            is_unsure |= without_nowhere.clone().any(|&place| is_unplaced(place));
            if !is_first && self.begins.is_empty() {
                continue;
            }
            let placed = without_nowhere.filter(|&&place| !is_unplaced(place));
            let begins = placed.filter_map(|&at| without_gaps(at).checked_sub(*place));
            if is_first {
                self.begins.clear();
                self.begins.extend(begins);
                is_first = false;
            } else {
                retain_common(&mut self.begins, begins);
            }
        }
        match (self.begins.is_empty(), is_unsure) {
            (false, _) => MatchState::Yes,
            (true, true) => MatchState::Undecided,
            (true, false) => MatchState::No,
        }
    }
}

/// Bytes of text that hold a phrase, for each of its words; no match of
/// [`PhraseFinder`](search_core::query::PhraseFinder) around its longest word reaches further.
const BYTES_PER_WORD: usize = 192;

/// The longest word itself.
const BESIDE: usize = 96;

/// Of two passages, one behind the other, at least one has so many bytes.
const LEAST_PASSAGE: usize = 700;

/// By how many passages the words of a phrase of so many may lie apart.
fn max_distance(words: usize) -> u32 {
    let longest = words * BYTES_PER_WORD + BESIDE;
    2 * (1 + longest / LEAST_PASSAGE) as u32
}

/// Keeps the passages from which another, of those given, is at most `reach` away: behind it, or
/// before it. Both are ascending, and may repeat.
fn retain_near(passages: &mut Vec<u32>, others: &[u32], is_behind: bool, reach: u32) {
    let mut at = 0;
    passages.retain(|&passage| {
        let (least, most) = if is_behind {
            (passage, passage.saturating_add(reach))
        } else {
            (passage.saturating_sub(reach), passage)
        };
        while others.get(at).is_some_and(|&other| other < least) {
            at += 1;
        }
        others.get(at).is_some_and(|&other| other <= most)
    });
}

/// Keeps the numbers that are among others; both are ascending, and may repeat.
fn retain_common(numbers: &mut Vec<u32>, others: impl Iterator<Item = u32>) {
    let mut others = others.peekable();
    numbers.retain(|&number| {
        while others.next_if(|&other| other < number).is_some() {}
        others.peek() == Some(&number)
    });
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{retain_common, retain_near};

    proptest! {
        #[test]
        fn i16_passages_near_others_are_kept(
            mut passages in prop::collection::vec(1_u32..40, 0..12),
            mut others in prop::collection::vec(1_u32..40, 0..12),
            reach in 0_u32..5,
            is_behind: bool,
        ) {
            passages.sort_unstable();
            others.sort_unstable();
            let is_near = |a: &u32| others.iter().any(|b| {
                let apart = if is_behind { b.checked_sub(*a) } else { a.checked_sub(*b) };
                apart.is_some_and(|apart| apart <= reach)
            });
            let expected: Vec<u32> = passages.iter().copied().filter(is_near).collect();
            retain_near(&mut passages, &others, is_behind, reach);
            prop_assert_eq!(passages, expected);
        }
    }

    #[test]
    fn i16_common_numbers_are_kept_however_often_they_are_there() {
        let mut numbers = vec![1, 3, 3, 5, 9];
        retain_common(&mut numbers, [2, 3, 5, 5, 8].into_iter());
        assert_eq!(numbers, [3, 3, 5]);
        retain_common(&mut numbers, [7].into_iter());
        assert!(numbers.is_empty());
    }
}

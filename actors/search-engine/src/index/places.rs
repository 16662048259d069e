//! Where words stand, as numbers in the posting lists: words that follow one another have numbers
//! that do, so that phrases are found without a text.
//!
//! A word has a number, each part of an identifier one of its own. An identifier as a whole stands
//! for several numbers; it has one of the [`GRID`], which no word has, in its passage: that it is
//! there is known, and a text says where. What belongs to the document as a whole, as its path,
//! has 0. Where passages begin is kept beside the words, so a number tells the passage.
//!
//! Places of source code would take an eighth of it. There a number is that of the passage, and no
//! beginnings are kept.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;
use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, stop_words};

/// Numbers that are multiples of this one stand for no place.
const GRID: u32 = 64;

/// What belongs to the document as a whole.
pub(super) const NOWHERE: u32 = 0;

/// The numbers of the words of one document: first of its text, then of its title.
#[derive(Debug)]
pub(super) struct WordNumbering {
    next: u32,
    /// The first number of the passage.
    begin: u32,
}

impl WordNumbering {
    /// Begins with the first word of the text.
    pub(super) const fn new() -> Self {
        Self { next: 1, begin: 1 }
    }

    /// The number of the next word, or part of an identifier.
    #[inline]
    pub(super) const fn take(&mut self) -> u32 {
        let at = self.next + (self.next.is_multiple_of(GRID)) as u32;
        self.next = at + 1;
        at
    }

    /// Begins a passage; gives the number it begins with.
    pub(super) const fn start_passage(&mut self) -> u32 {
        self.begin = self.next;
        self.begin
    }

    /// Goes on with the title; gives the number it begins with. It is no neighbour of the text.
    pub(super) const fn start_title(&mut self) -> u32 {
        self.next = (self.next / GRID + 2) * GRID;
        self.start_passage()
    }

    /// The number of an identifier as a whole.
    #[inline]
    pub(super) const fn whole_identifier(&self) -> u32 {
        let below = self.next / GRID * GRID;
        if below >= self.begin {
            below
        } else {
            below + GRID
        }
    }
}

/// Whether a number says no more than that a word is in a passage.
#[inline]
pub(super) const fn is_unplaced(place: u32) -> bool {
    place.is_multiple_of(GRID)
}

/// Numbers of words without gaps: those of neighbours differ by one.
#[inline]
pub(super) const fn without_gaps(place: u32) -> u32 {
    place - place / GRID
}

/// The passage of a place, from 1; 0 for what belongs to the document as a whole. `begins` are the
/// numbers that passages begin with, but for the first one, and behind them that of the title; none
/// where the place is the passage.
pub(super) fn passage_of(place: u32, begins: &[u32]) -> u32 {
    if place == NOWHERE || begins.is_empty() {
        return place;
    }
    let before = begins.partition_point(|&begin| begin <= place);
    if before == begins.len() {
        return 0;
    }
    before as u32 + 1
}

/// Whether a term stands in any passage, so that its places say nothing about one.
pub(super) fn is_everywhere(term: &str) -> bool {
    static TERMS: LazyLock<FxHashSet<String>> = LazyLock::new(|| {
        let (analyzer, mut buffer) = (WordAnalyzer::default(), WordTerms::default());
        let mut terms = FxHashSet::default();
        for word in stop_words() {
            analyzer.analyze(word, &mut buffer);
            let whole = buffer.iter().filter(|(_, kind)| *kind == TermKind::Whole);
            terms.extend(whole.map(|(term, _)| term.to_owned()));
        }
        terms
    });
    TERMS.contains(term)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_neighbours_have_neighbouring_numbers_and_no_word_one_of_the_grid() {
        let mut numbering = WordNumbering::new();
        let places: Vec<u32> = (0..300).map(|_| numbering.take()).collect();
        assert!(places.iter().all(|&place| !is_unplaced(place)));
        let numbers = places.iter().map(|&place| without_gaps(place));
        assert!(numbers.eq(1..301));
    }

    #[test]
    fn i16_identifiers_as_a_whole_are_in_their_passage() {
        let (mut numbering, mut begins) = (WordNumbering::new(), Vec::new());
        let mut wholes = Vec::new();
        for passage in 1..=5 {
            for _ in 0..GRID + 7 {
                wholes.push((numbering.whole_identifier(), passage));
                numbering.take();
            }
            if passage < 5 {
                begins.push(numbering.start_passage());
            }
        }
        let last = numbering.take();
        begins.push(numbering.start_title());
        wholes.push((numbering.whole_identifier(), 0));
        for (place, passage) in wholes {
            assert!(is_unplaced(place));
            assert_eq!(passage_of(place, &begins), passage, "{place} {begins:?}");
        }
        let title = numbering.take();
        assert_eq!(passage_of(title, &begins), 0);
        assert!(without_gaps(title) > without_gaps(last) + 1);
        assert_eq!(passage_of(NOWHERE, &begins), 0);
        assert_eq!(passage_of(3, &begins), 1);
        assert_eq!(passage_of(3, &[]), 3, "source code");
    }

    #[test]
    fn i16_stop_words_say_nothing_about_a_passage() {
        assert!(is_everywhere("the") && is_everywhere("of") && !is_everywhere("memori"));
    }
}

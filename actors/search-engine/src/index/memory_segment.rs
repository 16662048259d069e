//! Terms and posting lists of a segment that are still in memory.

use rustc_hash::FxHashMap;

use super::arena::Arena;
use super::places::{NOWHERE, WordNumbering};
use super::postings::PostingList;
use super::term_id::TermId;
use super::vocabulary::Vocabulary;

/// Posting lists of few documents a segment, by term.
pub(super) type SparsePostings = FxHashMap<TermId, PostingList>;

/// Terms and posting lists that are still in memory.
pub(super) struct PendingPostings {
    pub(super) vocabulary: Vocabulary,
    pub(super) lists: Lists,
}

/// Posting lists that are still in memory.
#[derive(Default)]
pub(super) struct Lists {
    pub(super) arena: Arena,
    /// Posting lists of the text and exact forms, by term number.
    pub(super) postings: Vec<PostingList>,
    /// What BM25F counts on top: headings and tags.
    pub(super) surplus: SparsePostings,
    /// Terms of titles.
    pub(super) title: SparsePostings,
}

/// What an occurrence of a word counts, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedOccurrence {
    pub(super) weight: u32,
    /// Its number, see [`places`](super::places).
    pub(super) place: u32,
}

impl WeightedOccurrence {
    /// What belongs to the document as a whole: its title, its path.
    pub(super) const fn for_document(weight: u32) -> Self {
        Self {
            weight,
            place: NOWHERE,
        }
    }
}

impl PendingPostings {
    pub(super) fn new(vocabulary: Vocabulary) -> Self {
        Self {
            vocabulary,
            lists: Lists::default(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let lists = &self.lists;
        let sparse = lists.surplus.capacity() + lists.title.capacity();
        self.vocabulary.bytes()
            + lists.arena.bytes()
            + lists.postings.capacity() * size_of::<PostingList>()
            + sparse * (size_of::<PostingList>() + 8)
    }
}

impl Lists {
    /// Counts the terms of a word, its exact form once a document. There are `terms` terms so far.
    #[inline]
    pub(super) fn count(
        &mut self,
        terms: usize,
        document: u32,
        ids: &[TermId],
        exact: Option<TermId>,
        WeightedOccurrence { weight, place }: WeightedOccurrence,
    ) {
        if self.postings.len() < terms {
            self.postings.resize(terms, PostingList::default());
        }
        for &id in ids {
            self.postings[id as usize].count(document, place, weight, &mut self.arena);
        }
        if let Some(id) = exact {
            self.postings[id as usize].count_once(document, &mut self.arena);
        }
    }

    /// Counts the terms of the next word of a text `weight` times, where they stand. There are
    /// `terms` terms so far.
    #[inline]
    pub(super) fn count_next(
        &mut self,
        terms: usize,
        document: u32,
        (ids, exact): (&[TermId], Option<TermId>),
        weight: u32,
        numbering: &mut WordNumbering,
    ) {
        match ids {
            [whole, parts @ ..] if !parts.is_empty() => {
                let place = numbering.whole_identifier();
                let counted = WeightedOccurrence { weight, place };
                self.count(terms, document, &[*whole], exact, counted);
                for part in parts {
                    let place = numbering.take();
                    let list = &mut self.postings[*part as usize];
                    list.count(document, place, weight, &mut self.arena);
                }
            }
            // A word that is too long to be a term stands between others, too.
            _ => {
                let place = numbering.take();
                let counted = WeightedOccurrence { weight, place };
                self.count(terms, document, ids, exact, counted);
            }
        }
    }

    pub(super) fn count_surplus(&mut self, document: u32, ids: &[TermId], surplus: u32) {
        for &id in ids {
            self.surplus
                .entry(id)
                .or_default()
                .count(document, 0, surplus, &mut self.arena);
        }
    }

    pub(super) fn count_title(&mut self, document: u32, ids: &[TermId]) {
        for &id in ids {
            self.title
                .entry(id)
                .or_default()
                .count(document, 0, 1, &mut self.arena);
        }
    }
}

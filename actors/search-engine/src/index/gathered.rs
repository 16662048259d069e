//! Terms and posting lists of a segment that are still in memory.

use rustc_hash::FxHashMap;

use super::arena::Arena;
use super::postings::Posting;
use super::term_id::TermId;
use super::vocabulary::Vocabulary;

/// Posting lists of few documents a segment, by term.
pub(super) type SparsePostings = FxHashMap<TermId, Posting>;

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
    pub(super) postings: Vec<Posting>,
    /// What BM25F counts on top: headings and tags.
    pub(super) surplus: SparsePostings,
    /// Terms of titles.
    pub(super) title: SparsePostings,
}

/// What an occurrence of a word counts, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighted {
    pub(super) weight: u32,
    /// The passage it stands in, from 1; 0 for what belongs to the document as a whole.
    pub(super) passage: u32,
}

impl Weighted {
    /// What belongs to the document as a whole: its title, its path.
    pub(super) const fn whole(weight: u32) -> Self {
        Self { weight, passage: 0 }
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
            + lists.postings.capacity() * size_of::<Posting>()
            + sparse * (size_of::<Posting>() + 8)
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
        Weighted { weight, passage }: Weighted,
    ) {
        if self.postings.len() < terms {
            self.postings.resize(terms, Posting::default());
        }
        for &id in ids {
            self.postings[id as usize].count(document, passage, weight, &mut self.arena);
        }
        if let Some(id) = exact {
            self.postings[id as usize].count_once(document, &mut self.arena);
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

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
    /// Counts the terms of a word `weight` times, its exact form once a document. There are `terms`
    /// terms so far.
    #[inline]
    pub(super) fn count(
        &mut self,
        terms: usize,
        document: u32,
        ids: &[TermId],
        exact: Option<TermId>,
        weight: u32,
    ) {
        if self.postings.len() < terms {
            self.postings.resize(terms, Posting::default());
        }
        for &id in ids {
            self.postings[id as usize].count(document, weight, &mut self.arena);
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
                .count(document, surplus, &mut self.arena);
        }
    }

    pub(super) fn count_title(&mut self, document: u32, ids: &[TermId]) {
        for &id in ids {
            self.title
                .entry(id)
                .or_default()
                .count(document, 1, &mut self.arena);
        }
    }
}

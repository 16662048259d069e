//! From raw words to term numbers, each word analysed once.
//!
//! Folding and stemming cost a hundred times more than a look into a table, and a text uses few
//! words often. A word of up to 15 bytes is its own 16-byte key, so that a look takes no
//! indirection; the key of a longer one is a seeded hash of 120 bits, of which no two are the same.
//! The parts of an identifier are words themselves and found in the same table.

use std::hash::BuildHasher;
use std::ops::Range;

use foldhash::fast::RandomState as FastHasher;
use search_core::analysis::{
    MAX_WORD_BYTES, TermKind, Word, WordAnalyzer, WordTerms, fold, identifier_parts, stop_words,
    words,
};

use super::tables::{SegmentTerms, SegmentWordTable};
use super::term_id::{Namespace, TermId, TermList};

/// Marks a place in the table of lists.
const IS_LIST: u32 = 1 << 31;

/// Words looked up at once.
const BATCH: usize = 16;

/// Marks a list whose last term is an exact form.
const HAS_EXACT: u32 = 1 << 31;

/// Longest word that is its own key.
const SHORT_BYTES: usize = 15;

/// Words after which a name is defined, in the languages that have such words. All are their own
/// stems, so that their terms have the first numbers.
const DEFINING_WORDS: [&str; 8] = [
    "def", "class", "fn", "func", "function", "trait", "struct", "enum",
];

/// Numbers of slots in the tables of a vocabulary.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TableSizes {
    words: usize,
    terms: usize,
}

/// Words, terms and which gives which.
pub(super) struct Vocabulary {
    analyzer: WordAnalyzer,
    buffer: WordTerms,
    folded: String,
    words: SegmentWordTable,
    long: [FastHasher; 2],
    /// Lists of term numbers, each behind its length.
    lists: Vec<TermId>,
    terms: SegmentTerms,
    /// Behind the last of the terms of stop words, which follow those of the words that define.
    stop_end: TermId,
}

impl Vocabulary {
    pub(super) fn new() -> Self {
        Self::sized(TableSizes::default())
    }

    /// Sizes of tables for about as many words: the last growth is left off, it may not be needed.
    pub(super) fn sizes(&self) -> TableSizes {
        TableSizes {
            words: self.words.slots() / 2,
            terms: self.terms.slots() / 2,
        }
    }

    /// An empty vocabulary with tables of these sizes.
    pub(super) fn sized(sizes: TableSizes) -> Self {
        let mut vocabulary = Self {
            analyzer: WordAnalyzer::default(),
            buffer: WordTerms::default(),
            folded: String::new(),
            words: SegmentWordTable::new(sizes.words),
            long: [FastHasher::default(), FastHasher::default()],
            lists: Vec::new(),
            terms: SegmentTerms::new(sizes.terms),
            stop_end: 0,
        };
        for word in DEFINING_WORDS {
            vocabulary.find_terms(word, 0, word.len());
        }
        debug_assert_eq!(vocabulary.len(), DEFINING_WORDS.len());
        for word in stop_words() {
            vocabulary.find_terms(word, 0, word.len());
        }
        vocabulary.stop_end = vocabulary.len() as TermId;
        vocabulary
    }

    /// Number of terms.
    pub(super) fn len(&self) -> usize {
        self.terms.len()
    }

    /// Bytes held, about.
    pub(super) fn bytes(&self) -> usize {
        self.words.bytes() + self.lists.capacity() * 4 + self.terms.bytes()
    }

    /// The text of a term.
    pub(super) fn term(&self, id: TermId) -> &[u8] {
        self.terms.text(id)
    }

    /// The field of a term.
    pub(super) fn namespace(&self, id: TermId) -> Namespace {
        self.terms.namespace(id)
    }

    /// Whether a word announces the definition of the name behind it.
    pub(super) const fn is_defining(list: TermList) -> bool {
        list.0 < DEFINING_WORDS.len() as u32
    }

    /// Whether a term stands in any passage, so that its passages say nothing.
    #[inline]
    pub(super) const fn is_everywhere(&self, id: TermId) -> bool {
        id >= DEFINING_WORDS.len() as TermId && id < self.stop_end
    }

    /// The terms of a list: those of the text, and the exact form.
    #[inline]
    pub(super) fn ids<'l>(&'l self, list: &'l TermList) -> (&'l [TermId], Option<TermId>) {
        if list.0 & IS_LIST == 0 {
            return (std::slice::from_ref(&list.0), None);
        }
        let at = (list.0 & !IS_LIST) as usize;
        let head = self.lists[at];
        let end = at + (head & !HAS_EXACT) as usize;
        if head & HAS_EXACT == 0 {
            (&self.lists[at + 1..=end], None)
        } else {
            (&self.lists[at + 1..end], Some(self.lists[end]))
        }
    }

    /// Calls `each` with every word of `text` and its terms.
    ///
    /// Words are looked up a batch at a time: the looks of a batch do not wait for one another, so
    /// that the memory answers several of them at once.
    #[inline]
    pub(super) fn for_each_word<'t>(
        &mut self,
        text: &'t str,
        mut each: impl FnMut(&Self, &Word<'t>, TermList),
    ) {
        let mut words = words(text);
        let mut batch = [(Word { start: 0, text: "" }, None); BATCH];
        loop {
            let mut filled = 0;
            for place in &mut batch {
                let Some(word) = words.next() else { break };
                let key = self.key(text, word.start, word.text.len());
                *place = (word, self.words.glance(key));
                filled += 1;
            }
            for (word, list) in &batch[..filled] {
                let list =
                    list.unwrap_or_else(|| self.find_terms(text, word.start, word.text.len()));
                each(self, word, list);
            }
            if filled < BATCH {
                return;
            }
        }
    }

    #[inline]
    fn key(&self, text: &str, start: usize, length: usize) -> u128 {
        if length <= SHORT_BYTES {
            short_key(text.as_bytes(), start, length)
        } else {
            self.long_key(&text[start..start + length])
        }
    }

    /// The terms of the raw word `text[start..start + length]`.
    pub(super) fn find_terms(&mut self, text: &str, start: usize, length: usize) -> TermList {
        let key = self.key(text, start, length);
        match self.words.find(key) {
            Some(list) => list,
            None => self.add(&text[start..start + length], key),
        }
    }

    /// The number of a term that stands as it is among the exact forms. No word is such a term: it
    /// begins with a sign.
    pub(super) fn sign_term(&mut self, term: &str) -> TermId {
        debug_assert!(!term.starts_with(|c: char| c.is_alphanumeric() && !c.is_ascii_digit()));
        self.terms.intern(Namespace::Exact, term)
    }

    fn long_key(&self, word: &str) -> u128 {
        let [low, high] = &self.long;
        u128::from(low.hash_one(word)) | (u128::from(high.hash_one(word)) << 64) | (0xff << 120)
    }

    #[cold]
    fn add(&mut self, word: &str, key: u128) -> TermList {
        let mut parts = Vec::new();
        identifier_parts(word, &mut parts);
        let list = if parts.is_empty() {
            self.analyze(word)
        } else {
            self.add_identifier(word, &parts)
        };
        self.words.insert(key, list);
        list
    }

    fn add_identifier(&mut self, word: &str, parts: &[Range<usize>]) -> TermList {
        let mut folded = std::mem::take(&mut self.folded);
        folded.clear();
        fold(word, &mut folded);
        let mut ids = Vec::with_capacity(parts.len() + 1);
        if folded.len() <= MAX_WORD_BYTES {
            ids.push(self.terms.intern(Namespace::Text, &folded));
            for part in parts {
                let list = self.find_terms(word, part.start, part.len());
                ids.extend(self.ids(&list).0.first());
            }
        }
        self.folded = folded;
        let at = self.lists.len();
        self.lists.push(ids.len() as u32);
        self.lists.extend_from_slice(&ids);
        TermList(at as u32 | IS_LIST)
    }

    /// Analyses a word without parts.
    fn analyze(&mut self, word: &str) -> TermList {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.analyzer.analyze(word, &mut buffer);
        let at = self.lists.len();
        self.lists.push(0);
        let mut exact = 0;
        for (term, kind) in buffer.iter() {
            let namespace = match kind {
                TermKind::Whole | TermKind::Part => Namespace::Text,
                TermKind::Exact => Namespace::Exact,
            };
            if kind == TermKind::Exact {
                exact = HAS_EXACT;
            }
            let id = self.terms.intern(namespace, term);
            self.lists.push(id);
        }
        self.buffer = buffer;
        let length = self.lists.len() - at - 1;
        if length == 1 {
            let id = self.lists[at + 1];
            self.lists.truncate(at);
            return TermList(id);
        }
        self.lists[at] = length as u32 | exact;
        TermList(at as u32 | IS_LIST)
    }
}

/// The bytes of a short word and their number, as one number that is never 0.
#[inline]
fn short_key(text: &[u8], start: usize, length: usize) -> u128 {
    let window = text
        .get(start..start + 16)
        .and_then(|window| window.try_into().ok());
    let bytes = window.unwrap_or_else(|| {
        let mut padded = [0; 16];
        padded[..length].copy_from_slice(&text[start..start + length]);
        padded
    });
    let mask = (1_u128 << (8 * length)) - 1;
    (u128::from_le_bytes(bytes) & mask) | ((length as u128) << 120)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, words};

    use super::Vocabulary;

    fn text(vocabulary: &Vocabulary, id: crate::index::term_id::TermId) -> String {
        String::from_utf8(vocabulary.term(id).to_vec()).expect("terms are text")
    }

    fn terms(vocabulary: &mut Vocabulary, line: &str) -> Vec<String> {
        let mut found = Vec::new();
        vocabulary.for_each_word(line, |vocabulary, _, list| {
            let (ids, exact) = vocabulary.ids(&list);
            found.extend(ids.iter().map(|&id| text(vocabulary, id)));
            found.extend(exact.map(|id| format!("={}", text(vocabulary, id))));
        });
        found
    }

    #[test]
    fn words_give_the_terms_of_the_analysis() {
        let mut vocabulary = Vocabulary::new();
        let text = "Wings getUserName wing internationalisation_of x";
        assert_eq!(
            terms(&mut vocabulary, text),
            [
                "wing",
                "=wings",
                "getusername",
                "get",
                "user",
                "name",
                "wing",
                "internationalisation_of",
                "internationalis",
                "of",
                "x",
            ]
        );
    }

    #[test]
    fn words_that_define_are_told_from_others() {
        let mut vocabulary = Vocabulary::new();
        let mut is_defining =
            |word: &str| Vocabulary::is_defining(vocabulary.find_terms(word, 0, word.len()));
        assert!(is_defining("def") && is_defining("struct"));
        assert!(!is_defining("functions") && !is_defining("define") && !is_defining("get_class"));
    }

    proptest! {
        #[test]
        fn words_give_what_the_analysis_gives(word in "[a-zA-Z0-9_éÉß漢]{1,24}") {
            let mut vocabulary = Vocabulary::new();
            let mut expected = Vec::new();
            let mut buffer = WordTerms::default();
            for word in words(&word) {
                WordAnalyzer::default().analyze(word.text, &mut buffer);
                expected.extend(buffer.iter().map(|(term, kind)| match kind {
                    TermKind::Exact => format!("={term}"),
                    _ => term.to_owned(),
                }));
            }
            prop_assert_eq!(terms(&mut vocabulary, &word), expected);
        }

        #[test]
        fn a_word_gives_the_same_terms_however_often_it_is_seen(
            list in prop::collection::vec("[a-zA-Z0-9_é漢]{1,20}", 1..300),
        ) {
            let mut vocabulary = Vocabulary::new();
            let text = list.join(" ");
            let first = terms(&mut vocabulary, &text);
            let known = vocabulary.len();
            prop_assert_eq!(terms(&mut vocabulary, &text), first);
            prop_assert_eq!(vocabulary.len(), known);
        }
    }
}

//! From text to the terms that are learnt from.

use search_core::analysis::{TermKind, WordAnalyzer, WordTerms, is_stop_word, words};

/// Gives the terms of texts, by the analysis of the index: stems, identifiers whole and in parts,
/// without stop words.
#[derive(Debug, Default)]
pub struct TermReader {
    analyzer: WordAnalyzer,
    terms: WordTerms,
}

impl TermReader {
    /// Calls `each` with the terms of `text`, in order, until it answers `false`.
    pub fn for_each(&mut self, text: &str, mut each: impl FnMut(&str) -> bool) {
        for word in words(text) {
            self.analyzer.analyze(word.text, &mut self.terms);
            if is_stop_word(self.terms.folded()) {
                continue;
            }
            let terms = self
                .terms
                .iter()
                .filter(|(_, kind)| *kind != TermKind::Exact);
            for (term, _) in terms {
                if !each(term) {
                    return;
                }
            }
        }
    }

    /// The first terms of `text`, at most `limit` of them.
    pub fn read(&mut self, text: &str, limit: usize) -> Vec<String> {
        let mut found = Vec::new();
        if limit > 0 {
            self.for_each(text, |term| {
                found.push(term.to_owned());
                found.len() < limit
            });
        }
        found
    }
}

/// What a term that a document holds `count` times counts for in its vector.
pub(crate) const fn document_weight(count: u32) -> f32 {
    match count {
        0 => 0.0,
        1 => 1.0,
        2 | 3 => 2.0,
        _ => 3.0,
    }
}

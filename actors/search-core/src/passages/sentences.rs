//! Sentences of a text, with the words that count.

use rustc_hash::FxHashMap;
use unicode_segmentation::UnicodeSegmentation;

use crate::analysis::{WordAnalyzer, WordTerms, is_stop_word, words};

/// Sentences looked at; the rest of a longer text is not read.
const MAX_SENTENCES: usize = 400;
/// Longer ones are tables, lists of names or code without full stops.
const MAX_SENTENCE_CHARS: usize = 600;

/// One sentence.
#[derive(Debug, Clone)]
pub(super) struct Sentence<'t> {
    /// As it stands in the text.
    pub(super) text: &'t str,
    /// Its terms with their counts, without stop words.
    pub(super) terms: FxHashMap<String, u32>,
}

/// The sentences of `text` that say something: by Unicode's sentence boundaries (UAX #29) inside
/// each line; lines are paragraphs, headings and list entries.
pub(super) fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let analyzer = WordAnalyzer::default();
    let mut buffer = WordTerms::default();
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        if fenced || is_markup(line) {
            continue;
        }
        for sentence in line.unicode_sentences() {
            let sentence = sentence
                .trim()
                .trim_start_matches(['-', '*', '>', '#', ' ', '\t']);
            if sentence.chars().count() > MAX_SENTENCE_CHARS {
                continue;
            }
            let terms = count_terms(sentence, &analyzer, &mut buffer);
            if terms.len() >= 3 {
                found.push(Sentence {
                    text: sentence,
                    terms,
                });
            }
            if found.len() == MAX_SENTENCES {
                return found;
            }
        }
    }
    found
}

/// Rows of tables and lines without a letter.
fn is_markup(line: &str) -> bool {
    line.trim_start().starts_with('|') || !line.chars().any(char::is_alphabetic)
}

/// Terms and their counts of any text.
pub(super) fn terms_of(text: &str) -> FxHashMap<String, u32> {
    count_terms(text, &WordAnalyzer::default(), &mut WordTerms::default())
}

fn count_terms(
    text: &str,
    analyzer: &WordAnalyzer,
    buffer: &mut WordTerms,
) -> FxHashMap<String, u32> {
    let mut terms = FxHashMap::default();
    for word in words(text) {
        analyzer.analyze(word.text, buffer);
        if is_stop_word(buffer.folded()) {
            continue;
        }
        if let Some((term, _)) = buffer.iter().next() {
            *terms.entry(term.to_owned()).or_insert(0) += 1;
        }
    }
    terms
}

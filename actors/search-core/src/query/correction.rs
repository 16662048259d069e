//! A query with a typing mistake put right.

use super::matcher::folded;
use super::parsed::ParsedQuery;
use super::terms::QueryTerm;
use crate::analysis::{TermKind, WordAnalyzer, WordTerms};

impl ParsedQuery {
    /// The query with another word in the place of `words[index]`: its terms for the former ones.
    #[must_use]
    pub fn with_word(&self, index: usize, word: &str) -> Self {
        let mut query = self.clone();
        let former = &query.words[index];
        let count = query.terms[former.whole].count;
        let mut taken = former.parts.clone();
        taken.push(former.whole);
        for term in taken {
            let once = &mut query.terms[term].count;
            *once = once.saturating_sub(count);
        }
        let mut terms = WordTerms::default();
        WordAnalyzer::default().analyze(word, &mut terms);
        let (mut whole, mut parts) = (None, Vec::new());
        for (text, kind) in terms.iter() {
            match kind {
                TermKind::Whole => whole = Some(query.add_count(text, count)),
                TermKind::Part => parts.push(query.add_count(text, count)),
                TermKind::Exact => {}
            }
        }
        let place = &mut query.words[index];
        word.clone_into(&mut place.surface);
        place.folded = folded(word);
        place.whole = whole.unwrap_or(place.whole);
        place.parts = parts;
        query
    }

    /// The query that looks for these words as well, in the place of one that nothing holds. They
    /// are found where any word is enough.
    #[must_use]
    pub fn with_words(&self, index: usize, words: &[String]) -> Self {
        let Some((first, others)) = words.split_first() else {
            return self.clone();
        };
        let mut query = self.with_word(index, first);
        let mut terms = WordTerms::default();
        for word in others {
            WordAnalyzer::default().analyze(word, &mut terms);
            if let Some((whole, _)) = terms.iter().next() {
                query.add_count(whole, 1);
            }
        }
        query
    }

    /// The index of a term, counted `count` times more.
    fn add_count(&mut self, text: &str, count: u32) -> usize {
        let known = self.terms.iter().position(|one| one.text == text);
        let place = known.unwrap_or_else(|| {
            self.terms.push(QueryTerm {
                text: text.to_owned(),
                count: 0,
            });
            self.terms.len() - 1
        });
        self.terms[place].count += count;
        place
    }
}

/// A word in small letters in the case of the one that was typed for it: `hashmap` for `HashMpa` is
/// `HashMap`. What both begin and end with keeps its letters; between them case is taken by place.
#[must_use]
pub fn in_case_of(word: &str, typed: &str) -> String {
    if typed.contains(char::is_uppercase) && !typed.contains(char::is_lowercase) {
        return word.to_uppercase();
    }
    let typed: Vec<char> = typed.chars().collect();
    let word: Vec<char> = word.chars().collect();
    let is_same = |a: char, b: char| a.to_lowercase().eq(b.to_lowercase());
    let shorter = typed.len().min(word.len());
    let begin = (0..shorter)
        .take_while(|&at| is_same(typed[at], word[at]))
        .count();
    let end = (1..=shorter - begin)
        .take_while(|&back| is_same(typed[typed.len() - back], word[word.len() - back]))
        .count();
    let between = begin..word.len() - end;
    let has_places = typed.len() == word.len();
    let mut written: String = typed[..begin].iter().collect();
    for at in between {
        if has_places && typed[at].is_uppercase() {
            written.extend(word[at].to_uppercase());
        } else {
            written.push(word[at]);
        }
    }
    written.extend(&typed[typed.len() - end..]);
    written
}

#[cfg(test)]
mod tests {
    use super::in_case_of;
    use crate::query::{SearchRequest, parse};

    #[test]
    fn i16_corrected_identifiers_keep_their_case() {
        for (word, typed, expected) in [
            ("hashmap", "HashMpa", "HashMap"),
            ("hashmap", "HasMap", "HashMap"),
            ("hashmap", "HashhMap", "HashMap"),
            ("hashmap", "HahsMap", "HashMap"),
            ("hashmap", "HashNap", "HashMap"),
            ("read_exact_at", "read_exat_at", "read_exact_at"),
            ("kernel", "kernal", "kernel"),
            ("max_excerpt_bytes", "MAX_EXERPT_BYTES", "MAX_EXCERPT_BYTES"),
            ("aa", "a", "aa"),
            ("a", "aa", "a"),
        ] {
            assert_eq!(in_case_of(word, typed), expected, "{typed}");
        }
    }

    #[test]
    fn the_parts_of_a_mistyped_identifier_count_no_more() {
        let query = parse(&SearchRequest::for_text("HashMpa guide")).expect("parses");
        let right = query.with_word(0, "HashMap");
        let counted = right.terms().iter().filter(|term| term.count > 0);
        let mut counted: Vec<&str> = counted.map(|term| term.text.as_str()).collect();
        counted.sort_unstable();
        assert_eq!(counted, ["guid", "hash", "hashmap", "map"]);
        assert_eq!(right.words()[0].parts.len(), 2);
    }
}

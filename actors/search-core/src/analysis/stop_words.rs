//! English words that carry the question, not its subject.

/// Function words, sorted: articles, pronouns, prepositions, conjunctions, auxiliaries.
const STOP_WORDS: &[&str] = &[
    "a", "about", "am", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "did", "do", "does", "doing", "done", "for", "from", "had", "has", "have",
    "having", "he", "her", "him", "his", "how", "i", "if", "in", "into", "is", "it", "its", "may",
    "me", "might", "must", "my", "of", "on", "or", "our", "shall", "she", "should", "so", "some",
    "such", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this",
    "those", "to", "upon", "us", "was", "we", "were", "what", "when", "where", "which", "who",
    "whom", "whose", "why", "will", "with", "would", "you", "your",
];

/// Whether a folded word says nothing about the subject of a query: question words (`how`,
/// `what`), articles, prepositions, auxiliaries. Negations stay: they are the subject at times.
#[must_use]
pub fn is_stop_word(folded: &str) -> bool {
    STOP_WORDS.binary_search(&folded).is_ok()
}

/// All such words, sorted.
#[must_use]
pub const fn stop_words() -> &'static [&'static str] {
    STOP_WORDS
}

#[cfg(test)]
mod tests {
    use super::{STOP_WORDS, is_stop_word};

    #[test]
    fn the_list_is_sorted_so_that_it_can_be_searched() {
        assert!(STOP_WORDS.is_sorted());
        assert!(is_stop_word("how") && is_stop_word("the") && !is_stop_word("memory"));
        assert!(!is_stop_word("not"));
    }
}

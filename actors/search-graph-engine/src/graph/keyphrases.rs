//! Phrases that a text repeats: two or three words that stand together without a stop word or a
//! mark between them.

use rustc_hash::FxHashMap;
use search_core::analysis::{fold, is_stop_word, words};

/// Phrases of a document.
const MAX_PHRASES: usize = 8;

/// Words of a document that are looked at.
const MAX_WORDS: usize = 5_000;

/// The phrases that occur at least twice, those that say most first: by occurrences and length,
/// then by their letters.
pub(super) fn keyphrases(text: &str) -> Vec<String> {
    let mut counts: FxHashMap<String, u32> = FxHashMap::default();
    let mut run: Vec<String> = Vec::new();
    let mut end = 0;
    for word in words(text).take(MAX_WORDS) {
        let apart = text[end..word.start]
            .chars()
            .any(|c| !matches!(c, ' ' | '-'));
        end = word.end();
        let mut folded = String::new();
        fold(word.text, &mut folded);
        let carries = folded.len() > 2 && folded.chars().any(char::is_alphabetic);
        if apart || !carries || is_stop_word(&folded) {
            count_run(&run, &mut counts);
            run.clear();
        }
        if carries && !is_stop_word(&folded) {
            run.push(folded);
        }
    }
    count_run(&run, &mut counts);
    let mut phrases: Vec<(u32, String)> = counts
        .into_iter()
        .filter(|(_, count)| *count >= 2)
        .map(|(phrase, count)| (count * phrase.split(' ').count() as u32, phrase))
        .collect();
    phrases.sort_unstable_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    phrases.truncate(MAX_PHRASES);
    phrases.into_iter().map(|(_, phrase)| phrase).collect()
}

fn count_run(run: &[String], counts: &mut FxHashMap<String, u32>) {
    for length in [2, 3] {
        for words in run.windows(length) {
            *counts.entry(words.join(" ")).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::keyphrases;

    #[test]
    fn repeated_phrases_are_found_across_case_but_not_across_marks() {
        let text = "Boundary layer flow. The boundary-layer, layer flow of the Boundary layer.";
        assert_eq!(keyphrases(text), ["boundary layer", "layer flow"]);
        assert!(keyphrases("once said, never again").is_empty());
    }
}

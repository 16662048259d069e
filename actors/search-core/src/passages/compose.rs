//! An answer without a model: the passages of the found documents that say most about the question,
//! with their sources.

use super::sentences::{sentences, terms_of};

/// A passage and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Number of its document, 1 for the first.
    pub document: usize,
    /// One or two sentences, as they stand there.
    pub text: String,
}

/// Passages taken at most.
const MAX_PASSAGES: usize = 5;

/// Picks, for each of `documents` (their texts, best first), the sentence that has most of the
/// question's words; those that have none are left out. Documents come in their order, so the best
/// one is cited first.
#[must_use]
pub fn compose(question: &str, documents: &[&str]) -> Vec<Passage> {
    let wanted = terms_of(question);
    let mut passages = Vec::new();
    for (index, text) in documents.iter().enumerate() {
        let mut best: Option<(usize, &str)> = None;
        for sentence in sentences(text) {
            let shared = sentence
                .terms
                .keys()
                .filter(|term| wanted.contains_key(*term))
                .count();
            // Equal: the earlier one.
            if shared > best.map_or(0, |(most, _)| most) {
                best = Some((shared, sentence.text));
            }
        }
        if let Some((_, text)) = best {
            passages.push(Passage {
                document: index + 1,
                text: text.to_owned(),
            });
        }
        if passages.len() == MAX_PASSAGES {
            break;
        }
    }
    passages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_that_answers_is_cited() {
        let first = "Pumps are blue machines here. A parked child is resumed by an operator only. More words follow here.";
        let passages = compose(
            "How is a parked child resumed?",
            &["nothing to see in this text", first],
        );
        let expected = Passage {
            document: 2,
            text: "A parked child is resumed by an operator only.".to_owned(),
        };
        assert_eq!(passages, [expected]);
        assert_eq!(compose("", &[first]), []);
    }
}

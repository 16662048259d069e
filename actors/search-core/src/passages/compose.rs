//! An answer without a model: the passages of the found documents that say most about the question,
//! with their sources.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::extents::extents;
use super::sentences::{sentences, terms_of};

/// A passage and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Number of its document, 1 for the first.
    pub document: usize,
    /// A sentence as it stands there, or the lines, in a fence if they are several: they may be
    /// code.
    pub text: String,
}

/// Text looked at where no sentence answers, in bytes.
const LOOK_BYTES: usize = 1 << 20;

/// Passages taken at most.
const MAX_PASSAGES: usize = 5;

/// Picks, for each of `documents` (their texts, best first), the sentence that has most of the
/// question's words, or the lines, where no sentence has any (code, names, entries of a list);
/// documents that have none are left out. Of a document with a passage that is nearest to the
/// question (bytes of its text) that passage is read, and its beginning taken where it has none of
/// the words. Documents come in their order, so the best one is cited first.
#[must_use]
pub fn compose(question: &str, documents: &[(&str, Option<&Range<usize>>)]) -> Vec<Passage> {
    let wanted: FxHashSet<String> = terms_of(question).into_keys().collect();
    let mut passages = Vec::new();
    for (index, &(text, nearest)) in documents.iter().enumerate() {
        let nearest = nearest.and_then(|range| text.get(range.clone()));
        let read = nearest.unwrap_or(text);
        let best = best_sentence(&wanted, read).map(str::to_owned);
        let best = best.or_else(|| best_lines(&wanted, read));
        if let Some(text) = best.or_else(|| first_extent(nearest?)) {
            passages.push(Passage {
                document: index + 1,
                text,
            });
        }
        if passages.len() == MAX_PASSAGES {
            break;
        }
    }
    passages
}

fn best_sentence<'t>(wanted: &FxHashSet<String>, text: &'t str) -> Option<&'t str> {
    let counted = sentences(text).into_iter().map(|sentence| {
        let shared = sentence.terms.keys().filter(|term| wanted.contains(*term));
        (shared.count(), sentence.text)
    });
    first_best(counted)
}

fn best_lines(wanted: &FxHashSet<String>, text: &str) -> Option<String> {
    let text = &text[..text.floor_char_boundary(LOOK_BYTES)];
    let counted = extents(text).into_iter().map(|extent| {
        let lines = text[extent.range].trim_matches(['\n', '\r']);
        let terms = terms_of(lines);
        let shared = terms.keys().filter(|term| wanted.contains(*term));
        (shared.count(), lines)
    });
    first_best(counted).map(format_lines)
}

/// The first lines of a passage that are not blank.
fn first_extent(passage: &str) -> Option<String> {
    let mut extents = extents(passage).into_iter();
    let first = extents.find(|extent| !passage[extent.range.clone()].trim().is_empty())?;
    Some(format_lines(
        passage[first.range].trim_matches(['\n', '\r']),
    ))
}

/// Lines as they stand, in a fence if they are several.
fn format_lines(lines: &str) -> String {
    if !lines.contains('\n') {
        return lines.trim().to_owned();
    }
    let fence = "`".repeat(longest_run(lines, '`').max(2) + 1);
    format!("{fence}\n{lines}\n{fence}\n")
}

/// The first of those that share most; none if nothing is shared.
fn first_best<'t>(counted: impl Iterator<Item = (usize, &'t str)>) -> Option<&'t str> {
    let mut best: Option<(usize, &str)> = None;
    for (shared, text) in counted {
        if shared > best.map_or(0, |(most, _)| most) {
            best = Some((shared, text));
        }
    }
    best.map(|(_, text)| text)
}

fn longest_run(text: &str, wanted: char) -> usize {
    let runs = text.split(|found| found != wanted);
    runs.map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_that_answers_is_cited() {
        let first = "Pumps are blue machines here. A parked child is resumed by an operator only. More words follow here.";
        let passages = compose(
            "How is a parked child resumed?",
            &[("nothing to see in this text", None), (first, None)],
        );
        let expected = Passage {
            document: 2,
            text: "A parked child is resumed by an operator only.".to_owned(),
        };
        assert_eq!(passages, [expected]);
        assert_eq!(compose("", &[(first, None)]), []);
    }

    #[test]
    fn i16_the_passage_nearest_to_the_question_is_cited() {
        let filler = "A child has a pump of its own on this line.\n\n".repeat(9);
        let cited = |passage: &str| {
            let text = format!("{filler}{passage}{filler}");
            let near = filler.len()..filler.len() + passage.len();
            let question = "How is a parked child resumed?";
            compose(question, &[(&text, Some(&near))])
                .pop()
                .map(|one| one.text)
        };
        for (passage, expected) in [
            (
                "Supervisors are told of it at once. What is parked goes on by itself.\n\n",
                "What is parked goes on by itself.",
            ),
            (
                "\nSupervisors take it up. They wait.\n\n",
                "Supervisors take it up. They wait.",
            ),
            (
                "let a = 1;\nlet b = 2;\n",
                "```\nlet a = 1;\nlet b = 2;\n```\n",
            ),
        ] {
            assert_eq!(cited(passage).as_deref(), Some(expected), "{passage}");
        }
        assert_eq!(cited(" \n"), None);
    }

    #[test]
    fn i15_what_is_no_sentence_is_cited_as_it_stands() {
        let question = "Where is the needle?";
        let cited = |text: &str| compose(question, &[(text, None)]).pop().map(|one| one.text);
        assert_eq!(cited("needle").as_deref(), Some("needle"));
        assert_eq!(cited("- needle, 3"), Some("- needle, 3".to_owned()));
        let code = "fn needle() {\n    find(\"```\")\n}\n";
        let fenced = "````\nfn needle() {\n    find(\"```\")\n}\n````\n";
        assert_eq!(cited(code).as_deref(), Some(fenced));
        assert_eq!(cited("hay\nstack"), None);
    }
}

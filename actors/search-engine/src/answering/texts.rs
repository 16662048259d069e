//! The texts of documents, for phrases, and what a person is told about a query.

use search_core::answer::Correction;
use search_core::query::{ParsedQuery, PhraseFinder, QueryError, in_case_of};

use super::source::SearchableSource;
use crate::index::{
    DocumentRecord, Hits, IndexError, IndexSnapshot, TextSource, closest_identifier, closest_word,
};

/// Reads the texts of the sources of one search.
pub(super) struct Texts<'t>(pub(super) &'t [&'t SearchableSource]);

impl TextSource for Texts<'_> {
    fn text(&self, source: usize, record: &DocumentRecord) -> Option<String> {
        let source = self.0.get(source)?;
        let kept = source.kept_text(record);
        let plain = kept.or_else(|| source.plain_text(&record.key));
        plain.or_else(|| source.body(&record.key))
    }
}

/// The query with the mistyped words put right that no source holds; none where there is nothing
/// to put right.
pub(super) fn corrected(
    query: &ParsedQuery,
    missing: &[usize],
    snapshots: &[IndexSnapshot],
) -> Result<Option<(ParsedQuery, Vec<Correction>)>, IndexError> {
    let mut right = query.clone();
    let mut corrections = Vec::new();
    for &index in missing.iter().take(MAX_CORRECTIONS) {
        let word = &query.words()[index];
        if !word.is_plain || word.is_numbered() {
            continue;
        }
        let found = if word.is_identifier() {
            closest_identifier(snapshots, &word.folded)?
        } else {
            closest_word(snapshots, &word.folded)?
        };
        if let Some(found) = found {
            let found = if word.is_identifier() {
                in_case_of(&found, &word.surface)
            } else {
                found
            };
            right = right.with_word(index, &found);
            corrections.push(Correction {
                word: word.surface.clone(),
                corrected: found,
            });
        }
    }
    Ok((!corrections.is_empty()).then_some((right, corrections)))
}

/// Words of one query that are put right; a page of gibberish is not a page of typing mistakes.
const MAX_CORRECTIONS: usize = 4;

/// What a person is told where the text was taken as words alone.
pub(super) fn taken_as_words(fault: &QueryError) -> String {
    let place = fault.position().map_or(0, |position| position + 1);
    format!("searched for the words alone: {fault} (character {place})")
}

/// What a person is told about how the query was taken.
pub(super) fn notes(
    hits: &Hits,
    query: &ParsedQuery,
    corrections: &[Correction],
    added: &[String],
) -> Vec<String> {
    let mut notes: Vec<String> = corrections
        .iter()
        .map(|Correction { word, corrected }| {
            format!("nothing holds \"{word}\"; searched for \"{corrected}\" in its place")
        })
        .collect();
    if !added.is_empty() {
        notes.push(format!(
            "by the thesaurus also searched for: {}",
            added.join(", ")
        ));
    }
    for phrase in &hits.unheld {
        notes.push(format!(
            "nothing holds \"{phrase}\" word for word; searched for its words and the others"
        ));
    }
    if hits.unread > 0 {
        notes.push(if query.patterns().is_empty() {
            format!(
                "{} more documents hold the words of the phrase; only the best were read for it, so add a word",
                hits.unread
            )
        } else {
            format!(
                "{} more documents may match; only the best were read for it, so add a word, a path or letters to the expression",
                hits.unread
            )
        });
    }
    notes
}

/// Finders for the phrases that are looked for, so that excerpts show them.
pub(super) fn phrases(query: &ParsedQuery) -> Vec<PhraseFinder> {
    let looked_for = |number: &usize| {
        let terms = &query.phrases()[*number].terms;
        terms.iter().any(|&term| query.terms()[term].count > 0)
    };
    (0..query.phrases().len())
        .filter(looked_for)
        .map(|number| query.phrase_finder(number))
        .collect()
}

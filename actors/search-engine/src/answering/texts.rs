//! The texts of documents, for phrases, and what a person is told about a query.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use search_core::analysis::folded_line;
use search_core::answer::Correction;
use search_core::defined_names::NAME_SEAM;
use search_core::definitions::definitions;
use search_core::names::squeezed;
use search_core::query::{Field, ParsedQuery, PhraseFinder, QueryError, in_case_of};

use super::numbers::{hashes_beginning, is_short_hash};
use super::other_fields::foreign_field_hint;
use super::source::{MAX_BODY_BYTES, SearchableSource};
use crate::index::{
    DocumentRecord, Hits, IndexError, IndexSnapshot, TextSource, closest_identifier, closest_word,
    definers_of, words_containing, written_word,
};
use crate::reading::{TextReadResult, WordPiece};

/// Reads the texts of the sources of one search.
pub(super) struct SourceTexts<'t> {
    sources: &'t [&'t SearchableSource],
    /// The names of files of which only the beginning was read, and how many there are.
    cut: Mutex<(BTreeSet<String>, usize)>,
}

impl<'t> SourceTexts<'t> {
    pub(super) fn new(sources: &'t [&'t SearchableSource]) -> Self {
        Self {
            sources,
            cut: Mutex::default(),
        }
    }

    /// What a person is told of files that were looked at in part.
    pub(super) fn partial_read_note(&self) -> Option<String> {
        let cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        let (names, count) = &*cut;
        let more = count - names.len();
        let limit = MAX_BODY_BYTES >> 20;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let others = match more {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        (!names.is_empty()).then(|| {
            format!(
                "of {}{others} only the first {limit} MiB were looked at",
                names.join(", ")
            )
        })
    }

    fn count_cut(&self, key: &str) {
        let mut cut = self.cut.lock().unwrap_or_else(PoisonError::into_inner);
        let (names, count) = &mut *cut;
        if names.contains(key) {
            return;
        }
        *count += 1;
        if names.len() < MAX_CUT_NAMES {
            names.insert(key.to_owned());
        }
    }
}

/// Names of files that a note tells.
const MAX_CUT_NAMES: usize = 3;

impl TextSource for SourceTexts<'_> {
    fn text(&self, source: usize, record: &DocumentRecord) -> Option<String> {
        self.text_in(source, record, String::new())
    }

    fn text_in(&self, source: usize, record: &DocumentRecord, buffer: String) -> Option<String> {
        let (source, plain) = self.plain(source, record, buffer)?;
        plain.or_else(|| source.body(&record.key))
    }

    fn text_with(
        &self,
        source: usize,
        record: &DocumentRecord,
        buffer: String,
        piece: WordPiece<'_>,
    ) -> TextReadResult {
        let Some((source, plain)) = self.plain(source, record, buffer) else {
            return TextReadResult::Unreadable;
        };
        plain.map_or_else(
            || source.body_with(&record.key, piece),
            TextReadResult::Text,
        )
    }
}

impl SourceTexts<'_> {
    /// The source, and the text of a document that is kept or needs no taking apart; notes what is
    /// read in part.
    fn plain(
        &self,
        source: usize,
        record: &DocumentRecord,
        buffer: String,
    ) -> Option<(&SearchableSource, Option<String>)> {
        let source = self.sources.get(source)?;
        let kept = source.stored_text(record);
        if kept.is_none() && record.file.size > MAX_BODY_BYTES {
            self.count_cut(&record.key);
        }
        let plain = kept.or_else(|| source.plain_text_in(&record.key, buffer));
        Some((source, plain))
    }
}

/// A query with words put in the place of such as no source holds.
pub(super) struct CorrectedQuery {
    pub(super) query: ParsedQuery,
    pub(super) corrections: Vec<Correction>,
    /// What a person is told of words that stand inside others.
    pub(super) notes: Vec<String>,
}

/// The query with the mistyped words put right that no source holds, and with the words that hold
/// others inside; none where there is nothing to put right.
pub(super) fn corrected(
    query: &ParsedQuery,
    missing: &[usize],
    snapshots: &[IndexSnapshot],
    texts: &dyn TextSource,
) -> Result<Option<CorrectedQuery>, IndexError> {
    let mut right = query.clone();
    let (mut corrections, mut notes) = (Vec::new(), Vec::new());
    for &index in missing.iter().take(MAX_CORRECTIONS) {
        let word = &query.words()[index];
        let hashes = match is_short_hash(&word.folded) {
            true => hashes_beginning(snapshots, &word.folded)?,
            false => Vec::new(),
        };
        if !hashes.is_empty() {
            right = right.with_words(index, &hashes);
            notes.push(found_in(&word.surface, &hashes));
            continue;
        }
        if !word.is_plain || word.is_numbered() {
            continue;
        }
        let found = match defined_as(snapshots, texts, &word.surface)? {
            Some(name) => Some(name),
            None if word.is_identifier() => closest_identifier(snapshots, &word.folded)?
                .map(|found| in_case_of(&found, &word.surface)),
            None => closest_word(snapshots, &word.folded)?,
        };
        if let Some(found) = found {
            right = right.with_word(index, &found);
            corrections.push(Correction {
                word: word.surface.clone(),
                corrected: found,
            });
            continue;
        }
        let inside = words_containing(snapshots, &word.folded)?;
        if !inside.is_empty() {
            right = right.with_words(index, &inside);
            let mut shown: Vec<String> = Vec::new();
            for word in inside {
                let word = written_word(snapshots, word)?;
                if !shown.contains(&word) {
                    shown.push(word);
                }
            }
            notes.push(found_in(&word.surface, &shown));
        }
    }
    let is_changed = !corrections.is_empty() || !notes.is_empty();
    Ok(is_changed.then_some(CorrectedQuery {
        query: right,
        corrections,
        notes,
    }))
}

/// What a person is told of a word that nothing holds, but others begin with or hold.
fn found_in(word: &str, words: &[String]) -> String {
    let words = words.join("\", \"");
    format!("nothing holds \"{word}\"; found in \"{words}\"")
}

/// How a name is written that was typed without what joins its parts (`bestwindow`); none where
/// nothing of the name is defined.
fn defined_as(
    snapshots: &[IndexSnapshot],
    texts: &dyn TextSource,
    typed: &str,
) -> Result<Option<String>, IndexError> {
    let wanted = squeezed(typed);
    if wanted.is_empty() {
        return Ok(None);
    }
    let definers = definers_of(snapshots, &wanted, MAX_DEFINERS)?;
    let is_it = |name: &&str| squeezed(name) == wanted;
    for (_, record) in &definers {
        if let Some(name) = record.defined.split(NAME_SEAM).find(is_it) {
            return Ok(Some(name.to_owned()));
        }
    }
    // Constants and macros stand in the texts alone.
    let Some((source, record)) = definers.first() else {
        return Ok(None);
    };
    let text = texts.text(*source, record).unwrap_or_default();
    let mut names = definitions(&record.key, &text).map(|found| found.name);
    Ok(names.find(is_it).map(str::to_owned))
}

/// Documents that define a mistyped name that are looked at.
const MAX_DEFINERS: usize = 8;

/// Words of one query that are put right; a page of gibberish is not a page of typing mistakes.
const MAX_CORRECTIONS: usize = 4;

/// What a person is told of a text that is not searched for as it stands.
pub(super) fn taken(
    fault: Option<&QueryError>,
    is_mended: bool,
    first_words: Option<usize>,
) -> Vec<String> {
    let broken = fault.map(|fault| broken(fault, is_mended));
    broken
        .into_iter()
        .chain(first_words.map(shortened))
        .collect()
}

/// What a person is told where the text breaks the language; `is_mended`: only what is broken was
/// left out of it.
fn broken(fault: &QueryError, is_mended: bool) -> String {
    let place = fault.position().map_or(0, |position| position + 1);
    let taken = if is_mended {
        "left out what is broken"
    } else {
        "searched for the words alone"
    };
    format!("{taken}: {fault} (character {place})")
}

/// What a person is told of a query of which only so many words are looked for.
fn shortened(words: usize) -> String {
    format!("that is more than can be looked for at once: searched for the first {words} words")
}

/// What a person is told about how the query was taken.
pub(super) fn collect_notes(
    hits: &Hits,
    query: &ParsedQuery,
    corrections: &[Correction],
    added: &[String],
    typed: &TypedQuery<'_>,
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
    notes.extend(misreading_notes(hits, query, typed));
    let absent = hits
        .missing
        .iter()
        .map(|&word| &query.words()[word].surface);
    let is_number = |word: &&String| word.bytes().all(|byte| byte.is_ascii_digit());
    notes.extend(
        absent
            .filter(is_number)
            .map(|number| format!("nothing holds \"{number}\"")),
    );
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

/// What was typed, and where.
pub(super) struct TypedQuery<'t> {
    /// The text.
    pub(super) text: &'t str,
    /// The names of the sources that are searched.
    pub(super) sources: &'t [&'t str],
}

/// What to write where something was not taken as it was meant, or cannot be found so.
fn misreading_notes(hits: &Hits, query: &ParsedQuery, typed: &TypedQuery<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let text = typed.text.trim();
    let is_quotable = !text.contains('"') && text.len() <= MAX_SHOWN;
    if query.is_empty() && is_quotable && !text.is_empty() {
        notes.push(format!(
            "the query holds no word; to find its signs as they stand write \"{text}\" case:yes"
        ));
    }
    if query.is_empty() && !is_quotable {
        notes.push("the query holds no word".to_owned());
    }
    if !query.is_empty() && is_quotable {
        let signs = text.split_whitespace().filter(|one| is_sign(one));
        notes.extend(signs.take(1).map(|sign| {
            format!("\"{sign}\" is no word; to find it as it stands write \"{sign}\" case:yes")
        }));
    }
    let words = text.split_whitespace();
    let mut options = words.filter(|one| matches!(*one, "case:yes" | "case:no"));
    if let Some(case) = options.next_back().filter(|_| query.patterns().is_empty()) {
        notes.push(format!(
            "{case} is for text in double quotes, of which there is none: write \"text\" {case}"
        ));
    }
    if let Some(date) = text.split_whitespace().find(|word| is_dated(word)) {
        notes.push(format!(
            "\"{date}\" is no field, its words were looked for; write after:2026-11-28 or before:2026-11-28, and sort by \"newest\" to have the newest first"
        ));
    }
    notes.extend(text.split_whitespace().find_map(foreign_field_hint));
    if hits.total == 0 {
        for filter in query.filters() {
            let value = &filter.value;
            match filter.field {
                Field::Source if !has_source(typed.sources, &filter.line) => {
                    let all = typed.sources.join(", ");
                    notes.push(format!("no source is called \"{value}\"; there are: {all}"));
                }
                Field::Tag => notes.push(format!(
                    "nothing that is found has the tag \"{value}\"; tags are compared whole"
                )),
                _ => {}
            }
        }
    }
    notes
}

/// Whether a text is signs that people search for (`🎂`, `→`), not dashes and quotes between words.
fn is_sign(text: &str) -> bool {
    let is_between = |c: char| {
        c.is_ascii()
            || matches!(c, '\u{a0}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}')
    };
    !text.is_empty() && text.chars().all(|c| !c.is_alphanumeric() && !is_between(c))
}

/// Whether a word reads like a field for times, and is none: `date:2026-11-28`, `since:2026`,
/// `after:yesterday`.
fn is_dated(word: &str) -> bool {
    let word = word.trim_start_matches('-');
    let behind = ["date:", "newer:", "modified:", "since:", "until:"]
        .iter()
        .find_map(|name| word.strip_prefix(name));
    let is_day = |value: &str| value.starts_with(|c: char| c.is_ascii_digit());
    let by_word = ["after:", "before:"].iter();
    let mut by_word = by_word.filter_map(|name| word.strip_prefix(name));
    behind.is_some_and(is_day)
        || by_word.any(|value| value.starts_with(|c: char| c.is_alphabetic()))
}

/// Whether a source has this name, folded.
fn has_source(sources: &[&str], line: &str) -> bool {
    sources.iter().any(|source| folded_line(source) == line)
}

/// Longest text that a note repeats, in bytes.
const MAX_SHOWN: usize = 80;

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

//! The word of the index that is spelt most like one that is not in it.

use rustc_hash::FxHashMap;
use search_core::analysis::{WordAnalyzer, WordTerms};
use tantivy::query::{DfaWrapper, FuzzyTermQuery};
use tantivy::schema::Field;
use tantivy::{TantivyError, Term};

use super::error::IndexError;
use super::live_documents;
use super::snapshot::{IndexSnapshot, find_term};

/// Words of fewer letters are not corrected: too many others are like them.
pub const MIN_TYPO_LETTERS: usize = 5;

/// From this length on two letters may be wrong.
const TWO_TYPOS_LETTERS: usize = 8;

/// Similar words that are looked at in one segment.
const MAX_CANDIDATES: usize = 4_096;

/// The most likely word meant by `folded`, which the sources do not hold: the fewest wrong letters
/// (swapped neighbours are one), then the same first letter, then most documents, then the
/// alphabet.
///
/// # Errors
/// An index cannot be read.
pub fn closest_word(sources: &[IndexSnapshot], folded: &str) -> Result<Option<String>, IndexError> {
    if !folded.chars().all(char::is_alphabetic) {
        return Ok(None);
    }
    let is_like = |word: &str| word.chars().all(char::is_alphabetic);
    match closest(sources, folded, &[true, false], &is_like)? {
        Some(word) => written_word(sources, word).map(Some),
        None => Ok(None),
    }
}

/// The most likely identifier meant by `folded`, which no document holds: as [`closest_word`], with
/// the same digits and as many underscores. A number is no typing mistake, and the first letter is
/// right: many queries hold identifiers that occur nowhere, and the walk through all words that a
/// wrong one needs would double what such a query costs.
///
/// # Errors
/// An index cannot be read.
pub fn closest_identifier(
    sources: &[IndexSnapshot],
    folded: &str,
) -> Result<Option<String>, IndexError> {
    let signs = |word: &str| -> Vec<char> {
        let signs = word.chars().filter(|letter| !letter.is_alphabetic());
        signs.collect()
    };
    let wanted = signs(folded);
    closest(sources, folded, &[true], &|word| signs(word) == wanted)
}

/// The closest of the words that `is_like` lets pass: below the same first letter or any, as
/// `starts` say.
fn closest(
    sources: &[IndexSnapshot],
    folded: &str,
    starts: &[bool],
    is_like: &dyn Fn(&str) -> bool,
) -> Result<Option<String>, IndexError> {
    let letters: Vec<char> = folded.chars().collect();
    if letters.len() < MIN_TYPO_LETTERS {
        return Ok(None);
    }
    let most = if letters.len() < TWO_TYPOS_LETTERS {
        1
    } else {
        2
    };
    for wrong in 1..=most {
        // A search below one first letter costs a twentieth of one in all words.
        for &same_start in starts {
            // Two mistakes, one of them in the first letter, are another word.
            if wrong == 2 && !same_start {
                continue;
            }
            let found = similar(
                sources,
                folded,
                wrong,
                same_start.then_some(letters[0]),
                is_like,
            )?;
            let ranked = found.into_iter().filter_map(|(word, documents)| {
                let word_letters: Vec<char> = word.chars().collect();
                let is_it = distance_of(&letters, &word_letters) == usize::from(wrong);
                is_it.then_some((std::cmp::Reverse(documents), word))
            });
            if let Some((_, word)) = ranked.min() {
                return Ok(Some(word));
            }
        }
    }
    Ok(None)
}

/// The word as people write it: a stem (`complet`) stands for the most frequent of its forms,
/// unless it occurs more often than they do, and is a word itself.
///
/// # Errors
/// An index cannot be read.
pub fn written_word(sources: &[IndexSnapshot], term: String) -> Result<String, IndexError> {
    let mut forms: FxHashMap<String, u64> = FxHashMap::default();
    let mut documents = 0;
    let analyzer = WordAnalyzer::default();
    let mut analysed = WordTerms::default();
    // Stemming changes the last letter of what it leaves at most: `memori` of `memory`.
    let letters = term.char_indices().last().map_or(0, |(at, _)| at);
    let start = &term[..letters];
    for snapshot in sources {
        let fields = snapshot.fields();
        for (segment, view) in (0..).zip(snapshot.segments()) {
            if let Some(info) = find_term(&view.text, fields.text, &term)? {
                documents += snapshot.live_frequency(segment, &info)?;
            }
            let exact = view.reader.inverted_index(fields.exact)?;
            let range = exact.terms().range().ge(start.as_bytes());
            let mut stream = range.into_stream().map_err(TantivyError::from)?;
            let mut seen = 0;
            while seen < MAX_CANDIDATES
                && stream.advance()
                && stream.key().starts_with(start.as_bytes())
            {
                seen += 1;
                let Ok(form) = std::str::from_utf8(stream.key()) else {
                    continue;
                };
                analyzer.analyze(form, &mut analysed);
                if analysed.iter().next().is_some_and(|(stem, _)| stem == term) {
                    *forms.entry(form.to_owned()).or_default() +=
                        u64::from(stream.value().doc_freq);
                }
            }
        }
    }
    let of_forms: u64 = forms.values().sum();
    let best = forms
        .into_iter()
        .map(|(form, with)| (std::cmp::Reverse(with), form));
    Ok(match best.min() {
        Some((_, form)) if documents <= of_forms => form,
        _ => term,
    })
}

/// Words of the sources with at most `wrong` letters wrong, and the documents that hold each.
fn similar(
    sources: &[IndexSnapshot],
    folded: &str,
    wrong: u8,
    start: Option<char>,
    is_like: &dyn Fn(&str) -> bool,
) -> Result<FxHashMap<String, u64>, IndexError> {
    let mut found = FxHashMap::default();
    let Some(any) = sources.first() else {
        return Ok(found);
    };
    // Made once: every segment has a dictionary or two, and making it takes longer than the walk
    // through a small one.
    let term = Term::from_field_text(any.fields().text, folded);
    let automaton: DfaWrapper = FuzzyTermQuery::new(term, wrong, true).automaton()?;
    for snapshot in sources {
        let fields = snapshot.fields();
        for field in [fields.text, fields.exact] {
            let mut of_field = FxHashMap::default();
            collect(snapshot, field, &automaton, start, &mut of_field)?;
            for (word, documents) in of_field {
                if is_like(&word) {
                    *found.entry(word).or_default() += documents;
                }
            }
        }
    }
    Ok(found)
}

fn collect(
    snapshot: &IndexSnapshot,
    field: Field,
    automaton: &DfaWrapper,
    start: Option<char>,
    found: &mut FxHashMap<String, u64>,
) -> Result<(), IndexError> {
    let start = start.map(String::from).unwrap_or_default();
    // The first key behind all that begin so; the last byte of a character is never the highest.
    let mut end = start.clone().into_bytes();
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    for view in snapshot.segments() {
        let inverted = view.reader.inverted_index(field)?;
        let mut search = inverted.terms().search(automaton);
        if !end.is_empty() {
            search = search.ge(&start).lt(&end);
        }
        let mut stream = search.into_stream().map_err(TantivyError::from)?;
        let mut seen = 0;
        while seen < MAX_CANDIDATES && stream.advance() {
            seen += 1;
            if let Ok(word) = std::str::from_utf8(stream.key()) {
                let info = stream.value();
                let documents = match &view.deleted {
                    None => u64::from(info.doc_freq),
                    Some(deleted) => live_documents::frequency(&inverted, info, deleted)?,
                };
                if documents > 0 {
                    *found.entry(word.to_owned()).or_default() += documents;
                }
            }
        }
    }
    Ok(())
}

/// Letters to put in, take out or change, or neighbours to swap (optimal string alignment).
fn distance_of(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut rows: Vec<usize> = (0..width).collect();
    for (row, &letter) in (1..).zip(a) {
        rows.push(row);
        for (column, &other) in (1..).zip(b) {
            let at = |up: usize, left: usize| rows[(row - up) * width + column - left];
            let changed = at(1, 1) + usize::from(letter != other);
            let mut least = changed.min(at(1, 0) + 1).min(at(0, 1) + 1);
            let swapped = row > 1 && column > 1 && letter == b[column - 2] && a[row - 2] == other;
            if swapped {
                least = least.min(at(2, 2) + 1);
            }
            rows.push(least);
        }
    }
    rows[rows.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::distance_of;

    #[test]
    fn swapped_neighbours_are_one_mistake() {
        for (a, b, expected) in [
            ("memory", "memory", 0),
            ("memroy", "memory", 1),
            ("kernal", "kernel", 1),
            ("shedular", "scheduler", 2),
            ("", "ab", 2),
        ] {
            let letters = |word: &str| word.chars().collect::<Vec<_>>();
            assert_eq!(distance_of(&letters(a), &letters(b)), expected, "{a} {b}");
        }
    }
}

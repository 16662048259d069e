//! The word of the index that is spelt most like one that is not in it.

use rustc_hash::FxHashMap;
use tantivy::query::{DfaWrapper, FuzzyTermQuery};
use tantivy::schema::Field;
use tantivy::{TantivyError, Term};

use super::error::IndexError;
use super::snapshot::{IndexSnapshot, documents_of};

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
    let letters: Vec<char> = folded.chars().collect();
    if letters.len() < MIN_TYPO_LETTERS || !letters.iter().all(|letter| letter.is_alphabetic()) {
        return Ok(None);
    }
    let most = if letters.len() < TWO_TYPOS_LETTERS {
        1
    } else {
        2
    };
    for wrong in 1..=most {
        // A search below one first letter costs a twentieth of one in all words.
        for same_start in [true, false] {
            // Two mistakes, one of them in the first letter, are another word.
            if wrong == 2 && !same_start {
                continue;
            }
            let found = similar(sources, folded, wrong, same_start.then_some(letters[0]))?;
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

/// Words of the sources with at most `wrong` letters wrong, and the documents that hold each.
fn similar(
    sources: &[IndexSnapshot],
    folded: &str,
    wrong: u8,
    start: Option<char>,
) -> Result<FxHashMap<String, u64>, IndexError> {
    let mut found = FxHashMap::default();
    for snapshot in sources {
        let fields = snapshot.fields();
        for field in [fields.text, fields.exact] {
            collect(snapshot, field, folded, wrong, start, &mut found)?;
        }
    }
    Ok(found)
}

fn collect(
    snapshot: &IndexSnapshot,
    field: Field,
    folded: &str,
    wrong: u8,
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
        let term = Term::from_field_text(field, folded);
        let automaton: DfaWrapper = FuzzyTermQuery::new(term, wrong, true).automaton()?;
        let mut search = inverted.terms().search(automaton);
        if !end.is_empty() {
            search = search.ge(&start).lt(&end);
        }
        let mut stream = search.into_stream().map_err(TantivyError::from)?;
        let mut seen = 0;
        while seen < MAX_CANDIDATES && stream.advance() {
            seen += 1;
            if let Ok(word) = std::str::from_utf8(stream.key())
                && word.chars().all(char::is_alphabetic)
            {
                let info = stream.value();
                let documents = match &view.deleted {
                    None => u64::from(info.doc_freq),
                    Some(deleted) => {
                        let max_doc = view.reader.max_doc();
                        documents_of(&inverted, info, max_doc)?.len_without(deleted)
                    }
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

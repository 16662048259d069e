//! Words of the index that begin or end with another one: compounds (`Haftpflichtversicherung` for
//! `Versicherung`), and forms that no stemmer of ours knows (`Rosen` for `Rose`).

use rustc_hash::FxHashMap;

use super::error::IndexError;
use super::snapshot::{IndexSnapshot, find_term};

/// Shorter words stand inside too many others.
const MIN_LETTERS: usize = 4;

/// The same of Korean, whose signs are syllables.
const MIN_SYLLABLES: usize = 2;

/// Words that are looked at in one segment.
const MAX_LOOKED_AT: usize = 4_096;

/// Words that are taken.
const MAX_TAKEN: usize = 8;

/// The fewest letters of a word like this that is looked for inside others.
fn min_letters(word: &str) -> usize {
    let is_syllable = |letter: char| ('\u{ac00}'..='\u{d7a3}').contains(&letter);
    if word.chars().all(is_syllable) {
        MIN_SYLLABLES
    } else {
        MIN_LETTERS
    }
}

/// The words of the sources that begin or end with `folded`, which none of them is: those of most
/// documents first.
///
/// # Errors
/// An index cannot be read.
pub fn words_containing(
    sources: &[IndexSnapshot],
    folded: &str,
) -> Result<Vec<String>, IndexError> {
    let is_word = |word: &str| word.chars().all(char::is_alphabetic);
    if folded.chars().count() < min_letters(folded) || !is_word(folded) {
        return Ok(Vec::new());
    }
    // In the middle of a long identifier letters meet by chance.
    let ends = |word: &str| word.starts_with(folded) || word.ends_with(folded);
    words_with(sources, folded, |word| is_word(word) && ends(word))
}

/// The words of the sources that begin with `folded`, and are what is wanted: those of most
/// documents first.
///
/// # Errors
/// An index cannot be read.
pub fn words_beginning(
    sources: &[IndexSnapshot],
    folded: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>, IndexError> {
    words_with(sources, folded, |word| {
        word.starts_with(folded) && is_wanted(word)
    })
}

fn words_with(
    sources: &[IndexSnapshot],
    folded: &str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>, IndexError> {
    let mut documents: FxHashMap<String, u64> = FxHashMap::default();
    for source in sources {
        let fields = source.fields();
        for (segment, view) in (0..).zip(source.segments()) {
            let list = source.words(view)?;
            let exact = view.reader.inverted_index(fields.exact)?;
            for (words, inverted, field) in [
                (&list.text, &view.text, fields.text),
                (&list.exact, &exact, fields.exact),
            ] {
                let found = words.containing(folded, false).take(MAX_LOOKED_AT);
                let found = found.filter_map(|word| std::str::from_utf8(word).ok());
                for word in found.filter(|word| is_wanted(word)) {
                    if let Some(info) = find_term(inverted, field, word)? {
                        let living = source.live_frequency(segment, &info)?;
                        *documents.entry(word.to_owned()).or_default() += living;
                    }
                }
            }
        }
    }
    let mut found: Vec<(String, u64)> = documents.into_iter().collect();
    found.retain(|(_, documents)| *documents > 0);
    found.sort_by(|(a, many), (b, others)| {
        let short = || a.len().cmp(&b.len()).then_with(|| a.cmp(b));
        others.cmp(many).then_with(short)
    });
    found.truncate(MAX_TAKEN);
    Ok(found.into_iter().map(|(word, _)| word).collect())
}

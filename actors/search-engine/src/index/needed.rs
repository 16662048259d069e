//! The documents of a segment that may match a regular expression or an exact text, by the words
//! they would have to hold. What is left is read and compared by [`verify`](super::verify).

use search_core::query::{Needs, WordRun};
use tantivy::{InvertedIndexReader, TantivyError};

use super::bitmap::Bitmap;
use super::error::IndexError;
use super::prefix_sets::add_beginning;
use super::snapshot::{IndexSnapshot, SegmentView, add_documents_of, find_term};

/// Words that hold a run; of more, reading their posting lists takes longer than it saves.
const MAX_WORDS: usize = 20_000;

/// So few documents are read sooner than they are narrowed down further.
const FEW: u64 = 24;

/// The documents that have what is needed; none where words tell nothing.
pub(super) fn documents_with(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    needs: &Needs,
) -> Result<Option<Bitmap>, IndexError> {
    match needs {
        Needs::Nothing => Ok(None),
        Needs::Run(run) => holders(snapshot, view, run),
        Needs::Any(list) => {
            let mut any = Bitmap::new(view.reader.max_doc());
            for one in list {
                match documents_with(snapshot, view, one)? {
                    Some(found) => any.unite(&found),
                    None => return Ok(None),
                }
            }
            Ok(Some(any))
        }
        Needs::All(list) => {
            let mut list: Vec<&Needs> = list.iter().collect();
            list.sort_by_key(|one| cost(one));
            let mut all: Option<Bitmap> = None;
            for one in list {
                let Some(found) = documents_with(snapshot, view, one)? else {
                    continue;
                };
                match &mut all {
                    Some(all) => all.intersect(&found),
                    none => *none = Some(found),
                }
                if all.as_ref().is_some_and(|all| all.len() <= FEW) {
                    break;
                }
            }
            Ok(all)
        }
    }
}

/// How much looking a need up costs, and how little it is likely to tell.
fn cost(needs: &Needs) -> (u8, std::cmp::Reverse<usize>) {
    match needs {
        Needs::Run(run) => {
            let ways = match (run.begins, run.ends) {
                (true, true) => 0,
                (true, false) => 1,
                _ => 2,
            };
            (ways, std::cmp::Reverse(run.letters.len()))
        }
        _ => (3, std::cmp::Reverse(0)),
    }
}

/// The documents with a word that holds the run, among the words and their exact forms.
fn holders(
    snapshot: &IndexSnapshot,
    view: &SegmentView,
    run: &WordRun,
) -> Result<Option<Bitmap>, IndexError> {
    let fields = snapshot.fields();
    let exact = view.reader.inverted_index(fields.exact)?;
    let mut set = Bitmap::new(view.reader.max_doc());
    let letters = run.letters.to_ascii_lowercase();
    let shape = run.word_shape();
    let is_like = |word: &[u8]| shape.as_ref().is_none_or(|shape| shape.is_of(word));
    let mut words = 0;
    for (field, dictionary) in [(fields.text, &*view.text), (fields.exact, &*exact)] {
        let most = MAX_WORDS - words;
        if run.begins && run.ends {
            if let Some(info) = find_term(dictionary, field, &letters)? {
                add_documents_of(dictionary, &info, &mut set)?;
            }
        } else if run.begins {
            words += add_beginning(dictionary, &letters, is_like, most, &mut set)?;
        } else {
            let list = snapshot.words(view)?;
            let list = if field == fields.text {
                &list.text
            } else {
                &list.exact
            };
            let holding = list.containing(&letters, run.ends);
            let holding = holding.filter(|word| is_like(word));
            words += add_words(dictionary, holding.take(most), &mut set)?;
        }
        if words >= MAX_WORDS {
            return Ok(None);
        }
    }
    Ok(Some(set))
}

/// Adds the documents of these words; gives the number of words.
fn add_words<'w>(
    dictionary: &InvertedIndexReader,
    list: impl Iterator<Item = &'w [u8]>,
    into: &mut Bitmap,
) -> Result<usize, IndexError> {
    let mut words = 0;
    for word in list {
        words += 1;
        let info = dictionary.terms().get(word).map_err(TantivyError::from)?;
        if let Some(info) = info {
            add_documents_of(dictionary, &info, into)?;
        }
    }
    Ok(words)
}

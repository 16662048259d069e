//! Words with a dash before them (`rm -rf`): options where documents hold them so, else excluded.

use search_core::names::stem;
use search_core::query::{SearchRequest, dashed_words, parse, reads_as_option, with_options};

use crate::index::{IndexError, IndexSnapshot, LiteralHolders};

/// From one in so many documents with a word on that have it with a dash, it is an option.
const MOSTLY_DASHED: u64 = 4;

/// Fewer documents with a dash before a word show nothing by their number.
const MIN_DASHED: u64 = 2;

/// A request in which options of commands are text.
pub(super) struct DashedRequest {
    pub(super) request: SearchRequest,
    /// What a person is told of it.
    pub(super) notes: Vec<String>,
}

/// Takes dashed words that documents hold just so for what they are.
pub(super) fn with_held_options(
    request: &SearchRequest,
    snapshots: &[IndexSnapshot],
) -> Result<DashedRequest, IndexError> {
    let mut read = DashedRequest {
        request: request.clone(),
        notes: Vec::new(),
    };
    let mut options = Vec::new();
    if request.is_words_alone {
        return Ok(read);
    }
    let mut dashed = dashed_words(&request.text);
    dashed.dedup();
    for word in dashed {
        let name = &word[1..];
        let holders = LiteralHolders::find(snapshots, word, &term_of(name))?;
        if holders.literal == 0 {
            continue;
        }
        if reads_as_option(word) || is_option_of(&request.text, &holders) {
            options.push(word);
            read.notes.push(format!(
                "\"{word}\" is taken for an option, which documents hold; to leave \"{name}\" out write NOT {name}"
            ));
        } else {
            read.notes.push(format!(
                "left out what holds \"{name}\"; for the option write \"{word}\" in quotes"
            ));
        }
    }
    if !options.is_empty() {
        read.request.text = with_options(&request.text, &options);
    }
    Ok(read)
}

/// The term of the index that a word is.
fn term_of(word: &str) -> String {
    let query = parse(&SearchRequest::for_text(word)).ok();
    let term = query.and_then(|query| query.terms().first().map(|term| term.text.clone()));
    term.unwrap_or_default()
}

/// Whether a word of a query that documents hold with a dash is meant so: many of those that have
/// the word have it so, or one is the page of the command that stands before it (`find.1`,
/// `openssl-x509`).
fn is_option_of(text: &str, holders: &LiteralHolders) -> bool {
    if holders.literal >= MIN_DASHED && holders.literal * MOSTLY_DASHED >= holders.word {
        return true;
    }
    let words = text.split_whitespace();
    let words = words.filter(|word| !word.starts_with('-'));
    let words: Vec<String> = words.map(str::to_lowercase).collect();
    holders.keys.iter().any(|key| {
        let name = stem(key).to_lowercase();
        name.split('-')
            .all(|part| words.iter().any(|word| word == part))
    })
}

//! Words with a dash before them (`rm -rf`): options where documents hold them so, else excluded.

use search_core::query::{SearchRequest, dashed_words, reads_as_option, with_options};

use crate::index::{IndexError, IndexSnapshot, holds_literal};

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
        if !holds_literal(snapshots, word)? {
            continue;
        }
        let name = &word[1..];
        if reads_as_option(word) {
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

//! Whether any document holds a word with the signs that are part of it (`-Wall`).

use super::error::IndexError;
use super::snapshot::{IndexSnapshot, find_term};

/// Whether a document of these sources holds a literal as it is written.
///
/// # Errors
/// An index cannot be read.
pub(crate) fn holds_literal(sources: &[IndexSnapshot], literal: &str) -> Result<bool, IndexError> {
    for source in sources {
        let field = source.fields().exact;
        for segment in source.segments() {
            let inverted = segment.reader.inverted_index(field)?;
            if find_term(&inverted, field, literal)?.is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

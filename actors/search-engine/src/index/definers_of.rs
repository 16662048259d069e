//! Documents that define a name that was typed without what joins its parts: `bestwindow`.

use super::definition_terms::definition_term;
use super::error::IndexError;
use super::record::DocumentRecord;
use super::snapshot::{IndexSnapshot, documents_of, find_term};

/// The first documents that define something of this squeezed name, at most `limit`, each with the
/// number of its source.
///
/// # Errors
/// An index cannot be read.
pub fn definers_of(
    sources: &[IndexSnapshot],
    squeezed: &str,
    limit: usize,
) -> Result<Vec<(usize, DocumentRecord)>, IndexError> {
    let mut found = Vec::new();
    for (source, snapshot) in sources.iter().enumerate() {
        let field = snapshot.fields().exact;
        for (segment, view) in (0..).zip(snapshot.segments()) {
            let inverted = view.reader.inverted_index(field)?;
            let Some(info) = find_term(&inverted, field, &definition_term(squeezed))? else {
                continue;
            };
            let set = documents_of(&inverted, &info, view.reader.max_doc())?;
            for document in set.iter().filter(|&one| !view.reader.is_deleted(one)) {
                if found.len() == limit {
                    return Ok(found);
                }
                found.push((source, snapshot.record(segment, document)?));
            }
        }
    }
    Ok(found)
}

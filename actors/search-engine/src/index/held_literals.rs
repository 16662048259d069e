//! How documents hold a word with the signs that are part of it (`-Wall`).

use super::error::IndexError;
use super::snapshot::{IndexSnapshot, documents_of, find_term};

/// Documents of one segment whose names are looked at.
const MAX_NAMED: usize = 4_096;

/// Documents that hold a literal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LiteralHolders {
    /// How many there are.
    pub(crate) literal: u64,
    /// How many hold the word in it, with or without its signs.
    pub(crate) word: u64,
    /// The keys of the first of those with the literal.
    pub(crate) keys: Vec<String>,
}

impl LiteralHolders {
    /// The documents of these sources that hold a literal as it is written, beside those that hold
    /// the word in it, which is this term of the index.
    ///
    /// # Errors
    /// An index cannot be read.
    pub(crate) fn find(
        sources: &[IndexSnapshot],
        literal: &str,
        term: &str,
    ) -> Result<Self, IndexError> {
        let mut found = Self::default();
        for source in sources {
            let fields = source.fields();
            for (number, segment) in (0..).zip(source.segments()) {
                let inverted = segment.reader.inverted_index(fields.exact)?;
                let Some(info) = find_term(&inverted, fields.exact, literal)? else {
                    continue;
                };
                found.literal += u64::from(info.doc_freq);
                let set = documents_of(&inverted, &info, segment.reader.max_doc())?;
                let living = set.iter().filter(|&one| !segment.reader.is_deleted(one));
                for document in living.take(MAX_NAMED) {
                    found.keys.push(source.key(number, document)?);
                }
            }
        }
        if found.literal > 0 {
            found.word = holders_of(sources, term)?;
        }
        Ok(found)
    }
}

/// How many documents hold a term.
fn holders_of(sources: &[IndexSnapshot], term: &str) -> Result<u64, IndexError> {
    let mut documents = 0;
    for source in sources {
        let field = source.fields().text;
        for segment in source.segments() {
            let info = find_term(&segment.text, field, term)?;
            documents += info.map_or(0, |info| u64::from(info.doc_freq));
        }
    }
    Ok(documents)
}

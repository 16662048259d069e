//! A space as a file of columns, searched where it lies.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use super::ConceptSpace;
use super::documents::DocumentTable;
use super::error::SpaceError;
use super::near_words::NearWords;
use super::saved_documents::KeptDocuments;
use super::words::WordTable;
use crate::columns::{Column, ColumnWriter, Columns, TextColumns, key_hash};
use crate::learning::{GRAM_ROWS, MAX_VOCABULARY};
use crate::math::WIDTH;

/// First bytes of the file; changes with its form.
const KIND: &[u8; 8] = b"sgspace2";

impl ConceptSpace {
    /// Writes the space.
    ///
    /// # Errors
    /// The output refuses.
    pub fn save(&self, output: &mut dyn Write) -> Result<(), SpaceError> {
        let (words, documents) = (&*self.words, &self.documents);
        let mut head = self.changes.to_le_bytes().to_vec();
        head.extend_from_slice(&words.unknown_weight.to_le_bytes());
        head.extend_from_slice(&self.taught_by.to_le_bytes());
        let mut writer = ColumnWriter::new(output, KIND)?;
        let columns: [&[u8]; 8] = [
            &head,
            &words.terms.ends,
            &words.terms.text,
            &words.factors,
            &words.lengths,
            &words.vectors,
            &words.gram_factors,
            &words.grams,
        ];
        for column in columns {
            writer.column([column])?;
        }
        let places = documents.places();
        let all = places.iter().map(|place| documents.get(*place));
        writer.column(all.clone().map(|(key, ..)| key_hash(key).to_le_bytes()))?;
        writer.texts(all.clone().map(|(key, ..)| key))?;
        writer.column(all.clone().map(|(.., factor)| factor.to_le_bytes()))?;
        writer.column(all.map(|(_, row, _)| row.map(|byte| byte as u8)))?;
        Ok(writer.finish()?)
    }

    /// Opens a space that was [saved](Self::save) at `path`: it is mapped into memory, and must not
    /// be written to any more. A file of any content does no harm.
    ///
    /// # Errors
    /// The file cannot be read, or is not a whole space.
    pub fn open(path: &Path) -> Result<Self, SpaceError> {
        let columns = Columns::open(path, KIND)?.take()?;
        let [
            head,
            term_ends,
            term_text,
            factors,
            lengths,
            vectors,
            gram_factors,
            grams,
            hashes,
            key_ends,
            key_text,
            document_factors,
            document_vectors,
        ] = columns;
        let (changes, unknown_weight, taught_by) = read_head(&head)?;
        let words = WordTable {
            terms: texts(term_ends, term_text),
            vectors,
            factors,
            lengths,
            grams,
            gram_factors,
            unknown_weight,
            near: NearWords::default(),
        };
        let documents = KeptDocuments {
            hashes,
            keys: texts(key_ends, key_text),
            factors: document_factors,
            vectors: document_vectors,
            ..KeptDocuments::default()
        };
        check(&words, &documents)?;
        Ok(Self {
            words: Arc::new(words),
            documents: DocumentTable::new(documents),
            changes,
            taught_by,
        })
    }
}

fn texts(ends: Column, text: Column) -> TextColumns {
    TextColumns { ends, text }
}

/// What has changed, the weight of unknown words, and what taught: 0 where an earlier version wrote
/// the file, which learnt from documents alone.
fn read_head(head: &[u8]) -> Result<(u64, f32, u64), SpaceError> {
    let (changes, rest) = head
        .split_first_chunk()
        .ok_or(SpaceError::Damaged("its head is too short"))?;
    let weight = rest.first_chunk().map(|bytes| f32::from_le_bytes(*bytes));
    let taught_by = rest.get(4..).and_then(|rest| rest.first_chunk());
    let taught_by = taught_by.map_or(0, |bytes| u64::from_le_bytes(*bytes));
    match weight.filter(|weight| weight.is_finite()) {
        Some(weight) => Ok((u64::from_le_bytes(*changes), weight, taught_by)),
        None => Err(SpaceError::Damaged("its words cannot be")),
    }
}

/// Whether the columns are as long as each other. What is in them is as it was written: the hash
/// says so.
fn check(words: &WordTable, documents: &KeptDocuments) -> Result<(), SpaceError> {
    let count = words.terms.len();
    let of_words = [&words.factors, &words.lengths].map(|column| column.len() == 4 * count);
    if count > MAX_VOCABULARY || of_words.contains(&false) || words.vectors.len() != WIDTH * count {
        return Err(SpaceError::Damaged("its words cannot be"));
    }
    if words.grams.len() != WIDTH * GRAM_ROWS || words.gram_factors.len() != 4 * GRAM_ROWS {
        return Err(SpaceError::Damaged("its letters cannot be"));
    }
    let count = documents.keys.len();
    let numbers = documents.hashes.len() == 8 * count && documents.factors.len() == 4 * count;
    if !numbers || documents.vectors.len() != WIDTH * count {
        return Err(SpaceError::Damaged("its documents cannot be"));
    }
    Ok(())
}

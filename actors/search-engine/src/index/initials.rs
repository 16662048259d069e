//! The first two characters of words, each with the documents that hold a word that begins so.
//!
//! Two letters stand for thousands of words, and reading the posting lists of all of them takes
//! milliseconds. So their union is a posting list of its own, written with the segment; merging
//! segments merges it as any other. It takes a bit or two for each document that holds such words.

use std::collections::BTreeMap;
use std::sync::Arc;

use tantivy::DocId;
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::Field;

use super::bitmap::Bitmap;
use super::error::IndexError;
use super::snapshot::{IndexSnapshot, SegmentView, documents_of, find_term};

/// A list of fewer than one document of so many takes less room as numbers than as bits.
const FEW_SHARE: u64 = 32;

/// The first two characters of a term of the text or of an exact form: what the field of initials
/// has as a term. None where there are no two, where the term begins with a sign, as no word does,
/// and in scripts whose characters take three bytes or more, which have many: the words of such a
/// beginning are looked up.
fn initials(term: &[u8]) -> Option<&[u8]> {
    let first = character_bytes(term)?;
    let second = character_bytes(&term[first..])?;
    let is_sign = term[0].is_ascii() && !term[0].is_ascii_alphanumeric();
    (!is_sign).then(|| &term[..first + second])
}

/// Whether the documents of a beginning have a list of their own.
fn is_initials(beginning: &str) -> bool {
    initials(beginning.as_bytes()) == Some(beginning.as_bytes())
}

impl IndexSnapshot {
    /// The documents of a segment with a word that begins so, deleted ones among them.
    pub(super) fn beginning(&self, view: &SegmentView, start: &str) -> Result<Bitmap, IndexError> {
        let max_doc = view.reader.max_doc();
        if is_initials(start) {
            return documents_with_initials(view, self.fields().initials, start);
        }
        let exact = view.reader.inverted_index(self.fields().exact)?;
        let dictionaries = [&*view.text, &*exact];
        let set = view.prefix_sets.documents(dictionaries, start, max_doc)?;
        Ok(Arc::unwrap_or_clone(set))
    }
}

/// The documents of initials.
fn documents_with_initials(
    view: &SegmentView,
    field: Field,
    initials: &str,
) -> Result<Bitmap, IndexError> {
    let lists = view.reader.inverted_index(field)?;
    let max_doc = view.reader.max_doc();
    match find_term(&lists, field, initials)? {
        Some(info) => documents_of(&lists, &info, max_doc),
        None => Ok(Bitmap::new(max_doc)),
    }
}

/// Bytes of the first character, if they are one or two.
fn character_bytes(text: &[u8]) -> Option<usize> {
    match text.first()? {
        ..0x80 => Some(1),
        0xc0..0xe0 if text.len() > 1 => Some(2),
        _ => None,
    }
}

/// The documents of all initials of a segment in the making. Terms come in the order of their
/// bytes, those of one field after those of another, so one set is added to at a time.
pub(super) struct InitialsLists {
    lists: BTreeMap<Box<[u8]>, DocumentList>,
    /// The initials whose documents are gathered, and these.
    current: Vec<u8>,
    set: Bitmap,
    max_doc: DocId,
}

enum DocumentList {
    Few(Vec<DocId>),
    Many(Bitmap),
}

impl InitialsLists {
    /// No lists yet of a segment of so many documents.
    pub(super) fn new(max_doc: DocId) -> Self {
        Self {
            lists: BTreeMap::new(),
            current: Vec::new(),
            set: Bitmap::new(max_doc),
            max_doc,
        }
    }

    /// Adds the documents of a term.
    pub(super) fn add(&mut self, term: &[u8], documents: impl Iterator<Item = DocId>) {
        let Some(initials) = initials(term) else {
            return;
        };
        if initials != self.current {
            self.store();
            self.current.clear();
            self.current.extend_from_slice(initials);
        }
        for document in documents {
            self.set.insert_all(&[document]);
        }
    }

    /// Puts the gathered documents to those of the same initials of the field before.
    fn store(&mut self) {
        if self.current.is_empty() {
            return;
        }
        match self.lists.get(&*self.current) {
            Some(DocumentList::Few(before)) => self.set.insert_all(before),
            Some(DocumentList::Many(before)) => self.set.unite(before),
            None => {}
        }
        let list = if self.set.len() * FEW_SHARE < u64::from(self.max_doc) {
            DocumentList::Few(self.set.iter().collect())
        } else {
            DocumentList::Many(self.set.clone())
        };
        self.set.clear();
        self.lists.insert(self.current.as_slice().into(), list);
    }

    /// Writes the lists as a field.
    pub(super) fn write(
        mut self,
        serializer: &mut InvertedIndexSerializer,
        field: Field,
    ) -> tantivy::Result<()> {
        self.store();
        let mut field = serializer.new_field(field, 0, None)?;
        for (initials, list) in self.lists {
            let length = match &list {
                DocumentList::Few(documents) => documents.len() as u64,
                DocumentList::Many(set) => set.len(),
            };
            field.new_term(&initials, length as u32, false)?;
            match list {
                DocumentList::Few(documents) => documents
                    .into_iter()
                    .for_each(|document| field.write_doc(document, 1, &[])),
                DocumentList::Many(set) => set
                    .iter()
                    .for_each(|document| field.write_doc(document, 1, &[])),
            }
            field.close_term()?;
        }
        field.close()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::initials;

    #[test]
    fn i16_initials_are_two_characters_of_words_in_alphabets() {
        for (term, expected) in [
            ("in", Some("in")),
            ("index", Some("in")),
            ("3d", Some("3d")),
            ("a_b", Some("a_")),
            ("élan", Some("él")),
            ("слово", Some("сл")),
            ("i", None),
            ("é", None),
            ("", None),
            ("=name", None),
            ("--flag", None),
            ("漢字", None),
            ("a漢", None),
        ] {
            let found = initials(term.as_bytes());
            assert_eq!(found, expected.map(str::as_bytes), "{term}");
        }
    }
}

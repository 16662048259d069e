//! A graph as a file of columns, read where it lies.

use std::path::Path;

use super::contribution::ConceptKind;
use crate::columns::{Column, ColumnError, Columns, TextColumns};

/// First bytes of the file; changes with its form.
pub(super) const FILE_KIND: &[u8; 8] = b"sggraph2";

/// Where the kind stands in an entry, above the concept's place.
pub(super) const KIND_SHIFT: u32 = 29;

/// Documents in the order of their keys' hashes, concepts in that of their ids, and who holds what,
/// both ways. Never changed.
#[derive(Debug, Clone, Default)]
pub(super) struct MappedGraph {
    pub(super) hashes: Column,
    pub(super) keys: TextColumns,
    /// Where each document's entries end.
    entry_ends: Column,
    /// A concept's place with the kind above it.
    entries: Column,
    pub(super) ids: Column,
    pub(super) names: TextColumns,
    /// Where the documents of each concept end.
    held_ends: Column,
    /// Places of documents.
    held: Column,
    /// The surest way in which any document names each concept.
    kinds: Column,
}

fn part<'c>(column: &'c Column, ends: &Column, at: usize) -> &'c [[u8; 4]] {
    let start = at.checked_sub(1).map_or(0, |before| ends.u32(before));
    let range = start as usize..ends.u32(at) as usize;
    column.rows().get(range).unwrap_or_default()
}

fn kind(code: usize) -> ConceptKind {
    let kind = ConceptKind::ALL.get(code).copied();
    kind.unwrap_or(ConceptKind::Keyphrase)
}

impl MappedGraph {
    pub(super) fn documents(&self) -> usize {
        self.keys.len()
    }

    pub(super) fn concepts(&self) -> usize {
        self.names.len()
    }

    /// The concepts of a document, the surest first.
    pub(super) fn held_by(&self, document: usize) -> impl Iterator<Item = (u32, ConceptKind)> {
        let entries = part(&self.entries, &self.entry_ends, document).iter();
        entries.map(|entry| {
            let entry = u32::from_le_bytes(*entry);
            let code = entry >> KIND_SHIFT;
            (entry & ((1 << KIND_SHIFT) - 1), kind(code as usize))
        })
    }

    /// The documents that held a concept when the graph was kept.
    pub(super) fn documents_with(&self, concept: usize) -> impl ExactSizeIterator<Item = usize> {
        let documents = part(&self.held, &self.held_ends, concept).iter();
        documents.map(|document| u32::from_le_bytes(*document) as usize)
    }

    pub(super) fn surest(&self, concept: usize) -> ConceptKind {
        kind(
            self.kinds
                .get(concept)
                .map_or(usize::MAX, |code| usize::from(*code)),
        )
    }

    pub(super) fn open(path: &Path) -> Result<Self, ColumnError> {
        let [
            hashes,
            key_ends,
            key_text,
            entry_ends,
            entries,
            ids,
            name_ends,
            name_text,
            held_ends,
            held,
            kinds,
        ] = Columns::open(path, FILE_KIND)?.take()?;
        let texts = |ends, text| TextColumns { ends, text };
        let graph = Self {
            hashes,
            keys: texts(key_ends, key_text),
            entry_ends,
            entries,
            ids,
            names: texts(name_ends, name_text),
            held_ends,
            held,
            kinds,
        };
        let (documents, concepts) = (graph.documents(), graph.concepts());
        let whole = graph.hashes.len() == 8 * documents
            && graph.entry_ends.len() == 4 * documents
            && graph.ids.len() == 8 * concepts
            && graph.held_ends.len() == 4 * concepts
            && graph.kinds.len() == concepts;
        whole
            .then_some(graph)
            .ok_or(ColumnError::Damaged("its columns differ in length"))
    }
}

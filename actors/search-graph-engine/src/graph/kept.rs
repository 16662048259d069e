//! A graph as a file of columns, read where it lies.

use std::io::Write;
use std::path::Path;

use super::contribution::ConceptKind;
use super::store::ConceptGraph;
use crate::columns::{Column, ColumnError, ColumnWriter, Columns, Texts};

/// First bytes of the file; changes with its form.
const FILE_KIND: &[u8; 8] = b"sggraph2";

/// Where the kind stands in an entry, above the concept's place.
const KIND_SHIFT: u32 = 29;

/// Stands for a concept that no document holds any more.
const NOWHERE: u32 = u32::MAX;

/// Documents in the order of their keys' hashes, concepts in that of their ids, and who holds what,
/// both ways. Never changed.
#[derive(Debug, Clone, Default)]
pub(super) struct KeptGraph {
    pub(super) hashes: Column,
    pub(super) keys: Texts,
    /// Where each document's entries end.
    entry_ends: Column,
    /// A concept's place with the kind above it.
    entries: Column,
    pub(super) ids: Column,
    pub(super) names: Texts,
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

impl KeptGraph {
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
    pub(super) fn holding(&self, concept: usize) -> impl ExactSizeIterator<Item = usize> {
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

    fn open(path: &Path) -> Result<Self, ColumnError> {
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
        let texts = |ends, text| Texts { ends, text };
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

impl ConceptGraph {
    /// Writes the graph: the same documents give the same bytes.
    ///
    /// # Errors
    /// The output refuses.
    pub fn save(&self, output: &mut dyn Write) -> std::io::Result<()> {
        let (documents, concepts) = (self.documents_by_hash(), self.concepts_by_id());
        let mut places = vec![NOWHERE; self.handles()];
        for (place, concept) in concepts.iter().enumerate() {
            places[*concept as usize] = place as u32;
        }
        let held_by = |document: &u32| {
            let places = &places;
            let held = self.held_by(*document as usize).into_iter();
            held.map(move |(concept, kind)| (places[concept as usize], kind))
        };
        let mut writer = ColumnWriter::new(output, FILE_KIND)?;
        let keys = documents
            .iter()
            .map(|document| self.key(*document as usize));
        writer.column(keys.clone().map(|key| crate::key_hash(key).to_le_bytes()))?;
        writer.texts(keys)?;
        let mut end = 0;
        writer.numbers(documents.iter().map(|document| {
            end += held_by(document).count() as u32;
            end
        }))?;
        let entries = documents.iter().flat_map(held_by);
        writer.numbers(entries.map(|(place, kind)| place | (kind as u32) << KIND_SHIFT))?;
        writer.column(concepts.iter().map(|one| self.id(*one).0.to_le_bytes()))?;
        writer.texts(concepts.iter().map(|concept| self.line(*concept)))?;
        let mut holders = Holders::new(concepts.len());
        for document in &documents {
            held_by(document).for_each(|(place, kind)| holders.count(place, kind));
        }
        writer.numbers(holders.ends())?;
        for (place, document) in documents.iter().enumerate() {
            held_by(document).for_each(|(concept, _)| holders.add(concept, place as u32));
        }
        writer.numbers(holders.held)?;
        writer.column([holders.kinds])?;
        writer.finish()
    }

    /// Opens a graph that was [saved](Self::save) at `path`: it is mapped into memory, and must not be
    /// written to any more. A file of any content does no harm.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged: then the graph is made again from the documents.
    pub fn open(path: &Path) -> Result<Self, ColumnError> {
        KeptGraph::open(path).map(Self::new)
    }
}

/// The documents of each concept, made from the concepts of each document.
struct Holders {
    /// Where the documents of each concept begin; those that are added move it on.
    starts: Vec<u32>,
    counts: Vec<u32>,
    kinds: Vec<u8>,
    held: Vec<u32>,
}

impl Holders {
    fn new(concepts: usize) -> Self {
        Self {
            starts: Vec::new(),
            counts: vec![0; concepts],
            kinds: vec![u8::MAX; concepts],
            held: Vec::new(),
        }
    }

    fn count(&mut self, concept: u32, kind: ConceptKind) {
        let at = concept as usize;
        self.counts[at] += 1;
        self.kinds[at] = self.kinds[at].min(kind as u8);
    }

    /// Where the documents of each concept end, once all are counted.
    fn ends(&mut self) -> Vec<u32> {
        let mut end = 0;
        let counts = std::mem::take(&mut self.counts).into_iter();
        let ends: Vec<u32> = counts
            .map(|count| {
                self.starts.push(end);
                end += count;
                end
            })
            .collect();
        self.held = vec![0; end as usize];
        ends
    }

    fn add(&mut self, concept: u32, document: u32) {
        let start = &mut self.starts[concept as usize];
        self.held[*start as usize] = document;
        *start += 1;
    }
}

//! Writing a graph to its file, and opening it again.

use std::io::Write;
use std::path::Path;

use super::contribution::ConceptKind;
use super::mapped::{FILE_KIND, KIND_SHIFT, MappedGraph};
use super::store::ConceptGraph;
use crate::columns::{ColumnError, ColumnWriter};

/// Stands for a concept that no document holds any more.
const NOWHERE: u32 = u32::MAX;

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
            held_by(document).for_each(|(place, kind)| holders.increment(place, kind));
        }
        writer.numbers(holders.ends())?;
        for (place, document) in documents.iter().enumerate() {
            held_by(document).for_each(|(concept, _)| holders.add(concept, place as u32));
        }
        writer.numbers(holders.held)?;
        writer.column([holders.kinds])?;
        writer.finish()
    }

    /// Opens a graph that was [saved](Self::save) at `path`: it is mapped into memory, and must not
    /// be written to any more. A file of any content does no harm.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged: then the graph is made again from the documents.
    pub fn open(path: &Path) -> Result<Self, ColumnError> {
        MappedGraph::open(path).map(Self::new)
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

    fn increment(&mut self, concept: u32, kind: ConceptKind) {
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

//! Writing a segment: the gathered documents in tantivy's file format, sorted by key.
//!
//! tantivy's own segment writer takes one token after the other and finds each anew in one large
//! hash table. Ours counts per document, by number, and hands over finished posting lists. This is
//! what makes indexing fast, and it allows term frequencies with weights beside lengths without.

use std::collections::BTreeMap;

use tantivy::directory::TerminatingWrite;
use tantivy::fastfield::FastFieldsWriter;
use tantivy::fieldnorm::{FieldNormReader, FieldNormReaders, FieldNormsSerializer};
use tantivy::index::{Segment, SegmentComponent, SegmentMeta};
use tantivy::postings::{FieldSerializer, InvertedIndexSerializer};
use tantivy::schema::Field;
use tantivy::store::{Compressor, StoreWriter};
use tantivy::{Index, TantivyDocument};

use super::builder::{PendingDocument, SegmentBuilder, SparsePostings};
use super::postings::Posting;
use super::schema::{Fields, STORE_BLOCK_BYTES};
use super::vocabulary::{Namespace, TermId};

/// Marks a document that is not written.
const DROPPED: u32 = u32::MAX;

/// Writes the builder's documents as a new segment of `index`; `None` when all were replaced.
pub(super) fn write(
    builder: &SegmentBuilder,
    index: &Index,
    fields: Fields,
) -> tantivy::Result<Option<SegmentMeta>> {
    let order = Order::of(&builder.documents);
    if order.kept.is_empty() {
        return Ok(None);
    }
    let segment = index.new_segment();
    let documents: Vec<&PendingDocument> = order
        .kept
        .iter()
        .map(|&number| &builder.documents[number as usize])
        .collect();
    write_norms(&segment, fields, &documents)?;
    Inverted::new(builder, &order, fields, &documents).write(&segment)?;
    write_columns(&segment, fields, &documents)?;
    write_store(&segment, fields, &documents)?;
    let segment = segment.with_max_doc(documents.len() as u32);
    segment.meta().untrack_temp_docstore();
    Ok(Some(segment.meta().clone()))
}

/// The order of documents in the segment.
struct Order {
    /// Numbers in the builder, by key.
    kept: Vec<u32>,
    /// From the number in the builder to the document in the segment, or [`DROPPED`].
    placed: Vec<u32>,
    /// Whether documents stay in their order.
    is_straight: bool,
}

impl Order {
    fn of(documents: &[PendingDocument]) -> Self {
        let key = |&number: &u32| &documents[number as usize].key;
        let mut kept: Vec<u32> = (0..documents.len() as u32).collect();
        kept.retain(|&number| !documents[number as usize].replaced);
        kept.sort_by(|a, b| key(a).cmp(key(b)));
        let mut placed = vec![DROPPED; documents.len()];
        for (place, &number) in kept.iter().enumerate() {
            placed[number as usize] = place as u32;
        }
        let is_straight = placed.iter().enumerate().all(|(number, &place)| number as u32 == place);
        Self {
            kept,
            placed,
            is_straight,
        }
    }

    /// Renumbers a posting list.
    fn apply(&self, list: &mut Vec<(u32, u32)>) {
        if self.is_straight {
            return;
        }
        for (document, _) in list.iter_mut() {
            *document = self.placed[*document as usize];
        }
        list.retain(|&(document, _)| document != DROPPED);
        list.sort_unstable_by_key(|&(document, _)| document);
    }
}

fn write_norms(segment: &Segment, fields: Fields, documents: &[&PendingDocument]) -> tantivy::Result<()> {
    let norms = |length: fn(&PendingDocument) -> u32| -> Vec<u8> {
        let lengths = documents.iter().map(|document| length(document));
        lengths.map(FieldNormReader::fieldnorm_to_id).collect()
    };
    let write = segment.open_write(SegmentComponent::FieldNorms)?;
    let mut serializer = FieldNormsSerializer::from_write(write)?;
    serializer.serialize_field(fields.text, &norms(|document| document.length))?;
    serializer.serialize_field(fields.title, &norms(|document| document.title_length))?;
    serializer.close()?;
    Ok(())
}

fn write_columns(segment: &Segment, fields: Fields, documents: &[&PendingDocument]) -> tantivy::Result<()> {
    let tokenizers = segment.index().fast_field_tokenizer().clone();
    let mut columns = FastFieldsWriter::from_schema_and_tokenizer_manager(&segment.schema(), tokenizers)?;
    for document in documents {
        let mut row = TantivyDocument::new();
        row.add_text(fields.key, &document.key);
        columns.add_document(&row)?;
    }
    let mut write = segment.open_write(SegmentComponent::FastFields)?;
    columns.serialize(&mut write, None)?;
    write.terminate()?;
    Ok(())
}

fn write_store(segment: &Segment, fields: Fields, documents: &[&PendingDocument]) -> tantivy::Result<()> {
    let write = segment.open_write(SegmentComponent::Store)?;
    let mut store = StoreWriter::new(write, Compressor::None, STORE_BLOCK_BYTES, false)?;
    let schema = segment.schema();
    for document in documents {
        let mut row = TantivyDocument::new();
        row.add_bytes(fields.record, &document.record);
        store.store(&row, &schema)?;
    }
    store.close()?;
    Ok(())
}

/// A term with the start of its text, by which most comparisons end.
type SortedTerm = (u64, TermId);

/// Writes terms and posting lists of all fields.
struct Inverted<'b> {
    builder: &'b SegmentBuilder,
    order: &'b Order,
    fields: Fields,
    documents: &'b [&'b PendingDocument],
    bytes: Vec<u8>,
    list: Vec<(u32, u32)>,
}

impl<'b> Inverted<'b> {
    fn new(
        builder: &'b SegmentBuilder,
        order: &'b Order,
        fields: Fields,
        documents: &'b [&'b PendingDocument],
    ) -> Self {
        Self {
            builder,
            order,
            fields,
            documents,
            bytes: Vec::new(),
            list: Vec::new(),
        }
    }

    fn write(mut self, segment: &Segment) -> tantivy::Result<()> {
        let mut serializer = InvertedIndexSerializer::open(segment)?;
        let norms = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;
        let Fields { key, text, surplus, exact, title, title_line, .. } = self.fields;
        let length = |length: fn(&PendingDocument) -> u32| -> u64 {
            self.documents.iter().map(|document| u64::from(length(document))).sum()
        };
        let (text_length, title_length) = (length(|d| d.length), length(|d| d.title_length));
        let builder = self.builder;

        self.write_lines(&mut serializer, key, |document| &document.key)?;
        let mut field = serializer.new_field(text, text_length, norms.get_field(text)?)?;
        self.write_dense(&mut field, Namespace::Text)?;
        field.close()?;
        let mut field = serializer.new_field(surplus, 0, None)?;
        self.write_sparse(&mut field, &builder.surplus)?;
        field.close()?;
        let mut field = serializer.new_field(exact, 0, None)?;
        self.write_dense(&mut field, Namespace::Exact)?;
        field.close()?;
        let mut field = serializer.new_field(title, title_length, norms.get_field(title)?)?;
        self.write_sparse(&mut field, &builder.title)?;
        field.close()?;
        self.write_lines(&mut serializer, title_line, |document| &document.title_line)?;
        serializer.close()?;
        Ok(())
    }

    /// The posting lists of a namespace that nearly every document takes part in.
    fn write_dense(&mut self, field: &mut FieldSerializer<'_>, namespace: Namespace) -> tantivy::Result<()> {
        let vocabulary = &self.builder.vocabulary;
        let ids = (0..vocabulary.len() as TermId).filter(|&id| vocabulary.namespace(id) == namespace);
        for (_, id) in self.sorted(ids) {
            let posting = self.builder.postings[id as usize];
            self.write_term(field, id, &posting, namespace == Namespace::Text)?;
        }
        Ok(())
    }

    fn write_sparse(&mut self, field: &mut FieldSerializer<'_>, postings: &SparsePostings) -> tantivy::Result<()> {
        let vocabulary = &self.builder.vocabulary;
        let ids = postings.keys().copied().filter(|&id| vocabulary.namespace(id) == Namespace::Text);
        for (_, id) in self.sorted(ids) {
            self.write_term(field, id, &postings[&id], true)?;
        }
        Ok(())
    }

    fn sorted(&self, ids: impl Iterator<Item = TermId>) -> Vec<SortedTerm> {
        let vocabulary = &self.builder.vocabulary;
        let mut terms: Vec<SortedTerm> = ids.map(|id| (prefix(vocabulary.term(id)), id)).collect();
        terms.sort_unstable_by(|a, b| {
            let text = |id| vocabulary.term(id);
            a.0.cmp(&b.0).then_with(|| text(a.1).cmp(text(b.1)))
        });
        terms
    }

    fn write_term(
        &mut self,
        field: &mut FieldSerializer<'_>,
        id: TermId,
        posting: &Posting,
        with_frequencies: bool,
    ) -> tantivy::Result<()> {
        posting.read(&self.builder.arena, &mut self.bytes, &mut self.list);
        self.order.apply(&mut self.list);
        if self.list.is_empty() {
            return Ok(());
        }
        let term = self.builder.vocabulary.term(id).as_bytes();
        field.new_term(term, self.list.len() as u32, with_frequencies)?;
        for &(document, frequency) in &self.list {
            field.write_doc(document, frequency, &[]);
        }
        field.close_term()?;
        Ok(())
    }

    /// A field that holds one term a document.
    fn write_lines(
        &self,
        serializer: &mut InvertedIndexSerializer,
        field: Field,
        line: fn(&PendingDocument) -> &String,
    ) -> tantivy::Result<()> {
        let mut lines: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (document, pending) in self.documents.iter().enumerate() {
            if !line(pending).is_empty() {
                lines.entry(line(pending)).or_default().push(document as u32);
            }
        }
        let mut field = serializer.new_field(field, 0, None)?;
        for (line, documents) in lines {
            field.new_term(line.as_bytes(), documents.len() as u32, false)?;
            for document in documents {
                field.write_doc(document, 1, &[]);
            }
            field.close_term()?;
        }
        field.close()?;
        Ok(())
    }
}

/// The first eight bytes, as a number that sorts like them.
fn prefix(term: &str) -> u64 {
    let mut bytes = [0; 8];
    let length = term.len().min(8);
    bytes[..length].copy_from_slice(&term.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

//! Writing a segment: the gathered documents in tantivy's file format, sorted by key.
//!
//! tantivy's own segment writer takes one token after the other and finds each anew in one large
//! hash table. Ours counts per document, by number, and hands over finished posting lists. This is
//! what makes indexing fast, and it allows term frequencies with weights beside lengths without.

use std::collections::BTreeMap;
use std::io;

use search_core::analysis::folded_line;
use search_core::names::squeezed;
use tantivy::directory::TerminatingWrite;
use tantivy::fastfield::FastFieldsWriter;
use tantivy::fieldnorm::{FieldNormReader, FieldNormReaders, FieldNormsSerializer};
use tantivy::index::{Segment, SegmentComponent, SegmentMeta};
use tantivy::postings::{FieldSerializer, InvertedIndexSerializer};
use tantivy::schema::Field;
use tantivy::store::{Compressor, StoreWriter};
use tantivy::{Index, TantivyDocument};

use super::builder::SegmentBuilder;
use super::documents::{Documents, PendingDocument};
use super::initials::InitialsLists;
use super::name_term::name_term;
use super::postings::{DecodedPosting, DecodedPostings};
use super::record;
use super::run::{FileRun, MemoryRun, PostingRun, SECTIONS, Section};
use super::schema::{BEGIN_TERM, STORE_BLOCK_BYTES, SchemaFields};

/// Marks a document that is not written.
const DROPPED: u32 = u32::MAX;

/// Writes the builder's documents as a new segment of `index`; `None` when all were removed.
pub(super) fn write(
    builder: &mut SegmentBuilder,
    index: &Index,
    fields: SchemaFields,
) -> tantivy::Result<Option<SegmentMeta>> {
    if !builder.runs.is_empty() {
        builder.spill()?;
    }
    let order = Order::new(&builder.documents);
    if order.kept.is_empty() {
        return Ok(None);
    }
    let segment = index.new_segment();
    let documents: Vec<PendingDocument<'_>> = order
        .kept
        .iter()
        .map(|&number| builder.documents.get(number))
        .collect();
    write_norms(&segment, fields, &documents)?;
    write_inverted(&segment, fields, builder, &order, &documents)?;
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
    fn new(documents: &Documents) -> Self {
        let numbered = (0_u32..).zip(documents.iter());
        let mut kept: Vec<(&str, u32)> = numbered
            .filter(|(_, document)| !document.is_removed)
            .map(|(number, document)| (document.key, number))
            .collect();
        kept.sort_unstable();
        let kept: Vec<u32> = kept.into_iter().map(|(_, number)| number).collect();
        let mut placed = vec![DROPPED; documents.len() as usize];
        for (place, &number) in kept.iter().enumerate() {
            placed[number as usize] = place as u32;
        }
        let is_straight = placed
            .iter()
            .enumerate()
            .all(|(number, &place)| number as u32 == place);
        Self {
            kept,
            placed,
            is_straight,
        }
    }

    /// Renumbers a posting list.
    fn apply(&self, list: &mut Vec<DecodedPosting>) {
        if self.is_straight {
            return;
        }
        for one in list.iter_mut() {
            one.document = self.placed[one.document as usize];
        }
        list.retain(|one| one.document != DROPPED);
        list.sort_unstable_by_key(|one| one.document);
    }
}

fn write_norms(
    segment: &Segment,
    fields: SchemaFields,
    documents: &[PendingDocument<'_>],
) -> tantivy::Result<()> {
    let norms = |length: fn(&PendingDocument<'_>) -> u32| -> Vec<u8> {
        documents
            .iter()
            .map(length)
            .map(FieldNormReader::fieldnorm_to_id)
            .collect()
    };
    let write = segment.open_write(SegmentComponent::FieldNorms)?;
    let mut serializer = FieldNormsSerializer::from_write(write)?;
    serializer.serialize_field(fields.text, &norms(|document| document.lengths.all))?;
    serializer.serialize_field(fields.title, &norms(|document| document.lengths.title))?;
    serializer.close()?;
    Ok(())
}

fn write_columns(
    segment: &Segment,
    fields: SchemaFields,
    documents: &[PendingDocument<'_>],
) -> tantivy::Result<()> {
    let tokenizers = segment.index().fast_field_tokenizer().clone();
    let mut columns =
        FastFieldsWriter::from_schema_and_tokenizer_manager(&segment.schema(), tokenizers)?;
    for document in documents {
        let mut row = TantivyDocument::new();
        row.add_text(fields.key, document.key);
        columns.add_document(&row)?;
    }
    let mut write = segment.open_write(SegmentComponent::FastFields)?;
    columns.serialize(&mut write, None)?;
    write.terminate()?;
    Ok(())
}

fn write_store(
    segment: &Segment,
    fields: SchemaFields,
    documents: &[PendingDocument<'_>],
) -> tantivy::Result<()> {
    let write = segment.open_write(SegmentComponent::Store)?;
    let mut store = StoreWriter::new(write, Compressor::None, STORE_BLOCK_BYTES, false)?;
    let schema = segment.schema();
    for document in documents {
        let mut row = TantivyDocument::new();
        row.add_bytes(fields.record, document.record);
        store.store(&row, &schema)?;
    }
    store.close()?;
    Ok(())
}

/// Writes terms and posting lists of all fields.
fn write_inverted(
    segment: &Segment,
    fields: SchemaFields,
    builder: &SegmentBuilder,
    order: &Order,
    documents: &[PendingDocument<'_>],
) -> tantivy::Result<()> {
    let mut serializer = InvertedIndexSerializer::open(segment)?;
    let norms = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;
    let total = |length: fn(&PendingDocument<'_>) -> u32| {
        documents.iter().map(|d| u64::from(length(d))).sum()
    };
    write_lines(&mut serializer, fields.key, lines(documents, |d| d.key))?;
    let mut merge = Merge {
        runs: open_runs(builder)?,
        order,
        list: DecodedPostings::default(),
        term: Vec::new(),
        initials: InitialsLists::new(documents.len() as u32),
    };
    for section in SECTIONS {
        let (field, length) = match section {
            Section::Text => (fields.text, total(|document| document.lengths.all)),
            Section::Surplus => (fields.surplus, 0),
            Section::Exact => (fields.exact, 0),
            Section::Title => (fields.title, total(|document| document.lengths.title)),
        };
        let mut field = serializer.new_field(field, length, norms.get_field(field)?)?;
        merge.write_section(&mut field, section)?;
        field.close()?;
    }
    let titles = lines(documents, |document| document.title_line);
    write_lines(&mut serializer, fields.title_line, titles)?;
    write_lines(&mut serializer, fields.tag, tags(documents))?;
    write_lines(&mut serializer, fields.name, names(documents))?;
    write_begins(&mut serializer, fields.begin, documents)?;
    merge.initials.write(&mut serializer, fields.initials)?;
    serializer.close()?;
    Ok(())
}

fn open_runs(builder: &SegmentBuilder) -> io::Result<Vec<Box<dyn PostingRun + '_>>> {
    if builder.runs.is_empty() {
        return Ok(vec![Box::new(MemoryRun::new(&builder.gathered))]);
    }
    let open = |run| FileRun::open(run).map(|run| Box::new(run) as Box<dyn PostingRun>);
    builder.runs.iter().map(open).collect()
}

/// Merges runs, which hold documents one behind the other.
struct Merge<'b> {
    runs: Vec<Box<dyn PostingRun + 'b>>,
    order: &'b Order,
    list: DecodedPostings,
    term: Vec<u8>,
    initials: InitialsLists,
}

impl Merge<'_> {
    fn write_section(
        &mut self,
        field: &mut FieldSerializer<'_>,
        section: Section,
    ) -> tantivy::Result<()> {
        let with_frequencies = section != Section::Exact;
        for run in &mut self.runs {
            run.next_section()?;
        }
        while self.next_term()? {
            self.order.apply(&mut self.list.documents);
            if self.list.documents.is_empty() {
                continue;
            }
            let documents = self.list.documents.len() as u32;
            field.new_term(&self.term, documents, with_frequencies)?;
            for &one in &self.list.documents {
                let places = match section {
                    Section::Text => self.list.places(one),
                    _ => &[],
                };
                field.write_doc(one.document, one.frequency, places);
            }
            field.close_term()?;
            if matches!(section, Section::Text | Section::Exact) {
                let documents = self.list.documents.iter().map(|one| one.document);
                self.initials.add(&self.term, documents);
            }
        }
        Ok(())
    }

    /// Takes the least term and its documents out of all runs that have it.
    fn next_term(&mut self) -> io::Result<bool> {
        let Some(least) = self.runs.iter().filter_map(|run| run.term()).min() else {
            return Ok(false);
        };
        self.term.clear();
        self.term.extend_from_slice(least);
        self.list.clear();
        for run in &mut self.runs {
            if run.term() == Some(&self.term) {
                run.take(&mut self.list)?;
            }
        }
        Ok(true)
    }
}

/// The documents of one line each, by line.
fn lines<'d>(
    documents: &[PendingDocument<'d>],
    line: fn(&PendingDocument<'d>) -> &'d str,
) -> BTreeMap<&'d str, Vec<u32>> {
    let mut lines: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for (number, document) in (0_u32..).zip(documents) {
        if !line(document).is_empty() {
            lines.entry(line(document)).or_default().push(number);
        }
    }
    lines
}

/// The documents of each tag, by its folded words. Few documents have tags, so they are read from
/// the records, not kept beside them.
fn tags(documents: &[PendingDocument<'_>]) -> BTreeMap<String, Vec<u32>> {
    let mut tags: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (number, document) in (0_u32..).zip(documents) {
        let record = record::decode(document.record).unwrap_or_default();
        for tag in &record.tags {
            let line = folded_line(tag);
            if !line.is_empty() {
                let list = tags.entry(line).or_default();
                if list.last() != Some(&number) {
                    list.push(number);
                }
            }
        }
    }
    tags
}

/// The documents of each name.
fn names(documents: &[PendingDocument<'_>]) -> BTreeMap<String, Vec<u32>> {
    let mut names: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for (number, document) in (0_u32..).zip(documents) {
        let record = record::decode(document.record).unwrap_or_default();
        for (_, name) in search_core::names::names(&record.key, &record.title) {
            let list = names.entry(name_term(&squeezed(name))).or_default();
            if list.last() != Some(&number) {
                list.push(number);
            }
        }
    }
    names
}

/// Writes where passages begin: one term, whose places these are, in the documents with places.
fn write_begins(
    serializer: &mut InvertedIndexSerializer,
    field: Field,
    documents: &[PendingDocument<'_>],
) -> tantivy::Result<()> {
    let with_places = (0_u32..).zip(documents);
    let with_places = with_places.filter(|(_, document)| !document.begins.is_empty());
    let mut field = serializer.new_field(field, 0, None)?;
    let count = with_places.clone().count() as u32;
    if count == 0 {
        return Ok(field.close()?);
    }
    field.new_term(BEGIN_TERM.as_bytes(), count, true)?;
    let mut distances = Vec::new();
    for (number, document) in with_places {
        let mut before = 0;
        distances.clear();
        distances.extend(document.begins.iter().map(|&begin| {
            let distance = begin - before;
            before = begin;
            distance
        }));
        field.write_doc(number, distances.len() as u32, &distances);
    }
    field.close_term()?;
    field.close()?;
    Ok(())
}

/// Writes a field of whole lines.
fn write_lines<L: AsRef<[u8]>>(
    serializer: &mut InvertedIndexSerializer,
    field: Field,
    lines: BTreeMap<L, Vec<u32>>,
) -> tantivy::Result<()> {
    let mut field = serializer.new_field(field, 0, None)?;
    for (line, documents) in lines {
        field.new_term(line.as_ref(), documents.len() as u32, false)?;
        for document in documents {
            field.write_doc(document, 1, &[]);
        }
        field.close_term()?;
    }
    field.close()?;
    Ok(())
}

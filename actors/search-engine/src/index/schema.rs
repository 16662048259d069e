//! The fields of an index.

use tantivy::index::{IndexSettings, IndexSortByField, Order};
use tantivy::schema::{Field, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::store::Compressor;

/// Grows whenever the fields, their weights or the analysis change: an index of another format is
/// built anew.
pub(super) const FORMAT: u32 = 12;

/// Name of the key field, by which every segment is sorted.
pub(super) const KEY: &str = "key";

/// The one term of the field of beginnings.
pub(super) const BEGIN_TERM: &str = "begin";

/// Handles of the fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaFields {
    /// Identity of the document: one term, and a column that sorts the segment.
    pub(super) key: Field,
    /// What a result shows and what the next scan compares; the only stored field.
    pub(super) record: Field,
    /// All text in one field. Term frequencies are weighted (BM25F), the length is not.
    /// Positions are those of [`places`](super::places); a word that counts several times has as
    /// many.
    pub(super) text: Field,
    /// How much of a term frequency in `text` is weight beyond the first: `text` minus `surplus`
    /// is the plain term frequency (BM25).
    pub(super) surplus: Field,
    /// Exact forms of words whose stem differs, and literals (`--json`), which no word is;
    /// documents alone, no frequencies.
    pub(super) exact: Field,
    /// Terms of the title.
    pub(super) title: Field,
    /// The folded title as one term, for exact and prefix matches.
    pub(super) title_line: Field,
    /// Each tag, folded, as one term.
    pub(super) tag: Field,
    /// The names of the document, each as one term, see [`name_term`](super::name_term::name_term).
    pub(super) name: Field,
    /// One term, whose positions in a document are the places that its passages begin with; not in
    /// those without places.
    pub(super) begin: Field,
    /// The first two characters of each word of `text` and `exact`, see
    /// [`initials`](super::initials).
    pub(super) initials: Field,
}

/// Builds the schema.
pub(super) fn schema() -> (Schema, SchemaFields) {
    let mut builder = Schema::builder();
    let fields = SchemaFields {
        key: builder.add_text_field(KEY, documents_only().set_fast("raw")),
        record: builder.add_bytes_field("record", STORED),
        text: builder.add_text_field("text", with_places(true)),
        surplus: builder.add_text_field("surplus", with_frequencies(false)),
        exact: builder.add_text_field("exact", documents_only()),
        title: builder.add_text_field("title", with_frequencies(true)),
        title_line: builder.add_text_field("title_line", documents_only()),
        tag: builder.add_text_field("tag", documents_only()),
        name: builder.add_text_field("name", documents_only()),
        begin: builder.add_text_field("begin", with_places(false)),
        initials: builder.add_text_field("initials", documents_only()),
    };
    (builder.build(), fields)
}

/// Settings: segments sorted by key, so that document order is key order and ties break by it; the
/// store is small and read at random, so it is not compressed.
pub(super) fn settings() -> IndexSettings {
    IndexSettings {
        sort_by_field: Some(IndexSortByField {
            field: KEY.to_owned(),
            order: Order::Asc,
        }),
        docstore_compression: Compressor::None,
        docstore_blocksize: STORE_BLOCK_BYTES,
        docstore_compress_dedicated_thread: false,
        ..IndexSettings::default()
    }
}

/// Size of a block of the store: about a dozen records.
pub(super) const STORE_BLOCK_BYTES: usize = 2048;

/// Blocks of the store that a snapshot keeps of a segment. The records of a search are read in the
/// order in which they lie.
pub(super) const STORE_CACHE_BLOCKS: usize = 16;

fn documents_only() -> TextOptions {
    TextOptions::default().set_indexing_options(indexing(IndexRecordOption::Basic, false))
}

fn with_places(norms: bool) -> TextOptions {
    let option = IndexRecordOption::WithFreqsAndPositions;
    TextOptions::default().set_indexing_options(indexing(option, norms))
}

fn with_frequencies(norms: bool) -> TextOptions {
    TextOptions::default().set_indexing_options(indexing(IndexRecordOption::WithFreqs, norms))
}

/// The terms come from our own analysis; tantivy's tokenizers are never called.
fn indexing(option: IndexRecordOption, norms: bool) -> TextFieldIndexing {
    TextFieldIndexing::default()
        .set_tokenizer("raw")
        .set_index_option(option)
        .set_fieldnorms(norms)
}

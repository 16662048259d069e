//! The state of an index at one moment, for searching.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tantivy::postings::TermInfo;
use tantivy::schema::{Field, Value};
use tantivy::store::StoreReader;
use tantivy::{DocId, InvertedIndexReader, Searcher, SegmentReader, TantivyDocument, Term};

use super::bitmap::Bitmap;
use super::error::IndexError;
use super::facts::SegmentFacts;
use super::live_documents::{self, LiveStatistics};
use super::prefix_sets::PrefixSets;
use super::record::{self, DocumentRecord};
use super::schema::{BEGIN_TERM, STORE_CACHE_BLOCKS, SchemaFields};
use super::segment_words::SegmentWords;
use super::term_cache::{CountedFrequency, DeletionLog, TermCache};

/// A term is frequent when it occurs in more than one of so many documents.
const FREQUENT_SHARE: u32 = 32;

/// The state of one source's index after a commit. Cheap to clone; holds the files it needs, so it
/// stays valid while the index goes on changing.
#[derive(Clone)]
pub struct IndexSnapshot(Arc<CommittedState>);

/// The index after one commit, and what searches have learnt about it.
struct CommittedState {
    /// Where the index lies.
    folder: PathBuf,
    searcher: Searcher,
    fields: SchemaFields,
    generation: u64,
    segments: Vec<SegmentView>,
    /// What is known of its words, shared with the states before and behind it.
    terms: Arc<TermCache>,
}

/// Readers of one segment that searches use again and again.
#[derive(Clone)]
pub(super) struct SegmentView {
    pub(super) reader: SegmentReader,
    pub(super) text: Arc<InvertedIndexReader>,
    pub(super) surplus: Arc<InvertedIndexReader>,
    pub(super) title: Arc<InvertedIndexReader>,
    pub(super) title_line: Arc<InvertedIndexReader>,
    /// The records.
    store: Arc<StoreReader>,
    /// Documents that are deleted, where there are any.
    pub(super) deleted: Option<Arc<Bitmap>>,
    /// What counts of it: the documents that are not deleted.
    pub(super) living: LiveStatistics,
    /// Which were deleted last.
    deletions: DeletionLog,
    /// What narrows searches down; read when one asks.
    facts: Arc<OnceLock<SegmentFacts>>,
    /// Documents whose words have places, where not all have; read when a phrase is looked for.
    placed: Arc<OnceLock<Option<Bitmap>>>,
    /// The documents of beginnings that were asked for.
    pub(super) prefix_sets: Arc<PrefixSets>,
    /// Its words as one text; read when a search asks for letters inside words.
    words: Arc<OnceLock<SegmentWords>>,
}

impl std::fmt::Debug for IndexSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IndexSnapshot")
            .field("generation", &self.0.generation)
            .finish_non_exhaustive()
    }
}

impl IndexSnapshot {
    /// `former` is the state before: what has not changed since is not counted again.
    pub(super) fn new(
        folder: &Path,
        searcher: Searcher,
        fields: SchemaFields,
        generation: u64,
        former: Option<&Self>,
    ) -> tantivy::Result<Self> {
        let view = |reader: &SegmentReader| -> tantivy::Result<SegmentView> {
            let same = former.and_then(|former| former.view_of(reader));
            let same_segment = former.and_then(|former| former.segment_of(reader));
            let (deleted, living, deletions) = match same {
                Some(view) => (view.deleted.clone(), view.living, view.deletions.clone()),
                None => {
                    let deleted = Bitmap::deleted(reader).map(Arc::new);
                    let former = same_segment.map(|view| (view.deleted.as_deref(), view.living));
                    let living = live_documents::count_live(
                        reader,
                        fields.text,
                        deleted.as_deref(),
                        former,
                    )?;
                    let followed = same_segment.zip(deleted.as_deref());
                    let followed = followed.and_then(|(view, deleted)| {
                        let former = view.deleted.as_deref();
                        view.deletions.followed(former, deleted)
                    });
                    let deletions = followed.unwrap_or_else(|| DeletionLog::new(reader));
                    (deleted, living, deletions)
                }
            };
            let store = match same_segment {
                Some(view) => Arc::clone(&view.store),
                None => Arc::new(reader.get_store_reader(STORE_CACHE_BLOCKS)?),
            };
            Ok(SegmentView {
                store,
                text: reader.inverted_index(fields.text)?,
                surplus: reader.inverted_index(fields.surplus)?,
                title: reader.inverted_index(fields.title)?,
                title_line: reader.inverted_index(fields.title_line)?,
                deleted,
                living,
                deletions,
                facts: same_segment
                    .map(|view| Arc::clone(&view.facts))
                    .unwrap_or_default(),
                placed: same_segment
                    .map(|view| Arc::clone(&view.placed))
                    .unwrap_or_default(),
                words: same_segment
                    .map(|view| Arc::clone(&view.words))
                    .unwrap_or_default(),
                prefix_sets: same_segment
                    .map(|view| Arc::clone(&view.prefix_sets))
                    .unwrap_or_default(),
                reader: reader.clone(),
            })
        };
        let segments: Vec<SegmentView> = searcher
            .segment_readers()
            .iter()
            .map(view)
            .collect::<tantivy::Result<_>>()?;
        let terms = former.map(|former| Arc::clone(&former.0.terms));
        Ok(Self(Arc::new(CommittedState {
            folder: folder.to_owned(),
            searcher,
            fields,
            generation,
            segments,
            terms: terms.unwrap_or_default(),
        })))
    }

    /// The same segment with the same deletions, if it was part of this state.
    fn view_of(&self, reader: &SegmentReader) -> Option<&SegmentView> {
        self.0.segments.iter().find(|view| {
            view.reader.segment_id() == reader.segment_id()
                && view.reader.delete_opstamp() == reader.delete_opstamp()
        })
    }

    /// The same segment, whichever of its documents are deleted.
    pub(super) fn segment_of(&self, reader: &SegmentReader) -> Option<&SegmentView> {
        let same = |view: &&SegmentView| view.reader.segment_id() == reader.segment_id();
        self.0.segments.iter().find(same)
    }

    /// The words of a segment, read once.
    pub(super) fn words<'v>(&self, view: &'v SegmentView) -> Result<&'v SegmentWords, IndexError> {
        if let Some(known) = view.words.get() {
            return Ok(known);
        }
        let exact = view.reader.inverted_index(self.0.fields.exact)?;
        let words = SegmentWords::read(&view.text, &exact)?;
        Ok(view.words.get_or_init(|| words))
    }

    /// The documents of a segment whose words have places; `None` where all have.
    pub(super) fn placed<'v>(
        &self,
        view: &'v SegmentView,
    ) -> Result<Option<&'v Bitmap>, IndexError> {
        if let Some(known) = view.placed.get() {
            return Ok(known.as_ref());
        }
        let field = self.0.fields.begin;
        let inverted = view.reader.inverted_index(field)?;
        let max_doc = view.reader.max_doc();
        let placed = match find_term(&inverted, field, BEGIN_TERM)? {
            Some(info) if info.doc_freq == max_doc => None,
            Some(info) => Some(documents_of(&inverted, &info, max_doc)?),
            None => Some(Bitmap::new(max_doc)),
        };
        Ok(view.placed.get_or_init(|| placed).as_ref())
    }

    /// What narrows searches down, of all documents of a segment; its records are read once.
    pub(super) fn facts(&self, segment: u32) -> Result<&SegmentFacts, IndexError> {
        self.facts_of(&self.0.segments[segment as usize])
    }

    /// The same of a segment at hand.
    pub(super) fn facts_of<'v>(
        &self,
        view: &'v SegmentView,
    ) -> Result<&'v SegmentFacts, IndexError> {
        if let Some(known) = view.facts.get() {
            return Ok(known);
        }
        let store = view
            .reader
            .get_store_reader(1)
            .map_err(tantivy::TantivyError::from)?;
        let mut facts = SegmentFacts::default();
        for document in store.iter::<TantivyDocument>(None) {
            facts.push(&self.decode(&document?)?);
        }
        Ok(view.facts.get_or_init(|| facts.finished()))
    }

    /// Where the index lies.
    pub(super) fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// Grows with every commit of the same [`SourceIndex`](super::SourceIndex); for caches.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.0.generation
    }

    /// Number of documents.
    #[must_use]
    pub fn document_count(&self) -> u64 {
        self.0.searcher.num_docs()
    }

    /// Number of segments the documents are spread over.
    #[must_use]
    pub fn segment_count(&self) -> usize {
        self.0.segments.len()
    }

    /// Whether deleted documents still take room.
    #[must_use]
    pub fn has_deletions(&self) -> bool {
        self.0.segments.iter().any(|view| view.reader.has_deletes())
    }

    /// Whether a document with this key was committed. One that was deleted since the last merge
    /// may still be told.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn contains(&self, key: &str) -> Result<bool, IndexError> {
        let term = Term::from_field_text(self.0.fields.key, key);
        Ok(self.0.searcher.doc_freq(&term)? > 0)
    }

    /// The record of the document with this key.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn document(&self, key: &str) -> Result<Option<DocumentRecord>, IndexError> {
        let place = self.locate(key)?;
        place
            .map(|(segment, document)| self.record(segment, document))
            .transpose()
    }

    /// Calls `each` with the record of every document; the order is that of the index. This is the
    /// one list of which version of which file is indexed.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn for_each_document(
        &self,
        mut each: impl FnMut(DocumentRecord),
    ) -> Result<(), IndexError> {
        for view in &self.0.segments {
            let store = view
                .reader
                .get_store_reader(1)
                .map_err(tantivy::TantivyError::from)?;
            for document in store.iter::<TantivyDocument>(view.reader.alive_bitset()) {
                each(self.decode(&document?)?);
            }
        }
        Ok(())
    }

    pub(super) fn searcher(&self) -> &Searcher {
        &self.0.searcher
    }

    pub(super) fn fields(&self) -> SchemaFields {
        self.0.fields
    }

    pub(super) fn segments(&self) -> &[SegmentView] {
        &self.0.segments
    }

    /// The key of a document, from its record.
    pub(super) fn key(&self, segment: u32, document: DocId) -> Result<String, IndexError> {
        Ok(self.record(segment, document)?.key)
    }

    /// The record of a document.
    pub(super) fn record(
        &self,
        segment: u32,
        document: DocId,
    ) -> Result<DocumentRecord, IndexError> {
        let store = &self.0.segments[segment as usize].store;
        let stored = store.get_document_bytes(document)?;
        let bytes = record::record_bytes(&stored, self.0.fields.record);
        match bytes.and_then(record::decode) {
            Some(record) => Ok(record),
            None => self.decode(&store.get(document)?),
        }
    }

    fn decode(&self, document: &TantivyDocument) -> Result<DocumentRecord, IndexError> {
        let bytes = document
            .get_first(self.0.fields.record)
            .and_then(|value| value.as_bytes());
        bytes.and_then(record::decode).ok_or_else(|| {
            let damage = tantivy::error::DataCorruption::comment_only("a record cannot be decoded");
            tantivy::TantivyError::from(damage).into()
        })
    }

    /// The documents that hold a term of the text.
    pub(super) fn text_documents(
        &self,
        segment: u32,
        info: &TermInfo,
    ) -> Result<Arc<Bitmap>, IndexError> {
        let view = &self.0.segments[segment as usize];
        let max_doc = view.reader.max_doc();
        let place = (view.reader.segment_id(), info.postings_range.start);
        let is_frequent = info.doc_freq > max_doc / FREQUENT_SHARE;
        if is_frequent && let Some(set) = self.0.terms.sets.get(&place) {
            return Ok(set);
        }
        let set = Arc::new(documents_of(&view.text, info, max_doc)?);
        if is_frequent {
            self.0.terms.sets.insert(place, Arc::clone(&set));
        }
        Ok(set)
    }
}

impl IndexSnapshot {
    /// In how many documents that count a term of the text occurs: in those that are not deleted.
    /// Counted once where there are deletions, and known where there are none; of later deletions
    /// those documents alone are looked at.
    pub(super) fn live_frequency(&self, segment: u32, info: &TermInfo) -> Result<u64, IndexError> {
        let view = &self.0.segments[segment as usize];
        let Some(deleted) = &view.deleted else {
            return Ok(u64::from(info.doc_freq));
        };
        let place = (view.reader.segment_id(), info.postings_range.start);
        let known = self.0.terms.frequencies.get(&place);
        let known = known.unwrap_or(CountedFrequency {
            living: u64::from(info.doc_freq),
            deleted: 0,
        });
        let newly = view.deletions.since(known.deleted);
        let newly = newly.filter(|newly| newly.len() <= info.doc_freq as usize);
        let living = match newly {
            Some([]) => return Ok(known.living),
            Some(newly) => known.living - live_documents::held(&view.text, info, newly)?,
            None if info.doc_freq > view.reader.max_doc() / FREQUENT_SHARE => {
                self.text_documents(segment, info)?.len_without(deleted)
            }
            None => live_documents::frequency(&view.text, info, deleted)?,
        };
        let counted = CountedFrequency {
            living,
            deleted: view.deletions.deleted(),
        };
        self.0.terms.frequencies.insert(place, counted);
        Ok(living)
    }
}

/// The documents of a posting list.
pub(super) fn documents_of(
    inverted: &InvertedIndexReader,
    info: &TermInfo,
    max_doc: DocId,
) -> Result<Bitmap, IndexError> {
    let mut set = Bitmap::new(max_doc);
    add_documents_of(inverted, info, &mut set)?;
    Ok(set)
}

/// Adds the documents of a posting list to a set.
pub(super) fn add_documents_of(
    inverted: &InvertedIndexReader,
    info: &TermInfo,
    into: &mut Bitmap,
) -> Result<(), IndexError> {
    let option = tantivy::schema::IndexRecordOption::Basic;
    let postings = inverted.read_block_postings_from_terminfo(info, option);
    let mut postings = postings.map_err(tantivy::TantivyError::from)?;
    into.insert_list(&mut postings);
    Ok(())
}

/// Where a term stands in a dictionary.
pub(super) fn find_term(
    inverted: &InvertedIndexReader,
    field: Field,
    text: &str,
) -> Result<Option<TermInfo>, IndexError> {
    let term = Term::from_field_text(field, text);
    Ok(inverted
        .get_term_info(&term)
        .map_err(tantivy::TantivyError::from)?)
}

//! The index of a source on disk, and ranked search over the indexes of several sources.
//!
//! ```text
//! ExtractedDocument ─► SegmentBuilder ─► segment files ─► commit ─► IndexSnapshot ─► search_across
//!   (put)               counts terms       (tantivy's       (fast,     (any thread)
//!                       per document        format)          or synced)
//! ```
//!
//! One tantivy index a source. Bodies are not stored, but where each word stands; what is stored
//! of a document is its record: what a result shows, and which version of
//! the file this is. The index is the only account of that, so it cannot disagree with another one.

mod arena;
mod bitmap;
mod builder;
mod chunks;
mod common_words;
mod conditions;
mod containing;
mod cursor;
mod damage;
mod definers_of;
mod definition_terms;
mod deletion;
mod directory;
mod documents;
mod error;
mod explain;
mod facts;
mod files;
mod held_literals;
mod indexed_files;
mod initials;
mod keys;
mod leaves;
mod letter_pairs;
mod lexical;
mod live_documents;
mod memory;
mod memory_segment;
mod merge;
mod missing_terms;
mod name_term;
mod narrowing;
mod needed;
mod options;
mod ordered;
mod passages;
mod phrases;
mod placement;
mod places;
mod pool;
#[cfg(test)]
mod posting_reads;
mod postings;
mod prefix_sets;
mod published;
mod quoted;
mod record;
mod records;
mod refine;
mod refinement;
mod repair;
mod rerank;
mod run;
mod schema;
mod scope;
mod search;
mod segment;
mod segment_words;
mod snapshot;
mod source_index;
mod spelling;
mod spellings;
mod tables;
mod term_cache;
mod term_id;
mod term_matches;
mod title;
mod verification;
mod verify;
mod vocabulary;

pub use containing::{words_beginning, words_containing};
pub use damage::SegmentDamage;
pub use definers_of::definers_of;
pub use error::IndexError;
pub(crate) use held_literals::LiteralHolders;
pub use indexed_files::IndexedFiles;
pub use merge::RunningMerge;
pub use missing_terms::{LackedTerm, LackedTerms};
pub use options::{Durability, IndexOptions, OpenOutcome};
pub use ordered::OrderedDocuments;
pub use published::{INDEX_FORMAT, PinnedFiles, complete_published, joined_segments};
pub use record::{DocumentRecord, FileState};
pub use rerank::{LexicalResult, Nearness, RERANK_DEPTH, RerankedDocument, Reranker};
pub use scope::SearchScope;
pub use search::{Hits, MAX_LIMIT, MAX_SKIP, PageRequest, SearchHit, search_across, search_in};
pub use snapshot::IndexSnapshot;
pub use source_index::{IndexHandle, SourceIndex};
pub use spelling::{MIN_TYPO_LETTERS, closest_identifier, closest_word, written_word};
pub use verify::{MAX_VERIFIED, MAX_VERIFIED_BYTES, TextSource};

//! Concept vectors learnt from the corpus: which words stand for the same things here.
//!
//! ```text
//! documents ─► CorpusWriter ─► token file ─► Learner ─ step, step, … ─► ConceptSpace
//!              (terms, once)   (on disk)      │  ▲
//!                                             ▼  │ after a restart
//!                                           checkpoint
//! ```
//!
//! Each word has a vector of its own and one from its letters (hashed n-grams), so words that look
//! alike begin alike. What is learnt is to tell, from a title or a stretch of a document, which of
//! 256 documents it was taken from. One thread, fixed order, no clock: the same corpus and seed
//! give the same vectors, whether it was interrupted or not.

mod batch;
mod corpus;
mod dictionary;
mod error;
mod grams;
mod learner;
mod options;
mod pairs;
mod parameters;
mod side;
mod terms;

pub use corpus::{Corpus, CorpusWriter, DocumentTokens, VocabularyTerm};
pub use error::LearningError;
pub use learner::{DocumentPlacement, LearnProgress, Learner};
pub use options::{LearnOptions, MAX_VOCABULARY};
pub use terms::TermReader;

pub(crate) use corpus::MAX_DOCUMENT_TERMS;
pub(crate) use grams::{GRAM_ROWS, gram_rows};
pub(crate) use terms::document_weight;

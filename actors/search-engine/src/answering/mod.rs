//! One search of one role, from the query to the page of results; and one document read again.
//! Blocking: callers give it a thread that may wait for files.

mod candidates;
mod concepts;
mod dashes;
mod document;
mod embedded;
mod expansion;
mod failure;
mod naming;
mod nearest;
mod numbers;
mod other_fields;
mod page;
mod pair_scorer;
mod params;
mod passages;
mod reranking;
mod scout;
mod source;
mod texts;

pub use document::read_document;
pub use failure::SearchFailure;
pub use page::search;
pub use pair_scorer::{NoScores, PairScorer, RerankOptions};
pub use params::{DocumentRequest, SearchParams};
pub use source::{SearchableRole, SearchableSource};

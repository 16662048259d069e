//! One search of one role, from the query to the page of results; and one document read again.
//! Blocking: callers give it a thread that may wait for files.

mod concepts;
mod document;
mod embedded;
mod expansion;
mod failure;
mod naming;
mod order;
mod page;
mod scout;
mod source;
mod texts;

pub use document::read_document;
pub use failure::SearchFailure;
pub use order::{DocumentRequest, SearchOrder};
pub use page::search;
pub use source::{SearchableRole, SearchableSource};

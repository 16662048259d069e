//! Search without I/O: roles, text analysis, query, snippets, relevance measures.

pub mod analysis;
pub mod answer;
pub mod concepts;
pub mod conversation;
pub mod document;
pub mod facets;
pub mod measures;
pub mod passages;
pub mod query;
pub mod role;
pub mod snippet;

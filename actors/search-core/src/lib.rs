//! Search without I/O: roles, text analysis, query, snippets, relevance measures.

pub mod answer;
pub mod document;

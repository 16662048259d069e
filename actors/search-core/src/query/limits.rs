//! Limits of a query.

/// Longest query in bytes, text and terms together.
pub const MAX_QUERY_BYTES: usize = 32 * 1024;

/// Most words a query may hold, stop words and repetitions included.
pub const MAX_QUERY_WORDS: usize = 1024;

/// Most brackets that may be open at once.
pub const MAX_DEPTH: usize = 32;

//! What is meant in a text before any words are looked for.

/// What is meant in the next text.
#[derive(Debug, Default)]
pub(super) struct MeantPlace {
    /// Its path, where it defines what the query names.
    pub(super) defines: Option<String>,
    /// The number of the line asked for, from 1.
    pub(super) line: Option<usize>,
}

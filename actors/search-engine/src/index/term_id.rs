//! Numbers of terms while a segment is built.

/// Number of a term in the run that is built.
pub(super) type TermId = u32;

/// The field a term belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Namespace {
    /// Stems, identifiers and their parts.
    Text,
    /// Exact forms.
    Exact,
}

/// The terms of a raw word: one number, or a place in the table of lists.
#[derive(Clone, Copy)]
pub(super) struct TermList(pub(super) u32);

//! Snippets: where in a text the query's words stand closest together, and that place as one line
//! with its matches marked.
//!
//! ```text
//! text ── TermFinder ──► hits ── best_window ──► hits close together ── cut ──► Snippet
//! ```
//!
//! Everything here is plain text: markup in a text is returned as it stands, and whoever shows it
//! escapes it first and marks the highlights after.

mod cut;
mod finder;
mod weights;
mod window;

pub use cut::{Snippet, cut};
pub use finder::TermFinder;
pub use weights::TermWeights;
pub use window::{best_window, contains_all_terms};

/// A word of a text that the query looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextHit {
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
    /// The query terms it stands for, a bit each: an identifier stands for its parts too.
    pub terms: u64,
}

impl TextHit {
    /// What a place of a pattern stands for: no word, so it is shown as it is.
    pub const PATTERN: u64 = 1 << 63;

    /// The same hit in a text of which the one searched is what follows `offset` bytes.
    #[must_use]
    pub const fn shifted(self, offset: usize) -> Self {
        Self {
            start: offset + self.start,
            end: offset + self.end,
            terms: self.terms,
        }
    }
}

//! Which words beyond ASCII may be what is looked for.

use aho_corasick::packed::Searcher;

use crate::analysis::fold;

/// Which words beyond ASCII are looked at.
#[derive(Clone, Copy)]
pub(super) struct WideWords<'n> {
    /// One of their characters does so.
    pub(super) counts: fn(char) -> bool,
    /// They hold one of these once they are folded.
    pub(super) needles: Option<&'n Searcher>,
}

impl WideWords<'_> {
    /// All of them.
    pub(super) const ALL: Self = Self {
        counts: |_| true,
        needles: None,
    };

    /// Whether a run of words may hold a term; `folded` is a buffer.
    pub(super) fn may_hold(self, run: &str, folded: &mut String) -> bool {
        let Some(needles) = self.needles else {
            return true;
        };
        folded.clear();
        fold(run, folded);
        needles.find(folded.as_bytes()).is_some()
    }
}

//! A suggestion, and which of two comes first.

/// Most suggestions kept.
pub const MAX_SUGGESTIONS: usize = 200_000;

/// What a suggestion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SuggestionKind {
    /// A concept of the graph or the thesaurus.
    Concept,
    /// A document's title.
    Title,
    /// A frequent term.
    Term,
}

/// Something that can be suggested.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Suggestion {
    /// As it is shown and put into the query.
    pub text: String,
    /// What it is.
    pub kind: SuggestionKind,
    /// How common it is; heavier ones come first.
    pub weight: u32,
}

/// A suggestion on its way into a [`Suggester`](super::Suggester).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuggesterEntry<'t> {
    /// As it is shown and put into the query.
    pub text: &'t str,
    /// What it is.
    pub kind: SuggestionKind,
    /// How common it is; heavier ones come first.
    pub weight: u32,
}

/// All kinds, in the order of their numbers.
pub(super) const KINDS: [SuggestionKind; 3] = [
    SuggestionKind::Concept,
    SuggestionKind::Title,
    SuggestionKind::Term,
];

/// A weight with the kind in its lowest part.
pub(super) fn packed(kind: SuggestionKind, weight: u32) -> u32 {
    let most = u32::MAX / KINDS.len() as u32 - 1;
    weight.min(most) * KINDS.len() as u32 + kind as u32
}

/// Heaviest first, then by kind and text: never by chance.
pub(super) fn order(a: &SuggesterEntry<'_>, b: &SuggesterEntry<'_>) -> std::cmp::Ordering {
    b.weight
        .cmp(&a.weight)
        .then_with(|| a.kind.cmp(&b.kind))
        .then_with(|| a.text.cmp(b.text))
}

/// Leaves the heaviest of too many.
pub(crate) fn retain_heaviest(suggested: &mut Vec<SuggesterEntry<'_>>) {
    if suggested.len() > MAX_SUGGESTIONS {
        suggested.select_nth_unstable_by(MAX_SUGGESTIONS, order);
        suggested.truncate(MAX_SUGGESTIONS);
    }
}

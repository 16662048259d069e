//! What a concepts thread does.

/// What a concepts thread does for its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConceptDuty {
    /// It learns, suggests and embeds.
    All,
    /// It learns and suggests: each part of the source is embedded by its own indexer.
    Learning,
    /// It embeds a part of a source.
    Embedding,
}

//! What the last look at the best results adds to a score.

use search_core::answer::ScorePart;

/// What was added to a score, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Refinement {
    /// For identifiers that it holds whole.
    pub(super) identifiers: f32,
    /// For being called like the query.
    pub(super) name: f32,
    /// For words of the query in its path.
    pub(super) path: f32,
}

impl Refinement {
    /// All that is added.
    pub(super) fn sum(&self) -> f32 {
        self.identifiers + self.name + self.path
    }

    /// The parts of the score, for people.
    pub(super) fn parts(&self) -> Vec<ScorePart> {
        let all = [
            (
                "identifier",
                "one of the few documents that hold an identifier of the query whole",
                self.identifiers,
            ),
            ("name", "the document is called like the query", self.name),
            (
                "path",
                "words of the query in the name of the file or its folder",
                self.path,
            ),
        ];
        let added = all.into_iter().filter(|(_, _, score)| *score != 0.0);
        added
            .map(|(kind, note, score)| ScorePart {
                kind: kind.to_owned(),
                note: Some(note.to_owned()),
                score,
                ..ScorePart::default()
            })
            .collect()
    }
}

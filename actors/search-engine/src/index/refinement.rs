//! What the last look at the best results adds to a score.

use search_core::answer::ScorePart;
use search_core::file_roles::FileRole;

/// What was added to a score, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Refinement {
    /// For counting as a whole, not by its passages.
    pub(super) passages: f32,
    /// What is taken from what people seldom mean in its source.
    pub(super) aside: f32,
    /// For identifiers that it holds whole.
    pub(super) identifiers: f32,
    /// For being called like the query.
    pub(super) name: f32,
    /// For defining what the query names.
    pub(super) definition: f32,
    /// For words of the query in its path.
    pub(super) path: f32,
    /// For holding the sentence that was typed.
    pub(super) quoted: f32,
    /// What the file's role takes away, or adds.
    pub(super) role: f32,
    /// The role.
    pub(super) role_of: FileRole,
}

impl Refinement {
    /// All that is added.
    pub(super) fn sum(&self) -> f32 {
        let of_names = self.identifiers + self.name + self.definition + self.path;
        of_names + self.quoted + self.role + self.passages + self.aside
    }

    /// The parts of the score, for people.
    pub(super) fn score_parts(&self) -> Vec<ScorePart> {
        let all = [
            (
                "identifier",
                "the document holds an identifier of the query whole",
                self.identifiers,
            ),
            ("name", "the document is called like the query", self.name),
            (
                "definition",
                "the document defines what the query names, or something called alike",
                self.definition,
            ),
            (
                "path",
                "words of the query in the name of the file or its folder, and how deep it lies",
                self.path,
            ),
            (
                "quoted",
                "the document holds much of the sentence word for word",
                self.quoted,
            ),
            ("role", self.role_note(), self.role),
            (
                "whole",
                "data beside code counts as a whole, not by its best passages",
                self.passages,
            ),
            (
                "aside",
                "data beside code or pages, a page of the past, or a very long one",
                self.aside,
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

    fn role_note(&self) -> &'static str {
        match self.role_of {
            FileRole::Main | FileRole::Documentation => role_note(self.role_of),
            _ if self.role > 0.0 => "of the kind that the query asks for",
            role => role_note(role),
        }
    }
}

fn role_note(role: FileRole) -> &'static str {
    match role {
        FileRole::Main => "what the folder is about",
        FileRole::Documentation => "manuals answer how something is done, code how it works",
        FileRole::Example => "an example, which the query does not ask for",
        FileRole::Test => "a test, which the query does not ask for",
        FileRole::Generated => "written by a program, which the query does not ask for",
        FileRole::Vendored => "a copy of what others made, which the query does not ask for",
        FileRole::History => "a list of changes, which the query does not ask for",
        FileRole::Settings => "settings of a tool, which the query does not ask for",
        FileRole::Lock => "a lock file, which the query does not ask for",
    }
}

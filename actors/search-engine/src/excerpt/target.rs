//! What is meant in a text before any words are looked for.

use search_core::answer::DefinitionView;
use search_core::definitions::Definition;

/// What is meant in the next text.
#[derive(Debug, Default)]
pub(super) struct MeantPlace {
    /// Its path, where it defines what the query names.
    pub(super) defines: Option<String>,
    /// The definition that was found there.
    pub(super) found: Option<DefinitionView>,
    /// Its path while its lines are listed, where the query names anything.
    pub(super) key: Option<String>,
    /// The number of the line asked for, from 1.
    pub(super) line: Option<usize>,
}

impl MeantPlace {
    /// Keeps what was found, for the result that it is shown with.
    pub(super) fn set(&mut self, found: &Definition<'_>) {
        self.found = Some(DefinitionView {
            name: found.name.to_owned(),
            kind: found.kind,
            line: Some(found.line),
        });
    }
}

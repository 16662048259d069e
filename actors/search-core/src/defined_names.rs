//! The names by which a file of source code is ranked: those of what it defines, each once.

use rustc_hash::FxHashSet;

use crate::definitions::DefinitionKind::{Constant, Heading, Macro};
use crate::definitions::definitions;
use crate::file_roles::FileRole;

/// Most of them, in bytes.
pub const MAX_NAMES_BYTES: usize = 4_096;

/// What stands between two names.
pub const NAME_SEAM: char = '\n';

/// Names shorter than this say nothing.
const MIN_NAME: usize = 3;

/// The names of functions, types and modules that a file defines, in the order of the text, with
/// [`NAME_SEAM`] between them. None of constants and macros, which are many, nor of files that are
/// seldom meant: tests, copies, what programs write.
#[must_use]
pub fn names_for_ranking(key: &str, text: &str, role: FileRole) -> String {
    let mut names = String::new();
    if !matches!(
        role,
        FileRole::Main | FileRole::Example | FileRole::Documentation
    ) {
        return names;
    }
    let mut seen = FxHashSet::default();
    for found in definitions(key, text) {
        let says_little =
            matches!(found.kind, Constant | Macro | Heading) || found.name.len() < MIN_NAME;
        if says_little || !seen.insert(found.name) {
            continue;
        }
        if names.len() + found.name.len() >= MAX_NAMES_BYTES {
            break;
        }
        if !names.is_empty() {
            names.push(NAME_SEAM);
        }
        names.push_str(found.name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::{FileRole, MAX_NAMES_BYTES, names_for_ranking};

    #[test]
    fn i16_functions_and_types_are_kept_once() {
        let text = "const MAX: u8 = 3;\nstruct Page;\nimpl Page {\n    fn new() {}\n    fn id() {}\n    fn new() {}\n}\n";
        let names = |key: &str| names_for_ranking(key, text, FileRole::from_path(key));
        assert_eq!(names("src/page.rs"), "Page\nnew");
        assert_eq!(names("examples/page.rs"), "Page\nnew");
        assert_eq!(names("tests/page.rs"), "");
        assert_eq!(names("notes.md"), "");
    }

    #[test]
    fn i16_long_lists_are_bounded() {
        let text: String = (0..2_000)
            .map(|n| format!("fn name_{n}() {{}}\n"))
            .collect();
        let names = names_for_ranking("a.rs", &text, FileRole::Main);
        assert!(names.len() <= MAX_NAMES_BYTES && names.starts_with("name_0\nname_1\n"));
        assert!(names.len() > MAX_NAMES_BYTES - 16 && !names.ends_with('\n'));
    }
}

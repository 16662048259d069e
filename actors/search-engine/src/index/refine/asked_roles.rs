//! Which files a query asks for.

use search_core::file_roles::FileRole;
use search_core::query::{Field, ParsedQuery};

/// Whether the query says where files lie.
pub(super) fn has_path(query: &ParsedQuery) -> bool {
    query.filters().iter().any(|one| one.field == Field::Path)
}

/// The roles that the query asks for: by a word, by `is:`, or all of them by a path.
pub(super) fn named_roles(query: &ParsedQuery) -> Vec<FileRole> {
    let has_path = has_path(query);
    let words = query.words().iter();
    let words: Vec<&str> = words
        .filter(|word| query.is_looked_for(word))
        .map(|word| word.folded.as_str())
        .collect();
    let is_wanted = |role: &FileRole| query.wanted_role() == Some(*role);
    // `.env`, `.gitignore`: with its dot a word asks for what is called so.
    let has_dot = query.literals().iter().any(|word| word.starts_with('.'));
    let is_settings = |role: &FileRole| has_dot && *role == FileRole::Settings;
    let is_filtered = |role: &FileRole| {
        let mut filters = query.filters().iter();
        filters.any(|one| one.field == Field::Is && one.value == role.as_str())
    };
    let is_named = |role: &FileRole| {
        has_path
            || is_filtered(role)
            || role.is_named_among(&words)
            || is_wanted(role)
            || is_settings(role)
    };
    FileRole::ALL.into_iter().filter(is_named).collect()
}

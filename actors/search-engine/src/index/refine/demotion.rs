//! What people seldom mean among pages: data, pages of the past, those that hold everything.

use search_core::document::ContentKind;
use search_core::file_roles::FileRole;
use search_core::names::file_name;

use super::super::passages::PassageScore;
use super::super::record::DocumentRecord;
use super::super::rerank::Fusion;
use super::weights::{DATA_BESIDE_CODE, DATA_BESIDE_PAGES, PAST};

/// What the results are that a document stands beside, in its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    /// Code.
    Code,
    /// Texts for people, of which a sentence is asked.
    Pages,
    /// Others, or the query may be the name of one.
    Other,
}

/// Forms of data that programs read. Tables and logs are what people ask for.
const STRUCTURED: [&str; 10] = [
    "geojson", "json", "json5", "jsonc", "jsonl", "po", "pot", "xml", "yaml", "yml",
];

/// Folders of pages that were right when they were written.
const PAST_FOLDERS: [&str; 10] = [
    "_posts",
    "blog",
    "blogs",
    "changelog",
    "changelogs",
    "posts",
    "release-notes",
    "relnotes",
    "releasenotes",
    "roadmap",
];

/// Terms from which on a page is long: a reference, which holds any words somewhere.
const LONG: f32 = 4_000.0;

/// What each doubling beyond that takes.
const BY_DOUBLING: f32 = 0.06;

/// Whether a document is a file of code: those of a collection, which are functions, have no
/// extension.
pub(super) fn is_code_file(record: &DocumentRecord) -> bool {
    record.kind == ContentKind::Code && file_name(&record.key).contains('.')
}

/// What a document has as a whole more, or less, than by its passages, which count for nothing
/// then: beside code a long file of data holds any words somewhere.
pub(super) fn whole_document_change(fusion: Option<&Fusion>, passages: PassageScore) -> f32 {
    match fusion {
        None => -passages.change,
        Some(fusion) if fusion.lexical_score > 0.0 => {
            let of_words = fusion.lexical_part - fusion.otherwise_part;
            -passages.change * of_words / fusion.lexical_score
        }
        Some(_) => 0.0,
    }
}

/// What is left of what words and path give to a document that people seldom mean: data beside
/// code and pages, pages of the past, very long ones. `is_asked`: whether the query asks for an
/// extension.
pub(super) fn remaining_factor(
    record: &DocumentRecord,
    terms: u32,
    role: FileRole,
    neighbours: Neighbours,
    is_asked: &dyn Fn(&str) -> bool,
) -> f32 {
    let extension = extension(&record.key);
    match neighbours {
        Neighbours::Code if role == FileRole::Main && !is_asked(extension) => DATA_BESIDE_CODE,
        Neighbours::Pages => {
            let is_data = is_structured(&record.key) && !is_asked(extension);
            let of_form = if is_data { DATA_BESIDE_PAGES } else { 1.0 };
            let of_time = if is_of_the_past(&record.key) {
                PAST
            } else {
                1.0
            };
            length_factor(terms) * of_form * of_time
        }
        _ => 1.0,
    }
}

fn extension(key: &str) -> &str {
    let name = file_name(key);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// Whether a file holds data in a form for programs, by its extension.
fn is_structured(key: &str) -> bool {
    let extension = extension(key);
    let mut forms = STRUCTURED.iter();
    forms.any(|form| form.eq_ignore_ascii_case(extension))
}

/// Whether a page lies in a folder of pages of the past.
fn is_of_the_past(key: &str) -> bool {
    let folders = key.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| {
        PAST_FOLDERS
            .iter()
            .any(|past| past.eq_ignore_ascii_case(folder))
    })
}

/// What is left of the score of a page of so many terms.
fn length_factor(terms: u32) -> f32 {
    let doublings = (terms as f32 / LONG).max(1.0).log2();
    (1.0 - BY_DOUBLING * doublings).max(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i16_data_and_the_past_are_told_by_paths() {
        for (key, structured, past) in [
            ("a/b.json", true, false),
            ("a/B.YML", true, false),
            ("bank.csv", false, false),
            ("app.log", false, false),
            ("notes/json", false, false),
            ("blog/2024/a.md", false, true),
            ("Documentation/RelNotes/2.0.txt", false, true),
            ("posts.md", false, false),
            ("2024-03-01 meeting.md", false, false),
        ] {
            let found = (is_structured(key), is_of_the_past(key));
            assert_eq!(found, (structured, past), "{key}");
        }
    }

    #[test]
    fn i16_only_long_pages_lose_by_their_length() {
        for (terms, left) in [(0, 1.0), (4_000, 1.0), (16_000, 0.88), (u32::MAX, 0.5)] {
            assert!((length_factor(terms) - left).abs() < 1e-6, "{terms}");
        }
    }
}

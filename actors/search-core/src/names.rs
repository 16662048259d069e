//! What a document is called: the names that people type when they mean it, and nothing else.
//!
//! Names are compared squeezed: `search_service.rs`, `SearchService` and `search service` are one.

use crate::analysis::fold;

/// The kinds with which `rustdoc` begins the file names of items (`struct.Vec.html`).
const RUSTDOC_KINDS: [&str; 16] = [
    "attr",
    "constant",
    "derive",
    "enum",
    "externtype",
    "fn",
    "keyword",
    "macro",
    "mod",
    "primitive",
    "static",
    "struct",
    "trait",
    "traitalias",
    "type",
    "union",
];

/// The last part of a path.
#[must_use]
pub fn file_name(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

/// The name of a file without extensions, and without the kind in front that `rustdoc` writes:
/// `struct.Vec.html` is called `Vec`, `parse.test.ts` is called `parse`. A name that begins with a
/// dot keeps it (`.gitignore`).
#[must_use]
pub fn stem(key: &str) -> &str {
    let name = file_name(key);
    let dots = name.len() - name.trim_start_matches('.').len();
    let (first, rest) = match name[dots..].split_once('.') {
        Some((first, rest)) => (&name[..dots + first.len()], rest),
        None => return name,
    };
    match rest.split_once('.') {
        // The source of a module is at `mod.rs.html`.
        Some((item, _)) if RUSTDOC_KINDS.contains(&first) && !item.is_empty() && item != "rs" => {
            item
        }
        _ => first,
    }
}

/// Longest name, in bytes, after squeezing: longer lines are sentences.
const MAX_NAME_BYTES: usize = 64;

/// Files that stand for the folder they lie in.
const FOLDER_FILES: [&str; 9] = [
    "__init__", "_index", "default", "index", "init", "lib", "main", "mod", README,
];

/// It stands for its folder as a page does, not as code.
const README: &str = "readme";

/// Whether code in a file with this [`stem`] is called by its folder: `mod.rs`, `__init__.py`.
#[must_use]
pub fn is_called_by_folder(stem: &str) -> bool {
    stem != README && FOLDER_FILES.contains(&stem)
}

/// Whether a name is a number alone, which says nothing of what is meant.
#[must_use]
pub fn is_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// What stands between the name of a page and what it is part of, in its title.
const TITLE_SEAMS: [&str; 5] = [" - ", " – ", " — ", " | ", " · "];

/// A name without what people leave off when they type it: case, accents, spaces and signs. `+` and
/// `#` behind a letter stay (`C++`, `c#`).
#[must_use]
pub fn squeezed(text: &str) -> String {
    let mut bare = String::with_capacity(text.len());
    let mut last = ' ';
    for c in text.chars() {
        let is_sign = matches!(c, '+' | '#') && (last.is_alphanumeric() || last == c);
        if c.is_alphanumeric() || is_sign {
            bare.push(c);
            last = c;
        } else {
            last = ' ';
        }
    }
    let mut name = String::with_capacity(bare.len());
    fold(&bare, &mut name);
    name.truncate(name.floor_char_boundary(MAX_NAME_BYTES));
    name
}

/// How a name belongs to a document, the closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NameKind {
    /// The file with its extension: `QUERIES.md`.
    File,
    /// The file without it, see [`stem`].
    Stem,
    /// The whole title, or its beginning up to what the page is part of.
    Title,
    /// The folder of an `index.html`, a `mod.rs`, a `README.md`.
    Folder,
}

/// The names of a document with this key and title, as they are written; some may be the same.
pub fn names<'d>(key: &'d str, title: &'d str) -> impl Iterator<Item = (NameKind, &'d str)> {
    let (file, stem) = (file_name(key), stem(key));
    let is_folder = FOLDER_FILES
        .iter()
        .any(|name| stem.eq_ignore_ascii_case(name));
    let folder = is_folder.then(|| key.rsplit('/').nth(1)).flatten();
    let title = title.trim();
    [
        Some((NameKind::File, file)),
        Some((NameKind::Stem, stem)),
        Some((NameKind::Title, title)),
        Some((NameKind::Title, title_lead(title))),
        folder.map(|folder| (NameKind::Folder, folder)),
    ]
    .into_iter()
    .flatten()
    .filter(|(_, name)| !name.is_empty())
}

/// The beginning of a title up to what the page is part of: `Vec` of `Vec in std::vec - Rust`.
fn title_lead(title: &str) -> &str {
    let ends = TITLE_SEAMS.iter().filter_map(|seam| title.find(seam));
    let lead = ends.min().map_or(title, |end| &title[..end]);
    match lead.split_once(" in ") {
        Some((name, whole)) if !name.contains(' ') && !whole.contains(' ') => name,
        _ => lead,
    }
}

/// A name that is looked for: `Vec`, `std::vec::Vec`, `docs/QUERIES.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct WantedName {
    /// The name as typed, without what stands in front of it.
    pub surface: String,
    /// The name [squeezed].
    pub name: String,
    /// What stands in front of it, squeezed, in order: folders, modules, types.
    pub within: Vec<String>,
    /// Whether it is what a qualified name lies in, not what is meant first: `Vec` of `Vec::push`.
    pub is_owner: bool,
}

impl WantedName {
    /// The names that a whole query may be, the likeliest first: the text as it is, and, where it
    /// is one qualified name (`a::b::C`, `a.b.c`, `A#b`, a path), its last part in the others, and
    /// the part before that (a method's type).
    #[must_use]
    pub fn from_query(text: &str) -> Vec<Self> {
        let text = text.trim().trim_end_matches(['/', '(', ')']);
        let whole = Self::with_containers(text, &[]);
        let mut wanted = Vec::new();
        if !text.contains(char::is_whitespace) {
            let segments: Vec<&str> = text
                .split(['/', '\\', ':', '#'])
                .filter(|segment| !squeezed(segment).is_empty())
                .collect();
            if segments.len() > 1 {
                wanted.extend(Self::qualified(&segments));
            } else {
                let dotted: Vec<&str> = text.split('.').filter(|one| !one.is_empty()).collect();
                if dotted.len() > 1 {
                    wanted.extend(Self::qualified(&dotted));
                }
            }
        }
        wanted.insert(0, whole);
        wanted.retain(|one| !one.name.is_empty());
        wanted
    }

    /// Whether a name is this one, squeezed; most are told apart by their first letters.
    fn is_called(&self, name: &str) -> bool {
        let first = name.chars().find(|c| c.is_alphanumeric());
        let differs = match (first, self.name.chars().next()) {
            (Some(a), Some(b)) => a.is_ascii() && b.is_ascii() && !a.eq_ignore_ascii_case(&b),
            _ => true,
        };
        !differs && squeezed(name) == self.name
    }

    fn with_containers(surface: &str, within: &[&str]) -> Self {
        Self {
            surface: surface.to_owned(),
            name: squeezed(surface),
            within: within.iter().map(|one| squeezed(one)).collect(),
            is_owner: false,
        }
    }

    fn qualified(segments: &[&str]) -> Vec<Self> {
        let Some((last, before)) = segments.split_last() else {
            return Vec::new();
        };
        let mut wanted = vec![Self::with_containers(last, before)];
        if let Some((owner, before)) = before.split_last() {
            wanted.push(Self {
                is_owner: true,
                ..Self::with_containers(owner, before)
            });
        }
        wanted
    }

    /// How a document has the name: the closest kind, and whether it is written just as typed.
    /// None where its path or title does not hold what stands in front of the name, in order.
    #[must_use]
    pub fn kind_of(&self, key: &str, title: &str) -> Option<(NameKind, bool)> {
        let found = names(key, title).filter(|(_, name)| self.is_called(name));
        let best = found
            .map(|(kind, name)| (kind, name != self.surface))
            .min()?;
        let mut wanted = self.within.iter().peekable();
        for segment in key.split(['/', ':']) {
            let is_it =
                |one: &&String| **one == squeezed(segment) || **one == squeezed(stem(segment));
            if wanted.next_if(|one| is_it(one)).is_none() && wanted.peek().is_none() {
                break;
            }
        }
        wanted.peek().is_none().then_some((best.0, !best.1))
    }
}

#[cfg(test)]
mod tests {
    use super::{NameKind, WantedName, file_name, names, squeezed, stem};

    #[test]
    fn names_are_compared_without_case_and_signs() {
        for (text, expected) in [
            ("search_service.rs", "searchservicers"),
            ("SearchService", "searchservice"),
            ("search service", "searchservice"),
            ("C++", "c++"),
            ("c#", "c#"),
            ("# Heading", "heading"),
            ("Éclair", "eclair"),
            ("--flag", "flag"),
            (".env", "env"),
            ("…", ""),
        ] {
            assert_eq!(squeezed(text), expected, "{text}");
        }
    }

    #[test]
    fn a_document_has_several_names() {
        let of = |key: &'static str, title: &'static str| {
            let all = names(key, title).map(|(_, name)| name).collect::<Vec<_>>();
            all.join(", ")
        };
        assert_eq!(
            of("std/vec/struct.Vec.html", "Vec in std::vec - Rust"),
            "struct.Vec.html, Vec, Vec in std::vec - Rust, Vec"
        );
        assert_eq!(
            of("book/ch04.html", "Life in the woods | A Book"),
            "ch04.html, ch04, Life in the woods | A Book, Life in the woods"
        );
        assert_eq!(of("src/query/mod.rs", ""), "mod.rs, mod, query");
        assert_eq!(of("lua/lazy/init.lua", ""), "init.lua, init, lazy");
        assert_eq!(of("", ""), "");
    }

    #[test]
    fn a_name_is_found_in_the_folders_that_are_typed() {
        let vec = ("std/vec/struct.Vec.html", "Vec in std::vec - Rust");
        let module = ("std/vec/index.html", "std::vec - Rust");
        let page = ("docs/QUERIES.md", "Query language");
        let kind = |text: &str, (key, title): (&str, &str)| {
            let wanted = WantedName::from_query(text);
            wanted.iter().find_map(|one| one.kind_of(key, title))
        };
        for (text, document, expected) in [
            ("Vec", vec, Some((NameKind::Stem, true))),
            ("vec", vec, Some((NameKind::Stem, false))),
            ("vec", module, Some((NameKind::Folder, true))),
            ("std::vec", module, Some((NameKind::Title, true))),
            ("std::vec::Vec", vec, Some((NameKind::Stem, true))),
            ("alloc::vec::Vec", vec, None),
            ("Vec#push", vec, Some((NameKind::Stem, true))),
            ("QUERIES.md", page, Some((NameKind::File, true))),
            ("docs/queries.md", page, Some((NameKind::File, false))),
            ("query language", page, Some((NameKind::Title, false))),
            ("docs.QUERIES", page, Some((NameKind::Stem, true))),
            ("the query language", page, None),
            ("src/QUERIES.md", page, None),
        ] {
            assert_eq!(kind(text, document), expected, "{text} of {document:?}");
        }
        assert!(WantedName::from_query(" … ").is_empty());
    }

    #[test]
    fn files_are_called_by_their_stems() {
        for (key, expected) in [
            ("docs/QUERIES.md", "QUERIES"),
            ("std/vec/struct.Vec.html", "Vec"),
            ("std/macro.println!.html", "println!"),
            ("src/alloc/vec/mod.rs.html", "mod"),
            ("src/struct.rs", "struct"),
            ("web/parse.test.ts", "parse"),
            ("Makefile", "Makefile"),
            (".env", ".env"),
            ("a/.eslintrc.json", ".eslintrc"),
            ("..", ".."),
            ("", ""),
        ] {
            assert_eq!(stem(key), expected, "{key}");
        }
        assert_eq!(file_name("a/b.c"), "b.c");
        assert_eq!(file_name("a/"), "");
    }
}

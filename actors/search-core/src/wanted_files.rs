//! Files that a query names by their names or paths, and the lines of them that it asks for:
//! `types.py`, `click/core.py:1328`, `src/a.rs:120:9`.

use std::ops::Range;

use crate::names::{file_name, squeezed};

/// Longest extension of a file, in bytes.
const MAX_EXTENSION: usize = 8;

/// Most digits of the number of a line.
const MAX_DIGITS: usize = 7;

/// What a file of the name is where no other word of the query lies in its path: in a sentence its
/// name is one word of several.
const BY_NAME_ALONE: f32 = 0.35;

/// What a folder counts that has a word of the query as one of several.
const PART_OF_FOLDER: f32 = 0.7;

/// What folders count that are the typed ones with others between them.
const WITH_GAPS: f32 = 0.9;

/// From how likely on a file is one that the query means, not one that it speaks of.
pub const MEANT: f32 = 0.6;

/// What is around a file name in a text where it does not belong to it.
const AROUND: [char; 17] = [
    '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '«', '»', '“', '”',
];

/// A file that is looked for by its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WantedFile {
    /// Its name as typed.
    pub surface: String,
    /// The name, squeezed.
    pub name: String,
    /// The folders typed in front of it, squeezed, the outermost first.
    pub folders: Vec<String>,
    /// The line that is asked for, from 1.
    pub line: Option<usize>,
}

impl WantedFile {
    /// The file that a piece of text without white space names, and where in it the number of a
    /// line stands with what follows it.
    #[must_use]
    pub fn of_token(token: &str) -> Option<(Self, Range<usize>)> {
        let inner = token.trim_start_matches(AROUND);
        let start = token.len() - inner.len();
        let is_around = |c: char| AROUND.contains(&c) || matches!(c, '.' | ':');
        let inner = inner.trim_end_matches(is_around);
        let (path, line) = match numbered(inner) {
            Some((path, line)) => (path, Some(line)),
            None => (inner, None),
        };
        if path.contains(':') || !has_extension(path) {
            return None;
        }
        let surface = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let before = &path[..path.len() - surface.len()];
        let folders = before.split(['/', '\\']).map(squeezed);
        let file = Self {
            surface: surface.to_owned(),
            name: squeezed(surface),
            folders: folders.filter(|folder| !folder.is_empty()).collect(),
            line,
        };
        let number = start + path.len()..token.len();
        Some((file, if line.is_some() { number } else { 0..0 }))
    }

    /// How likely a document with this key in a source of this name is the file, up to 1, and
    /// whether its name is written as it was typed; none where its name is another. `beside` are
    /// the other words of the query, squeezed.
    #[must_use]
    pub fn likeness(&self, key: &str, source: &str, beside: &[String]) -> Option<(f32, bool)> {
        let name = file_name(key);
        if squeezed(name) != self.name {
            return None;
        }
        let folders: Vec<&str> = key.rsplit('/').skip(1).collect();
        let by_words = if beside.is_empty() {
            1.0
        } else {
            let places = folders.iter().chain([&source]);
            let places: Vec<FolderWords> = places.map(|place| FolderWords::of(place)).collect();
            let of_word = |word: &String| {
                let all = places.iter().map(|place| place.share(word));
                all.fold(0.0, f32::max)
            };
            beside.iter().map(of_word).sum::<f32>() / beside.len() as f32
        };
        let likeness = if self.folders.is_empty() {
            BY_NAME_ALONE + (1.0 - BY_NAME_ALONE) * by_words
        } else {
            // What else lies in the path tells files of one path apart.
            self.by_folders(&folders) * 0.95 + 0.05 * by_words
        };
        Some((likeness, name == self.surface))
    }

    /// How far the folders of a key, the innermost first, are those typed.
    fn by_folders(&self, folders: &[&str]) -> f32 {
        let folders: Vec<String> = folders.iter().map(|folder| squeezed(folder)).collect();
        let typed = self.folders.iter().rev();
        let common = self.folders.len().min(folders.len());
        let agreed = typed.clone().zip(&folders).take_while(|(a, b)| a == b);
        let agreed = agreed.count();
        if agreed == common && common > 0 {
            return 1.0;
        }
        let mut all = folders.iter();
        let mut in_order = typed;
        if in_order.all(|one| all.any(|folder| folder == one)) {
            return WITH_GAPS;
        }
        agreed as f32 / common.max(1) as f32
    }
}

/// A text that is a path and the number of a line without the number.
#[must_use]
pub fn path_alone(text: &str) -> &str {
    let token = text.trim();
    match WantedFile::of_token(token) {
        Some((_, number)) if !number.is_empty() => token[..number.start].trim_start_matches("./"),
        _ => text,
    }
}

/// A folder or source that a word of a query may be.
struct FolderWords {
    whole: String,
    parts: Vec<String>,
}

impl FolderWords {
    fn of(name: &str) -> Self {
        let parts = name.split(|c: char| !c.is_alphanumeric());
        Self {
            whole: squeezed(name),
            parts: parts.map(squeezed).collect(),
        }
    }

    fn share(&self, word: &String) -> f32 {
        if self.whole == *word {
            1.0
        } else if self.parts.contains(word) {
            PART_OF_FOLDER
        } else {
            0.0
        }
    }
}

/// The path in front of `:line` or `:line:column`, and the line.
fn numbered(text: &str) -> Option<(&str, usize)> {
    let (before, last) = split_number(text)?;
    match split_number(before) {
        Some((path, line)) => Some((path, line)),
        None => Some((before, last)),
    }
}

fn split_number(text: &str) -> Option<(&str, usize)> {
    let (before, number) = text.rsplit_once(':')?;
    let is_number = (1..=MAX_DIGITS).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit());
    let line = is_number.then(|| number.parse::<usize>().ok())??;
    (line > 0).then_some((before, line))
}

/// Whether a path ends with a name that has an extension.
fn has_extension(path: &str) -> bool {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return false;
    };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '@' | '$');
    stem.contains(char::is_alphanumeric)
        && stem.chars().all(is_name)
        && extension.starts_with(|c: char| c.is_ascii_alphabetic())
        && extension.len() <= MAX_EXTENSION
        && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::WantedFile;

    #[test]
    fn i16_files_and_their_lines_are_read() {
        for (token, expected) in [
            ("types.py", Some(("", "types.py", None, ""))),
            (
                "pattern.rs:155",
                Some(("", "pattern.rs", Some(155), ":155")),
            ),
            (
                "click/core.py:1328",
                Some(("click", "core.py", Some(1328), ":1328")),
            ),
            (
                "(./src/a.rs:120:9):",
                Some(("src", "a.rs", Some(120), ":120:9):")),
            ),
            ("docs\\CONFIG.md", Some(("docs", "CONFIG.md", None, ""))),
            ("1.95.0", None),
            ("127.0.0.1:80", None),
            ("std::vec::Vec", None),
            ("http://host.example:80", None),
            ("std::fs.rs", None),
            (".env", None),
            ("a.rs:0", None),
            ("e", None),
            (":12", None),
        ] {
            let found = WantedFile::of_token(token);
            let found = found.as_ref().map(|(file, number)| {
                let folders = file.folders.join("/");
                (
                    folders,
                    file.surface.as_str(),
                    file.line,
                    &token[number.clone()],
                )
            });
            let expected = expected
                .map(|(folders, name, line, number)| (folders.to_owned(), name, line, number));
            assert_eq!(found, expected, "{token}");
        }
    }

    #[test]
    fn i16_files_are_told_apart_by_all_folders_and_their_source() {
        let likeness = |token: &str, key: &str, source: &str, beside: &[&str]| {
            let (file, _) = WantedFile::of_token(token).expect("a file");
            let beside: Vec<String> = beside.iter().map(|&one| one.to_owned()).collect();
            file.likeness(key, source, &beside).map(|(share, _)| share)
        };
        let main = "bins/search-server/src/main.rs";
        assert_eq!(likeness("main.rs", main, "S", &["searchserver"]), Some(1.0));
        assert!(likeness("main.rs", main, "S", &["server"]) > Some(0.7));
        assert!(likeness("main.rs", main, "S", &["other"]) < Some(0.4));
        assert_eq!(likeness("lib.rs", main, "S", &[]), None);
        assert_eq!(
            likeness("main.rs", "src/main.rs", "Click", &["click"]),
            Some(1.0)
        );
        for (token, expected) in [
            ("src/main.rs", 1.0),
            ("/home/me/bins/search-server/src/main.rs", 0.0),
            ("search-server/main.rs", 0.905),
            ("other/main.rs", 0.05),
        ] {
            let found = likeness(token, main, "S", &[]).expect("of that name");
            assert!(
                (found - expected).abs() < 0.2 || found > 0.99,
                "{token}: {found}"
            );
        }
        assert_eq!(
            likeness("/home/me/docs/a.md", "docs/a.md", "S", &[]),
            Some(1.0)
        );
    }
}

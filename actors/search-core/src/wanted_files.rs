//! Files that a query names by their names or paths, and the lines of them that it asks for:
//! `types.py`, `click/core.py:1328`, `src/a.rs:120:9`.

mod pasted;

use std::ops::Range;

use self::pasted::{PastedFile, line_behind};
use crate::names::{file_name, squeezed};

/// What a file of the name is where no other word of the query lies in its path: in a sentence its
/// name is one word of several.
const BY_NAME_ALONE: f32 = 0.35;

/// What a folder counts that has a word of the query as one of several.
const PART_OF_FOLDER: f32 = 0.7;

/// What folders count that are the typed ones with others between them.
const WITH_GAPS: f32 = 0.9;

/// From how likely on a file is one that the query means, not one that it speaks of.
pub const MEANT: f32 = 0.6;

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

/// How a document is like a file that is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileLikeness {
    /// How likely it is the file, up to 1.
    pub share: f32,
    /// Whether its name is written as it was typed.
    pub is_same: bool,
    /// Whether a line of it is asked for.
    pub has_line: bool,
}

impl WantedFile {
    /// The file that a piece of text without white space names, and what of the piece tells the
    /// line and where the file is kept, which are no words.
    #[must_use]
    pub fn from_token(token: &str) -> Option<(Self, [Range<usize>; 2])> {
        let PastedFile { path, line, noise } = PastedFile::parse(token)?;
        let surface = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let before = &path[..path.len() - surface.len()];
        let folders = before.split(['/', '\\']).map(squeezed);
        let file = Self {
            surface: surface.to_owned(),
            name: squeezed(surface),
            folders: folders.filter(|folder| !folder.is_empty()).collect(),
            line,
        };
        Some((file, noise))
    }

    /// Takes the line that the text right behind the file names (`", line 451`); gives how much of
    /// the text that is.
    pub fn take_line(&mut self, behind: &str) -> Option<usize> {
        if self.line.is_some() {
            return None;
        }
        let (line, end) = line_behind(behind)?;
        self.line = Some(line);
        Some(end)
    }

    /// How a document with this key in a source of this name is like the file; none where its name
    /// is another. `beside` are the other words of the query, squeezed.
    #[must_use]
    pub fn similarity(&self, key: &str, source: &str, beside: &[String]) -> Option<FileLikeness> {
        let name = file_name(key);
        if squeezed(name) != self.name {
            return None;
        }
        let folders: Vec<&str> = key.rsplit('/').skip(1).collect();
        let by_words = if beside.is_empty() {
            1.0
        } else {
            let places = folders.iter().chain([&source]);
            let places: Vec<FolderWords> = places.map(|place| FolderWords::new(place)).collect();
            let of_word = |word: &String| {
                let all = places.iter().map(|place| place.shared_fraction(word));
                all.fold(0.0, f32::max)
            };
            beside.iter().map(of_word).sum::<f32>() / beside.len() as f32
        };
        let share = if self.folders.is_empty() {
            BY_NAME_ALONE + (1.0 - BY_NAME_ALONE) * by_words
        } else {
            // What else lies in the path tells files of one path apart.
            self.folder_similarity(&folders) * 0.95 + 0.05 * by_words
        };
        Some(FileLikeness {
            share,
            is_same: name == self.surface,
            has_line: self.line.is_some(),
        })
    }

    /// How far the folders of a key, the innermost first, are those typed.
    fn folder_similarity(&self, folders: &[&str]) -> f32 {
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
    match PastedFile::parse(token) {
        Some(found) if found.noise.iter().any(|part| !part.is_empty()) => {
            found.path.trim_start_matches("./")
        }
        _ => text,
    }
}

/// A folder or source that a word of a query may be.
struct FolderWords {
    whole: String,
    parts: Vec<String>,
}

impl FolderWords {
    fn new(name: &str) -> Self {
        let parts = name.split(|c: char| !c.is_alphanumeric());
        Self {
            whole: squeezed(name),
            parts: parts.map(squeezed).collect(),
        }
    }

    fn shared_fraction(&self, word: &String) -> f32 {
        if self.whole == *word {
            1.0
        } else if self.parts.contains(word) {
            PART_OF_FOLDER
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use super::WantedFile;

    #[test]
    fn i16_files_are_told_apart_by_all_folders_and_their_source() {
        let likeness = |token: &str, key: &str, source: &str, beside: &[&str]| {
            let (file, _) = WantedFile::from_token(token).expect("a file");
            let beside: Vec<String> = beside.iter().map(|&one| one.to_owned()).collect();
            file.similarity(key, source, &beside).map(|one| one.share)
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

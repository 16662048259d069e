//! Thesauri on disk.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::matcher::Thesaurus;
use super::parse::{MAX_ENTRIES, ThesaurusEntry, ThesaurusError, parse_concept_file, parse_json};

/// Largest JSON thesaurus, in bytes.
const MAX_JSON_BYTES: u64 = 32 << 20;

/// Largest concept file that is looked at, in bytes; a longer one is a document.
const MAX_CONCEPT_BYTES: u64 = 256 << 10;

/// Most files and folders that are looked at.
const MAX_FILES: usize = 50_000;

/// Deepest folder below the thesaurus's that is looked into.
const MAX_DEPTH: usize = 16;

/// Why a thesaurus cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ThesaurusLoadError {
    /// A file or folder cannot be read.
    #[error("thesaurus {}: {source}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A JSON thesaurus is wrong.
    #[error("thesaurus {}: {source}", path.display())]
    Json {
        /// Which one.
        path: PathBuf,
        /// What is wrong.
        source: ThesaurusError,
    },
    /// It is larger than one is read.
    #[error("thesaurus {}: it has more than {limit}; split it by role", path.display())]
    TooLarge {
        /// Which one.
        path: PathBuf,
        /// Of what it has too many.
        limit: String,
    },
}

/// Reads a thesaurus: a JSON file, or a folder with Markdown concept files (`*.md`, those with a
/// line `synonyms:: a, b`) and JSON files, in the order of their names. Links in the folder are not
/// followed.
///
/// # Errors
/// It cannot be read, or is not what is expected; the error names the file.
pub fn load(path: &Path) -> Result<Thesaurus, ThesaurusLoadError> {
    let mut entries = Vec::new();
    let facts = std::fs::metadata(path).map_err(|source| failed(path, source))?;
    if facts.is_dir() {
        let mut left = MAX_FILES;
        read_directory(path, 0, &mut left, &mut entries)?;
    } else {
        entries = read_json(path)?;
    }
    if entries.len() > MAX_ENTRIES {
        return Err(too_large(path, format!("{MAX_ENTRIES} concepts")));
    }
    Ok(Thesaurus::new(entries))
}

fn failed(path: &Path, source: std::io::Error) -> ThesaurusLoadError {
    ThesaurusLoadError::Io {
        path: path.to_owned(),
        source,
    }
}

fn too_large(path: &Path, limit: String) -> ThesaurusLoadError {
    ThesaurusLoadError::TooLarge {
        path: path.to_owned(),
        limit,
    }
}

fn read_directory(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    entries: &mut Vec<ThesaurusEntry>,
) -> Result<(), ThesaurusLoadError> {
    let listed = std::fs::read_dir(folder).map_err(|source| failed(folder, source))?;
    let mut found = Vec::new();
    for entry in listed {
        *left = left
            .checked_sub(1)
            .ok_or_else(|| too_large(folder, format!("{MAX_FILES} files")))?;
        let entry = entry.map_err(|source| failed(folder, source))?;
        let kind = entry.file_type();
        let kind = kind.map_err(|source| failed(&entry.path(), source))?;
        found.push((entry.path(), kind));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    for (path, kind) in found {
        let ending = path.extension().and_then(|ending| ending.to_str());
        if kind.is_dir() && depth < MAX_DEPTH {
            read_directory(&path, depth + 1, left, entries)?;
        } else if kind.is_file() && ending == Some("md") {
            entries.extend(read_concept(&path)?);
        } else if kind.is_file() && ending == Some("json") {
            entries.extend(read_json(&path)?);
        }
    }
    Ok(())
}

fn read_concept(path: &Path) -> Result<Option<ThesaurusEntry>, ThesaurusLoadError> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = read(path, MAX_CONCEPT_BYTES)?;
    Ok(text.and_then(|text| parse_concept_file(&stem, &text)))
}

fn read_json(path: &Path) -> Result<Vec<ThesaurusEntry>, ThesaurusLoadError> {
    let text = read(path, MAX_JSON_BYTES)?;
    let text = text.ok_or_else(|| too_large(path, format!("{MAX_JSON_BYTES} bytes")))?;
    parse_json(&text).map_err(|source| ThesaurusLoadError::Json {
        path: path.to_owned(),
        source,
    })
}

/// The text of a file; `None` where it is longer than `limit`.
fn read(path: &Path, limit: u64) -> Result<Option<String>, ThesaurusLoadError> {
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|source| failed(path, source))?;
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| failed(path, source))?;
    let fits = bytes.len() as u64 <= limit;
    Ok(fits.then(|| String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::{ThesaurusLoadError, load};

    #[test]
    fn a_folder_of_concept_files_and_json_is_one_thesaurus() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(folder.path().join(name), text).expect("written");
        };
        std::fs::create_dir(folder.path().join("deep")).expect("a folder");
        write("deep/fault tolerance.md", "synonyms:: let it crash\n");
        write("note.md", "An ordinary note.\n");
        write("more.json", r#"{"backoff": {"nterm": "back-off"}}"#);
        let thesaurus = load(folder.path()).expect("a thesaurus");
        let names: Vec<&str> = thesaurus
            .entries()
            .iter()
            .map(|entry| entry.name.as_str())
            .collect();
        assert_eq!(names, ["back-off", "fault tolerance"]);
        assert_eq!(thesaurus.find("They LET it crash.").len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("wrong.json");
        std::fs::write(&file, "{\"a\": 5}").expect("written");
        for path in [folder.path(), &file] {
            let error = load(path).expect_err("it is wrong");
            assert!(matches!(error, ThesaurusLoadError::Json { .. }), "{error}");
            assert!(error.to_string().contains("wrong.json"), "{error}");
        }
        let missing = load(&folder.path().join("none")).expect_err("there is none");
        assert!(missing.to_string().contains("none"), "{missing}");
    }
}

//! Concept files and JSON thesauri.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Most concepts of a thesaurus.
pub const MAX_ENTRIES: usize = 100_000;

/// Longest name or synonym, in bytes.
const MAX_NAME: usize = 256;

/// Most synonyms of a concept.
const MAX_SYNONYMS: usize = 256;

/// A concept as declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThesaurusEntry {
    /// The name shown and put in by [`replace`](super::Thesaurus::replace).
    pub name: String,
    /// Other words for it.
    pub synonyms: Vec<String>,
    /// Where it is described, if anywhere.
    pub url: Option<String>,
}

/// Why a JSON thesaurus cannot be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ThesaurusError {
    /// The text is not what is expected.
    #[error(
        "{0}; expected an object of `\"synonym\": {{\"nterm\": \"concept\"}}` or a list of `{{\"name\", \"synonyms\"}}`"
    )]
    Syntax(String),
    /// More concepts than a thesaurus may have.
    #[error("more than {MAX_ENTRIES} concepts; split the thesaurus by role")]
    TooMany,
}

/// Reads a Markdown concept file: its name is its first heading, else `stem` (the file's name
/// without ending), and lines `synonyms:: a, b` name its synonyms. `None` for a file without such a
/// line: it is an ordinary document.
#[must_use]
pub fn parse_concept_file(stem: &str, text: &str) -> Option<ThesaurusEntry> {
    let mut entry = ThesaurusEntry::default();
    let mut declared = false;
    for line in text.lines() {
        let line = line.trim().trim_start_matches("- ").trim_start();
        if let Some(heading) = line.strip_prefix("# ").filter(|_| entry.name.is_empty()) {
            entry.name = clean(heading);
        } else if let Some((key, value)) = line.split_once("::") {
            match key.trim().to_ascii_lowercase().as_str() {
                "synonyms" => {
                    declared = true;
                    let synonyms = value.split(',').map(clean).filter(|s| !s.is_empty());
                    entry.synonyms.extend(synonyms);
                }
                "url" => entry.url = Some(clean(value)).filter(|url| !url.is_empty()),
                _ => {}
            }
        }
    }
    if entry.name.is_empty() {
        entry.name = clean(stem);
    }
    entry.synonyms.truncate(MAX_SYNONYMS);
    (declared && !entry.name.is_empty()).then_some(entry)
}

/// A name without Markdown's link brackets and spare spaces, of a sane length.
fn clean(name: &str) -> String {
    let name = name.trim().trim_start_matches("[[").trim_end_matches("]]");
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    name[..name.floor_char_boundary(MAX_NAME)].to_owned()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum File {
    /// As the map of synonyms that other tools write, perhaps under `data`.
    Wrapped {
        data: BTreeMap<String, Target>,
    },
    List(Vec<SynonymEntry>),
    Map(BTreeMap<String, Target>),
}

#[derive(Deserialize)]
struct SynonymEntry {
    name: String,
    #[serde(default)]
    synonyms: Vec<String>,
    #[serde(default)]
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Target {
    Name(String),
    Names(Vec<String>),
    Concept {
        nterm: String,
        #[serde(default)]
        url: Option<String>,
    },
}

/// Reads a JSON thesaurus: `{"synonym": {"nterm": "concept", "url"?}}` (perhaps under `data`),
/// `{"synonym": "concept"}`, `{"concept": ["synonym", …]}`, or `[{"name", "synonyms", "url"?}]`.
///
/// # Errors
/// The text is none of these, or names too many concepts.
pub fn parse_json(text: &str) -> Result<Vec<ThesaurusEntry>, ThesaurusError> {
    let file: File =
        serde_json::from_str(text).map_err(|error| ThesaurusError::Syntax(error.to_string()))?;
    let mut entries: BTreeMap<String, ThesaurusEntry> = BTreeMap::new();
    let mut add = |name: &str, synonyms: Vec<String>, url: Option<String>| {
        let name = clean(name);
        let entry = entries
            .entry(name.clone())
            .or_insert_with(|| ThesaurusEntry {
                name,
                ..ThesaurusEntry::default()
            });
        let synonyms = synonyms.iter().map(|synonym| clean(synonym));
        entry.synonyms.extend(synonyms.filter(|s| !s.is_empty()));
        entry.synonyms.truncate(MAX_SYNONYMS);
        entry.url = entry.url.take().or(url);
    };
    match file {
        File::List(list) => {
            for listed in list {
                add(&listed.name, listed.synonyms, listed.url);
            }
        }
        File::Wrapped { data: map } | File::Map(map) => {
            for (key, target) in map {
                match target {
                    Target::Name(name) => add(&name, vec![key], None),
                    Target::Names(synonyms) => add(&key, synonyms, None),
                    Target::Concept { nterm, url } => add(&nterm, vec![key], url),
                }
            }
        }
    }
    entries.remove("");
    if entries.len() > MAX_ENTRIES {
        return Err(ThesaurusError::TooMany);
    }
    Ok(entries.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::{ThesaurusEntry, ThesaurusError, parse_concept_file, parse_json};

    #[test]
    fn a_concept_file_names_its_synonyms() {
        let text =
            "# Fault tolerance\n\nsynonyms:: supervision, [[let it crash]],\nurl:: https://x\n";
        let entry = parse_concept_file("ft", text).expect("a concept file");
        assert_eq!(entry.name, "Fault tolerance");
        assert_eq!(entry.synonyms, ["supervision", "let it crash"]);
        assert_eq!(entry.url.as_deref(), Some("https://x"));
        let entry = parse_concept_file("rate limit", "- synonyms:: throttle").map(|e| e.name);
        assert_eq!(entry.as_deref(), Some("rate limit"));
        assert_eq!(parse_concept_file("notes", "# Notes\nplain text"), None);
    }

    #[test]
    fn the_forms_of_json_say_the_same() {
        let expected = [ThesaurusEntry {
            name: "graph".to_owned(),
            synonyms: vec!["net".to_owned(), "network".to_owned()],
            url: None,
        }];
        for text in [
            r#"{"net": {"nterm": "graph"}, "network": {"id": 1, "nterm": "graph"}}"#,
            r#"{"name": "x", "data": {"net": {"nterm": "graph"}, "network": {"nterm": "graph"}}}"#,
            r#"{"net": "graph", "network": "graph"}"#,
            r#"{"graph": ["net", "network"]}"#,
            r#"[{"name": "graph", "synonyms": ["net", "network"]}]"#,
        ] {
            assert_eq!(parse_json(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["", "3", "{\"a\": 3}", "[1]"] {
            assert!(
                matches!(parse_json(text), Err(ThesaurusError::Syntax(_))),
                "{text}"
            );
        }
    }
}

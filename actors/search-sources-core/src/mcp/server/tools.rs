//! The tools: what they take, and their answers as text.

use std::fmt::Write as _;

use search_core::passages::places_without_passage;
use serde_json::{Map, Value, json};

use super::text_part::TextPart;

/// A tool and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolCall {
    /// `search`.
    Search {
        /// In the query language.
        query: String,
        /// Results wanted.
        limit: Option<u64>,
        /// The role; the default role when absent.
        role: Option<String>,
        /// Tokens of the passages to give in place of snippets.
        budget_tokens: Option<u64>,
        /// Results to pass over.
        skip: Option<u64>,
    },
    /// `fetch`.
    Fetch {
        /// Id of a result.
        id: String,
        /// The role through which it was found.
        role: Option<String>,
        /// Which part of the text is wanted.
        part: TextPart,
    },
    /// `autocomplete`.
    Autocomplete {
        /// What was typed.
        q: String,
        /// The role; the default role when absent.
        role: Option<String>,
    },
}

/// Most results that are passed over.
const MAX_SKIP: u64 = 10_000;

/// Most lines that are counted.
const MAX_LINE: u64 = 10_000_000;

/// Most characters of a line that are counted.
const MAX_COLUMN: u64 = 10_000_000;

/// Most tokens of passages.
const MAX_BUDGET: u64 = 100_000;

/// Longest text of an argument, in bytes.
const MAX_ARGUMENT: usize = 64 << 10;

/// The list of tools, as `tools/list` gives it.
pub(super) fn list() -> Value {
    let role = json!({"type": "string", "description": "Name of the role to search; leave it out for the default role."});
    json!([
        {"name": "search", "title": "Search",
         "description": "Searches the user's sources and gives the best documents with id, title, place and snippet. Words, \"phrases\", AND, OR, NOT, -word, prefix*, re:/regular expressions/, and title: path: tag: source: kind: is: (is:test, -is:docs) are understood. With budget_tokens it gives the passages that answer, with path and lines, to read in place of whole documents.",
         "annotations": {"readOnlyHint": true, "openWorldHint": false},
         "inputSchema": {"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Results to give; 10 when left out."},
            "skip": {"type": "integer", "minimum": 1, "maximum": MAX_SKIP, "description": "Results to pass over: for the next page."},
            "budget_tokens": {"type": "integer", "minimum": 1, "maximum": MAX_BUDGET, "description": "Give passages of at most so many tokens in all, in place of snippets; 1000 is a good number."},
            "role": role}}},
        {"name": "fetch", "title": "Read a document",
         "description": "Gives the text of a document that search has found, or some of its lines, and says where to go on. Lines are those of the file; of a web page those of its text without markup.",
         "annotations": {"readOnlyHint": true, "openWorldHint": false},
         "inputSchema": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
            "id": {"type": "string", "description": "Id of a result of search."},
            "line": {"type": "integer", "minimum": 1, "maximum": MAX_LINE, "description": "First line wanted, from 1."},
            "column": {"type": "integer", "minimum": 1, "maximum": MAX_COLUMN, "description": "First character wanted of the first line, from 1: where a line too long for the budget goes on."},
            "end_line": {"type": "integer", "minimum": 1, "maximum": MAX_LINE, "description": "Last line wanted."},
            "budget_tokens": {"type": "integer", "minimum": 1, "maximum": MAX_BUDGET, "description": "Give at most so many tokens of the text; the answer says where to go on."},
            "role": role}}},
        {"name": "autocomplete", "title": "Suggest",
         "description": "Suggests titles, concepts and frequent words that begin with what is given, or are spelt nearly so.",
         "annotations": {"readOnlyHint": true, "openWorldHint": false},
         "inputSchema": {"type": "object", "additionalProperties": false, "required": ["q"], "properties": {
            "q": {"type": "string", "description": "The beginning of a word or title."}, "role": role}}}
    ])
}

impl ToolCall {
    /// Reads a call, or says what is wrong with it.
    pub(super) fn read(name: &str, arguments: Option<&Value>) -> Result<Self, String> {
        let empty = Map::new();
        let arguments = match arguments {
            Some(Value::Object(arguments)) => arguments,
            None | Some(Value::Null) => &empty,
            Some(_) => return Err("arguments is an object".to_owned()),
        };
        let known: &[&str] = match name {
            "search" => &["query", "limit", "skip", "budget_tokens", "role"],
            "fetch" => &["id", "line", "column", "end_line", "budget_tokens", "role"],
            "autocomplete" => &["q", "role"],
            _ => {
                let name = crate::mcp::rpc::one_line(name);
                return Err(format!(
                    "there is no tool {name:?}; there are: search, fetch, autocomplete"
                ));
            }
        };
        if let Some(unknown) = arguments.keys().find(|key| !known.contains(&key.as_str())) {
            let unknown = crate::mcp::rpc::one_line(unknown);
            return Err(format!(
                "{name} takes no argument {unknown:?}; it takes: {}",
                known.join(", ")
            ));
        }
        let text = |key: &str| text(arguments, key);
        let needed = |key: &str| text(key)?.ok_or_else(|| format!("{name} needs `{key}`, a text"));
        Ok(match name {
            "search" => Self::Search {
                query: needed("query")?,
                limit: integer(arguments, "limit", 100)?,
                budget_tokens: integer(arguments, "budget_tokens", MAX_BUDGET)?,
                skip: integer(arguments, "skip", MAX_SKIP)?,
                role: text("role")?,
            },
            "fetch" => Self::Fetch {
                id: needed("id")?,
                role: text("role")?,
                part: TextPart {
                    line: integer(arguments, "line", MAX_LINE)?,
                    column: integer(arguments, "column", MAX_COLUMN)?,
                    end_line: integer(arguments, "end_line", MAX_LINE)?,
                    budget_tokens: integer(arguments, "budget_tokens", MAX_BUDGET)?,
                },
            },
            _ => Self::Autocomplete {
                q: needed("q")?,
                role: text("role")?,
            },
        })
    }

    /// What an answer holds beside its text. A document stands in the text alone: its reader pays
    /// for each word of it.
    pub(super) fn structured(&self, mut found: Value) -> Value {
        if let (Self::Fetch { .. }, Some(fields)) = (self, found.as_object_mut()) {
            for text in [
                "original",
                "text",
                "body",
                "highlights",
                "original_highlights",
            ] {
                fields.remove(text);
            }
        }
        found
    }

    /// An answer as a person or a model reads it.
    pub(super) fn text(&self, found: &Value) -> String {
        match self {
            Self::Search { budget_tokens, .. } => search_text(found, budget_tokens.unwrap_or(0)),
            Self::Fetch { part, .. } => {
                let title = found["title"].as_str().unwrap_or_default();
                let texts = ["original", "text", "body"].iter();
                let body = texts.filter_map(|key| found[*key].as_str()).next();
                let begin = found["first_line"].as_u64().unwrap_or(1);
                let goes_on = found["goes_on"] == true;
                let part = part.render(body.unwrap_or_default(), begin, goes_on);
                format!("{title}\n\n{part}")
            }
            Self::Autocomplete { .. } => {
                let list = found["suggestions"].as_array();
                let texts = list
                    .into_iter()
                    .flatten()
                    .filter_map(|one| one["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
        }
    }
}

fn text(arguments: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match arguments.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= MAX_ARGUMENT => Ok(Some(text.clone())),
        Some(Value::String(_)) => Err(format!("`{key}` has more than {MAX_ARGUMENT} bytes")),
        Some(_) => Err(format!("`{key}` is a text")),
    }
}

fn integer(arguments: &Map<String, Value>, key: &str, most: u64) -> Result<Option<u64>, String> {
    let Some(number) = arguments.get(key).filter(|number| !number.is_null()) else {
        return Ok(None);
    };
    let whole = number.as_u64().filter(|number| (1..=most).contains(number));
    whole
        .map(Some)
        .ok_or_else(|| format!("`{key}` is a whole number from 1 to {most}"))
}

fn search_text(found: &Value, budget: u64) -> String {
    match found["passages"].as_array() {
        Some(passages) => passages_text(passages, found, budget),
        None => results_text(found),
    }
}

/// The passages, each below its place, and what else the answer says.
fn passages_text(passages: &[Value], found: &Value, budget: u64) -> String {
    let mut text = String::new();
    for passage in passages {
        let of = |key: &str| passage[key].as_str().unwrap_or_default();
        let place = passage["path"].as_str().unwrap_or(of("url"));
        let lines = match (passage["line"].as_u64(), passage["end_line"].as_u64()) {
            (Some(line), Some(end)) if line < end => format!(":{line}-{end}"),
            (Some(line), _) => format!(":{line}"),
            _ => String::new(),
        };
        let _ = write!(text, "{place}{lines}\n{}\n\n", of("text"));
    }
    if passages.is_empty() {
        text.push_str("nothing found\n");
    }
    text + &remaining_text(passages, found, budget) + &query_notes(found) + &unsearched(found)
}

/// The results that no passage is shown of, by their ids: for `fetch`.
fn remaining_text(passages: &[Value], found: &Value, budget: u64) -> String {
    let results = found["results"].as_array().map_or(&[][..], Vec::as_slice);
    let has_passage = |result: &&Value| passages.iter().any(|one| one["id"] == result["id"]);
    let place = |result: &&Value| {
        let id = result["id"].as_str().unwrap_or_default();
        match result["line"].as_u64().filter(|_| !is_page(id)) {
            Some(line) => format!("{id} line {line}"),
            None => id.to_owned(),
        }
    };
    let budget = usize::try_from(budget).unwrap_or(usize::MAX);
    let places = places_without_passage(results.iter(), has_passage, place, budget);
    if places.is_empty() {
        return String::new();
    }
    format!("also found (ids for fetch):\n{}\n\n", places.join("\n"))
}

/// Whether a document is a web page: results tell a line of its file, `fetch` counts those of its
/// text.
fn is_page(id: &str) -> bool {
    let ending = id.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["html", "htm", "xhtml"]
        .iter()
        .any(|one| ending.eq_ignore_ascii_case(one))
}

/// What is told of how the query was taken.
fn query_notes(found: &Value) -> String {
    let mut text = String::new();
    for note in found["notes"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "note: {}", note.as_str().unwrap_or_default());
    }
    text
}

fn results_text(found: &Value) -> String {
    let results = found["results"].as_array().map_or(&[][..], Vec::as_slice);
    let mut text = format!(
        "{} of {} documents\n",
        results.len(),
        found["total"].as_u64().unwrap_or_default()
    );
    for result in results {
        let of = |key: &str| result[key].as_str().unwrap_or_default();
        let line = result["line"]
            .as_u64()
            .map(|line| format!(":{line}"))
            .unwrap_or_default();
        let place = result["path"].as_str().unwrap_or(of("url"));
        let _ = write!(
            text,
            "\n{}. {}\n   id: {}\n   {place}{line}\n   {}\n",
            result["rank"],
            of("title"),
            of("id"),
            of("snippet")
        );
    }
    let notes = query_notes(found);
    if !notes.is_empty() {
        text.push('\n');
    }
    text + &notes + &unsearched(found)
}

/// The sources that did not answer, and why.
fn unsearched(found: &Value) -> String {
    let mut text = String::new();
    let sources = found["sources"].as_array().into_iter().flatten();
    for source in sources {
        if let Some(error) = source["error"].as_str() {
            let name = source["name"].as_str().unwrap_or_default();
            let _ = write!(text, "\nnot searched: {name}: {error}");
        }
    }
    text
}

//! The tools: what they take, and their answers as text.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

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
    },
    /// `fetch`.
    Fetch {
        /// Id of a result.
        id: String,
        /// The role through which it was found.
        role: Option<String>,
    },
    /// `autocomplete`.
    Autocomplete {
        /// What was typed.
        q: String,
        /// The role; the default role when absent.
        role: Option<String>,
    },
}

/// Longest text of an argument, in bytes.
const MAX_ARGUMENT: usize = 64 << 10;

/// The list of tools, as `tools/list` gives it.
pub(super) fn list() -> Value {
    let role = json!({"type": "string", "description": "Name of the role to search; leave it out for the default role."});
    json!([
        {"name": "search", "title": "Search",
         "description": "Searches the user's sources and gives the best documents with id, title, place and snippet. Words, \"phrases\", AND, OR, NOT, -word, prefix*, and title: path: tag: source: are understood.",
         "annotations": {"readOnlyHint": true, "openWorldHint": false},
         "inputSchema": {"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
            "query": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Results to give; 10 when left out."},
            "role": role}}},
        {"name": "fetch", "title": "Read a document",
         "description": "Gives the text of a document that search has found.",
         "annotations": {"readOnlyHint": true, "openWorldHint": false},
         "inputSchema": {"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
            "id": {"type": "string", "description": "Id of a result of search."}, "role": role}}},
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
            "search" => &["query", "limit", "role"],
            "fetch" => &["id", "role"],
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
                limit: limit(arguments)?,
                role: text("role")?,
            },
            "fetch" => Self::Fetch {
                id: needed("id")?,
                role: text("role")?,
            },
            _ => Self::Autocomplete {
                q: needed("q")?,
                role: text("role")?,
            },
        })
    }

    /// An answer as a person or a model reads it.
    pub(super) fn text(&self, found: &Value) -> String {
        match self {
            Self::Search { .. } => search_text(found),
            Self::Fetch { .. } => {
                let of = |key: &str| found[key].as_str().unwrap_or_default();
                let body = ["text", "body"].iter().find_map(|key| found[*key].as_str());
                format!("{}\n\n{}", of("title"), body.unwrap_or_default())
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

fn limit(arguments: &Map<String, Value>) -> Result<Option<u64>, String> {
    let Some(limit) = arguments.get("limit").filter(|limit| !limit.is_null()) else {
        return Ok(None);
    };
    let whole = limit.as_u64().filter(|limit| (1..=100).contains(limit));
    whole
        .map(Some)
        .ok_or_else(|| "`limit` is a whole number from 1 to 100".to_owned())
}

fn search_text(found: &Value) -> String {
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
    let sources = found["sources"].as_array().into_iter().flatten();
    for source in sources {
        if let Some(error) = source["error"].as_str() {
            let name = source["name"].as_str().unwrap_or_default();
            let _ = write!(text, "\nnot searched: {name}: {error}");
        }
    }
    text
}

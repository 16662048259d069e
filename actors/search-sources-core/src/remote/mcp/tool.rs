//! Which tool of a server searches, and with what arguments.

use serde_json::{Map, Value, json};

/// The tool that searches: the one named in the configuration, else one whose name has the word
/// search, find or query in it, which takes a text, can be called at once, and does not say that it
/// changes anything.
///
/// `tools` is the `tools` list of `tools/list`. Gives its name and the schema of its arguments.
pub fn mcp_search_tool(tools: &Value, wanted: Option<&str>) -> Option<(String, Value)> {
    let tools = tools.as_array()?;
    let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
    let tool = match wanted {
        Some(wanted) => tools
            .iter()
            .find(|tool| name(tool).as_deref() == Some(wanted)),
        None => ["search", "find", "query"].iter().find_map(|word| {
            let speaks = |tool: &&Value| name(tool).is_some_and(|name| has_word(&name, word));
            tools.iter().filter(speaks).find(|tool| is_harmless(tool))
        }),
    }?;
    let schema = tool.get("inputSchema").cloned().unwrap_or_default();
    Some((name(tool)?, schema))
}

fn is_harmless(tool: &Value) -> bool {
    let says = |hint: &str, answer: bool| {
        tool.pointer(&format!("/annotations/{hint}"))
            .and_then(Value::as_bool)
            == Some(answer)
    };
    let waits = tool
        .pointer("/execution/taskSupport")
        .is_some_and(|support| support == "required");
    !waits
        && !says("readOnlyHint", false)
        && !says("destructiveHint", true)
        && text_argument(&tool["inputSchema"]).is_some()
}

/// Whether a name such as `search_files`, `find-all` or `searchNodes` has this word.
fn has_word(name: &str, word: &str) -> bool {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), words.last_mut()) {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    words.iter().any(|known| known == word)
}

/// The argument that takes the words: by its usual names, else the only required text.
fn text_argument(schema: &Value) -> Option<String> {
    let properties = schema.get("properties")?.as_object()?;
    let is_text = |name: &str| {
        properties
            .get(name)
            .and_then(|p| p.get("type"))
            .is_some_and(|kind| kind == "string")
    };
    let usual = [
        "query",
        "q",
        "search",
        "search_term",
        "pattern",
        "text",
        "keywords",
    ];
    if let Some(name) = usual.iter().find(|name| is_text(name)) {
        return Some((*name).to_owned());
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)?
        .iter()
        .filter_map(Value::as_str)
        .filter(|name| is_text(name))
        .collect();
    match required.as_slice() {
        [only] => Some((*only).to_owned()),
        _ => None,
    }
}

/// Where the words go in an argument that the configuration gives.
const WORDS: &str = "{query}";

/// Arguments for a search: what the configuration adds, the words, and a limit where the tool takes
/// one. The words go where the configuration says `{query}`, else into the argument that takes a
/// text and is not set; a tool without one gets none.
pub fn mcp_search_arguments(
    schema: &Value,
    words: &str,
    limit: usize,
    fixed: &[(String, String)],
) -> Value {
    let mut arguments = Map::new();
    for (name, text) in fixed {
        let text = text.replace(WORDS, words);
        arguments.insert(name.clone(), typed(schema, name, text));
    }
    let placed = fixed.iter().any(|(_, text)| text.contains(WORDS));
    if let Some(argument) = text_argument(schema).filter(|_| !placed) {
        arguments.entry(argument).or_insert_with(|| words.into());
    }
    for name in ["limit", "max_results", "maxResults", "count", "max_count"] {
        let takes = schema.pointer(&format!("/properties/{name}")).is_some();
        if takes && !arguments.contains_key(name) {
            arguments.insert(name.to_owned(), json!(limit));
        }
    }
    Value::Object(arguments)
}

/// A text of the configuration as the type that the tool wants.
fn typed(schema: &Value, name: &str, text: String) -> Value {
    let kind = schema.pointer(&format!("/properties/{name}/type"));
    let other = match kind.and_then(Value::as_str) {
        Some("integer" | "number" | "boolean" | "array" | "object") => {
            serde_json::from_str(&text).ok()
        }
        _ => None,
    };
    other.unwrap_or(Value::String(text))
}

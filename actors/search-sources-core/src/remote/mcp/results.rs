//! What a tool or resource says, as items.

use serde_json::Value;

use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

/// Content of a tool's result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpContent {
    /// Text for people and models.
    Text(String),
    /// A resource, by URI, with its text when it came along.
    Resource {
        /// Its URI.
        uri: String,
        /// Its name or title.
        name: String,
        /// Its text.
        text: String,
    },
}

/// The most resources that are kept of a list.
const MAX_RESOURCES: usize = 2000;

/// Reads `resources` of `resources/list`: an item for each, without its text.
pub fn mcp_resources(list: &Value) -> Vec<SourceItem> {
    let list = list.as_array().into_iter().flatten().take(MAX_RESOURCES);
    list.filter_map(|resource| {
        let text = |name: &str| resource.get(name).and_then(Value::as_str);
        let uri = text("uri")?;
        let name = text("title").or_else(|| text("name")).unwrap_or(uri);
        let modified = resource.pointer("/annotations/lastModified");
        Some(SourceItem {
            key: line(uri, 1000),
            title: line(name, 300),
            body: text("description").unwrap_or_default().to_owned(),
            url: web_address(uri),
            modified: modified
                .and_then(Value::as_str)
                .and_then(crate::date::rfc3339),
            ..SourceItem::default()
        })
    })
    .filter(|item| !item.title.is_empty())
    .collect()
}

/// Longest text that is read of a resource, in bytes.
const MAX_RESOURCE_TEXT: usize = 64 << 10;

/// The text in the result of `resources/read`; pictures have none.
pub fn mcp_resource_text(result: &Value) -> String {
    let contents = result.get("contents").and_then(Value::as_array);
    let texts = contents.into_iter().flatten().take(100);
    let texts = texts.filter_map(|part| part.get("text").and_then(Value::as_str));
    let mut all = texts.collect::<Vec<_>>().join("\n");
    all.truncate(all.floor_char_boundary(MAX_RESOURCE_TEXT));
    all
}

/// Reads the result of `tools/call`: structured entities and lists, else text, a line or paragraph
/// an item.
///
/// # Errors
/// When the tool says it failed (`isError`), or the result has no content.
pub fn mcp_tool_result(result: &Value) -> Result<ParsedItems, SourceDataError> {
    const WHAT: &str = "the MCP server";
    let content = contents(result);
    if result.get("isError").and_then(Value::as_bool) == Some(true) {
        let message = content.iter().find_map(|part| match part {
            McpContent::Text(text) => Some(line(text, 300)),
            McpContent::Resource { .. } => None,
        });
        return Err(SourceDataError::Refused {
            what: WHAT,
            message: message.unwrap_or_else(|| "the tool failed".to_owned()),
        });
    }
    if let Some(structured) = result
        .get("structuredContent")
        .filter(|value| value.is_object())
    {
        let found = structured_items(structured);
        if !found.is_empty() {
            return Ok(ParsedItems {
                items: found,
                ..ParsedItems::default()
            });
        }
    }
    if content.is_empty() && result.get("content").is_none() {
        return Err(SourceDataError::Shape {
            what: WHAT,
            reason: "a result without content".to_owned(),
        });
    }
    let mut items = Vec::new();
    for part in content {
        match part {
            McpContent::Resource { uri, name, text } => items.push(SourceItem {
                title: line(if name.is_empty() { &uri } else { &name }, 300),
                body: text,
                url: web_address(&uri),
                key: uri,
                ..SourceItem::default()
            }),
            McpContent::Text(text) => items.extend(text_items(&text)),
        }
    }
    Ok(ParsedItems {
        items,
        ..ParsedItems::default()
    })
}

fn contents(result: &Value) -> Vec<McpContent> {
    let list = result.get("content").and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .take(1000)
        .filter_map(content)
        .collect()
}

fn content(part: &Value) -> Option<McpContent> {
    let text = |value: &Value, name: &str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    match part.get("type")?.as_str()? {
        "text" => Some(McpContent::Text(text(part, "text"))),
        "resource" => {
            let resource = part.get("resource")?;
            Some(McpContent::Resource {
                uri: text(resource, "uri"),
                name: text(resource, "title"),
                text: text(resource, "text"),
            })
        }
        "resource_link" => Some(McpContent::Resource {
            uri: text(part, "uri"),
            name: text(part, "name"),
            text: text(part, "description"),
        }),
        // Pictures and sound have no text.
        _ => None,
    }
}

/// Lists of objects with a name or title, wherever they stand at the top (`entities`, `results`,
/// …).
fn structured_items(structured: &Value) -> Vec<SourceItem> {
    let lists = structured
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| value.as_array());
    lists
        .flatten()
        .take(1000)
        .filter_map(structured_item)
        .collect()
}

fn structured_item(entry: &Value) -> Option<SourceItem> {
    let text = |names: &[&str]| {
        names
            .iter()
            .find_map(|name| entry.get(name).and_then(Value::as_str))
    };
    let title = text(&["title", "name"])?;
    let address = text(&["url", "uri", "link"]);
    let mut body: Vec<String> = text(&["text", "content", "description", "snippet", "body"])
        .map(str::to_owned)
        .into_iter()
        .collect();
    let observations = entry.get("observations").and_then(Value::as_array);
    body.extend(
        observations
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned),
    );
    let tags = text(&["entityType", "type", "kind"]).map(str::to_owned);
    Some(SourceItem {
        key: text(&["id"]).or(address).unwrap_or(title).to_owned(),
        title: line(title, 300),
        body: body.join("\n"),
        tags: tags.into_iter().collect(),
        url: address.and_then(web_address),
        ..SourceItem::default()
    })
}

/// Text of a search tool: JSON where it is JSON, else a line a hit when all lines are short, else
/// one item.
fn text_items(text: &str) -> Vec<SourceItem> {
    let trimmed = text.trim();
    if let Ok(value) = serde_json::from_str::<Value>(trimmed) {
        let found = match &value {
            Value::Array(list) => list.iter().take(1000).filter_map(structured_item).collect(),
            _ => structured_items(&value),
        };
        if !found.is_empty() || value.is_array() || value.is_object() {
            return found;
        }
    }
    let lines: Vec<&str> = trimmed
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let is_list = lines.len() > 1 && lines.iter().all(|line| line.len() <= 300);
    let parts = if is_list { lines } else { vec![trimmed] };
    let parts = parts.into_iter().filter(|part| !part.is_empty()).take(1000);
    parts
        .map(|part| SourceItem {
            key: line(part, 200),
            title: line(part.lines().next().unwrap_or(part), 300),
            body: part.to_owned(),
            url: web_address(part),
            ..SourceItem::default()
        })
        .collect()
}

/// Only addresses that a browser may open from a page of results.
fn web_address(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    matches!(url.scheme(), "http" | "https").then(|| url.to_string())
}

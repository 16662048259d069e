//! DevDocs: `index.json` lists names, `db.json` holds the pages as HTML.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::{MAX_NAMES, join_below};
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};
use crate::remote::html_text;

const WHAT: &str = "the documentation";

#[derive(Deserialize)]
struct Entry {
    name: String,
    path: String,
    #[serde(rename = "type", default)]
    kind: Option<String>,
}

/// Reads `index.json`; `base` is where the pages can be read, for links.
///
/// # Errors
/// When it is no index.
pub fn devdocs_names(base: Option<&str>, index: &str) -> Result<ParsedItems, SourceDataError> {
    let entries = entries(index)?;
    let mut parsed = ParsedItems::default();
    for entry in entries {
        match Entry::deserialize(entry) {
            Ok(entry) => parsed.items.push(name(base, &entry)),
            Err(error) => parsed.skipped.add(error.to_string()),
        }
    }
    Ok(parsed)
}

/// Reads `index.json` and `db.json`: a page an item, called by its first name; the other names of
/// the page are aliases.
///
/// # Errors
/// When one of them is of another shape.
pub fn devdocs_pages(index: &str, pages: &str) -> Result<ParsedItems, SourceDataError> {
    let mut names: HashMap<String, Vec<Entry>> = HashMap::new();
    for entry in entries(index)? {
        if let Ok(entry) = Entry::deserialize(entry) {
            let page = page_of(&entry.path).to_owned();
            names.entry(page).or_default().push(entry);
        }
    }
    let pages: HashMap<String, Value> = serde_json::from_str(pages).map_err(shape)?;
    let mut pages: Vec<(String, Value)> = pages.into_iter().collect();
    pages.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut parsed = ParsedItems::default();
    for (path, html) in pages.into_iter().take(MAX_NAMES) {
        let Some(html) = html.as_str() else {
            parsed
                .skipped
                .add(format!("{}: its page is no text", line(&path, 80)));
            continue;
        };
        let known = names.remove(&path).unwrap_or_default();
        parsed.items.push(page(&path, &known, html));
    }
    Ok(parsed)
}

fn entries(index: &str) -> Result<Vec<Value>, SourceDataError> {
    let mut index: Value = serde_json::from_str(index).map_err(shape)?;
    match index.get_mut("entries").map(Value::take) {
        Some(Value::Array(mut entries)) => {
            entries.truncate(MAX_NAMES);
            Ok(entries)
        }
        _ => Err(SourceDataError::Shape {
            what: WHAT,
            reason: "no list `entries`".to_owned(),
        }),
    }
}

/// The page that an entry stands on.
fn page_of(path: &str) -> &str {
    path.split('#').next().unwrap_or(path)
}

fn name(base: Option<&str>, entry: &Entry) -> SourceItem {
    SourceItem {
        key: line(&entry.path, 300),
        title: line(&entry.name, 300),
        body: line(
            &format!(
                "{} {}",
                entry.kind.as_deref().unwrap_or_default(),
                entry.name
            ),
            500,
        ),
        tags: entry.kind.iter().map(|kind| line(kind, 60)).collect(),
        url: base.and_then(|base| join_below(base, &entry.path)),
        ..SourceItem::default()
    }
}

fn page(path: &str, names: &[Entry], html: &str) -> SourceItem {
    let first = names
        .iter()
        .find(|entry| entry.path == path)
        .or(names.first());
    let title = first.map_or(path, |entry| entry.name.as_str());
    let aliases = names
        .iter()
        .map(|entry| line(&entry.name, 300))
        .filter(|name| name != title);
    SourceItem {
        key: line(path, 300),
        title: line(title, 300),
        body: html_text(html),
        tags: first
            .and_then(|entry| entry.kind.as_deref())
            .map(|kind| line(kind, 60))
            .into_iter()
            .collect(),
        aliases: aliases.take(100).collect(),
        ..SourceItem::default()
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for map_err")]
fn shape(error: serde_json::Error) -> SourceDataError {
    SourceDataError::Shape {
        what: WHAT,
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: &str = r#"{"entries":[{"name":"Array","path":"array","type":"Types"},{"name":"Array#push","path":"array#push","type":"Types"},{"path":1}],"types":[]}"#;

    #[test]
    fn pages_and_their_names() {
        let parsed = devdocs_pages(
            INDEX,
            r#"{"array":"<h1>Array</h1><p>holds things","odd":3,"alone":"x"}"#,
        )
        .unwrap();
        let titles: Vec<&str> = parsed
            .items
            .iter()
            .map(|item| item.title.as_str())
            .collect();
        assert_eq!(titles, ["alone", "Array"]);
        let array = &parsed.items[1];
        assert!(array.body.contains("holds things") && array.aliases == ["Array#push"]);
        assert_eq!(parsed.skipped.count, 1);
        assert!(devdocs_pages("{}", "{}").is_err() && devdocs_pages(INDEX, "[]").is_err());
    }

    #[test]
    fn names_alone() {
        let parsed = devdocs_names(Some("https://d.example/ruby/"), INDEX).unwrap();
        assert_eq!(
            parsed.items[1].url.as_deref(),
            Some("https://d.example/ruby/array#push")
        );
        assert_eq!((parsed.items.len(), parsed.skipped.count), (2, 1));
    }
}

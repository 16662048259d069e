//! Elasticsearch's `_search`, as Elasticsearch, OpenSearch and Quickwit answer it.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{RemoteRequest, json as parse, list, parse_entries};
use crate::date;
use crate::item::{ParsedItems, SourceDataError, SourceItem, line};

/// Asks an index for documents that match `words`; `fields` are searched, the first one is the
/// title.
pub fn elastic_ask(index: &str, words: &str, fields: &[String], limit: usize) -> RemoteRequest {
    // `simple_query_string` refuses nothing; with no operator characters of its own, every word is
    // a word.
    let words: String = words
        .chars()
        .map(|c| if "+|-\"*()~\\".contains(c) { ' ' } else { c })
        .collect();
    let mut query = Map::new();
    query.insert("query".to_owned(), words.into());
    if !fields.is_empty() {
        query.insert("fields".to_owned(), json!(fields));
    }
    let body = json!({ "size": limit.min(1000), "query": { "simple_query_string": query } });
    RemoteRequest {
        path: format!("/{index}/_search"),
        query: Vec::new(),
        body: Some(body.to_string()),
    }
}

#[derive(Deserialize)]
struct Hit {
    #[serde(rename = "_id", default)]
    id: String,
    #[serde(rename = "_index", default)]
    index: String,
    #[serde(rename = "_source", default)]
    source: Map<String, Value>,
}

/// Reads the answer. `fields` name where title (the first) and text (the others) are; without them
/// the usual names are tried.
///
/// # Errors
/// When it is an error of the server or another shape.
pub fn elastic(fields: &[String], body: &str) -> Result<ParsedItems, SourceDataError> {
    const WHAT: &str = "the search engine";
    let mut value = parse(WHAT, body)?;
    if let Some(error) = value.get("error") {
        let reason = error
            .pointer("/root_cause/0/reason")
            .or_else(|| error.get("reason"));
        let message = reason
            .and_then(Value::as_str)
            .map_or_else(|| error.to_string(), str::to_owned);
        return Err(SourceDataError::Refused {
            what: WHAT,
            message: line(&message, 300),
        });
    }
    let hits = value.get_mut("hits").map(Value::take).unwrap_or_default();
    Ok(parse_entries(list(WHAT, hits, "hits")?, |hit: Hit| {
        item(&hit, fields)
    }))
}

fn item(hit: &Hit, fields: &[String]) -> Option<SourceItem> {
    let text = |name: &str| hit.source.get(name).and_then(Value::as_str);
    let usual = |names: &[&str]| names.iter().find_map(|name| text(name));
    let title = match fields.first() {
        Some(first) => text(first.split('^').next()?),
        None => usual(&["title", "name", "subject", "message"]),
    };
    let body: Vec<&str> = if fields.len() > 1 {
        let names = fields[1..].iter().filter_map(|name| name.split('^').next());
        names.filter_map(text).collect()
    } else {
        usual(&["body", "content", "text", "description"])
            .into_iter()
            .collect()
    };
    let time = usual(&["@timestamp", "timestamp", "modified", "updated_at"]);
    let tags = hit
        .source
        .get("tags")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    // Quickwit gives no ids: the document's own, or what it says.
    let own = usual(&["id", "url"]).unwrap_or_default();
    let key = if hit.id.is_empty() { own } else { &hit.id };
    let title = title.or_else(|| body.first().copied()).unwrap_or(key);
    let key = if key.is_empty() { title } else { key };
    Some(SourceItem {
        key: format!("{}/{}", hit.index, line(key, 200)),
        title: line(title, 300),
        body: body.join("\n"),
        tags: tags.filter_map(Value::as_str).map(str::to_owned).collect(),
        url: text("url")
            .filter(|url| url.starts_with("https://") || url.starts_with("http://"))
            .map(str::to_owned),
        modified: time.and_then(date::rfc3339),
        ..SourceItem::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hits_with_and_without_named_fields() {
        let body = r#"{"took":3,"hits":{"total":{"value":1},"hits":[{"_index":"logs","_id":"7","_source":{"subject":"S","head":"H","content":"C","note":"N","tags":["a"],"url":"javascript:x","timestamp":"2026-11-21T10:00:00Z"}}]}}"#;
        let plain = elastic(&[], body).unwrap().items.remove(0);
        assert_eq!(
            (
                plain.key.as_str(),
                plain.title.as_str(),
                plain.body.as_str()
            ),
            ("logs/7", "S", "C")
        );
        assert_eq!((plain.url, plain.tags.len()), (None, 1));
        let fields = ["head^2".to_owned(), "note".to_owned(), "content".to_owned()];
        let named = elastic(&fields, body).unwrap().items.remove(0);
        assert_eq!((named.title.as_str(), named.body.as_str()), ("H", "N\nC"));
        let error = elastic(
            &[],
            r#"{"error":{"root_cause":[{"reason":"no such index [x]"}]},"status":404}"#,
        );
        assert!(error.unwrap_err().to_string().contains("no such index"));
    }

    #[test]
    fn words_are_words() {
        let ask = elastic_ask("docs", "a \"b\" -c (d*", &["title".to_owned()], 5);
        let body: Value = serde_json::from_str(&ask.body.unwrap()).unwrap();
        assert_eq!(
            body["query"]["simple_query_string"]["query"],
            "a  b   c  d "
        );
        assert_eq!(
            (body["size"].as_u64(), ask.path.as_str()),
            (Some(5), "/docs/_search")
        );
    }
}
